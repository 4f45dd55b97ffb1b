"""Durations: `6 HOURS` in query text, "6 hours" in the Python API, microseconds everywhere else.

One reader serves both, so that a unit means the same in a .cql file and in Python. A duration is one
or more numbers with units, which add up (`1 HOUR 30 MINUTES`). Arithmetic is exact: a fraction is fine
when it comes to whole microseconds, and an error when it does not. Months and years are refused, since
a window has to have the same length everywhere.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

from windrow.errors import StatementError, WindrowError, suggestion

MICROSECOND = 1
MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY

# Spark's calendar ends with the year 9999. No longer duration makes sense, and up to here a timestamp
# plus a duration cannot overflow 64 bits.
LONGEST = 3_652_059 * DAY

UNITS = {
    "US": MICROSECOND,
    "MICROSECOND": MICROSECOND,
    "MICROSECONDS": MICROSECOND,
    "MS": MILLISECOND,
    "MILLI": MILLISECOND,
    "MILLIS": MILLISECOND,
    "MILLISECOND": MILLISECOND,
    "MILLISECONDS": MILLISECOND,
    "S": SECOND,
    "SEC": SECOND,
    "SECS": SECOND,
    "SECOND": SECOND,
    "SECONDS": SECOND,
    "MIN": MINUTE,
    "MINS": MINUTE,
    "MINUTE": MINUTE,
    "MINUTES": MINUTE,
    "H": HOUR,
    "HOUR": HOUR,
    "HOURS": HOUR,
    "D": DAY,
    "DAY": DAY,
    "DAYS": DAY,
    "WEEK": WEEK,
    "WEEKS": WEEK,
}
CALENDAR_UNITS = frozenset({"MONTH", "MONTHS", "QUARTER", "QUARTERS", "YEAR", "YEARS"})

# Long names only: for a lone letter the closest short name is a coin toss (M: MS or MIN?).
_SUGGESTED = ("MICROSECONDS", "MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS", "WEEKS")
_EXAMPLE = "write a number and a unit, such as 5 MINUTES"
# Days are the largest unit shown: "30 days" says more than "4 weeks 2 days".
_SHOWN = (("day", DAY), ("hour", HOUR), ("minute", MINUTE), ("second", SECOND), ("millisecond", MILLISECOND))

_PART = re.compile(r"\s*(?P<sign>[-+]?)\s*(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(?P<unit>[^\W\d]\w*)?")


def parse_duration(text: Any, within: str | None = None, at: int = 0) -> int:
    """The duration that `text` says, in microseconds.

    Where `text` is a piece of a longer text, `within` is that text and `at` the offset of the piece in
    it; an error then shows the place there.

    >>> parse_duration("10 minutes")
    600000000
    >>> parse_duration("1 hour 30 minutes") == parse_duration("1.5h")
    True
    """
    if isinstance(text, timedelta):
        return text // timedelta(microseconds=1)
    if not isinstance(text, str):
        raise StatementError(f"a duration is text such as '10 minutes', or a timedelta, not {text!r}")
    whole = text if within is None else within

    def refuse(problem: str, start: int, end: int, hint: str) -> NoReturn:
        raise StatementError(problem, whole, at + start, at + end, hint)

    total = Fraction(0)
    seen: set[int] = set()
    place = 0
    last = len(text.rstrip())
    first = len(text) - len(text.lstrip())
    if not last:
        refuse("a duration is missing", 0, len(text), _EXAMPLE)
    while place < last:
        part = _PART.match(text, place, last)
        if part is None:
            start = place + len(text[place:last]) - len(text[place:last].lstrip())
            end = start + len(text[start:last].split()[0])
            refuse(f"expected a number but found '{text[start:end]}'", start, end, _EXAMPLE)
        number, unit = part["number"], part["unit"]
        if part["sign"] == "-":
            refuse("a duration cannot be negative", part.start("sign"), part.end("number"), "leave out the -")
        if unit is None:
            hint = f"write {number} SECONDS, {number} MINUTES or another unit"
            refuse(f"{number} has no unit", part.start("number"), part.end("number"), hint)
        size = UNITS.get(unit.upper())
        if size is None:
            problem, hint = _unit_problem(unit)
            refuse(problem, part.start("unit"), part.end("unit"), hint)
        if size in seen:
            refuse(f"{unit} is given twice", part.start("number"), part.end("unit"), "add the two up")
        seen.add(size)
        total += Fraction(Decimal(number)) * size
        place = part.end()
    if total > LONGEST:
        refuse("the duration is longer than Spark's calendar, which ends with the year 9999", first, last, "")
    if total.denominator != 1:
        refuse("the duration is not a whole number of microseconds", first, last, "use fewer decimals")
    return int(total)


def positive_duration(what: str, text: Any) -> int | None:
    """The duration that an argument says, in microseconds, or None if it is not given; `what` names the
    argument.

    >>> positive_duration("retain", "2 seconds")
    2000000
    """
    if text is None:
        return None
    length = parse_duration(text)
    if length <= 0:
        raise WindrowError(f"{what} must be longer than nothing, not {text!r}")
    return length


def format_duration(us: int) -> str:
    """A duration in words: one number, of the largest unit that it is a whole number of.

    `parse_duration` reads it back to the same number (a negative one, such as a lead, excepted).

    >>> format_duration(21_600_000_000), format_duration(5_400_000_000), format_duration(0)
    ('6 hours', '90 minutes', '0 seconds')
    """
    if us == 0:
        return "0 seconds"
    name, size = next(((name, size) for name, size in _SHOWN if us % size == 0), ("microsecond", MICROSECOND))
    count = us // size
    return f"{count} {name}" if abs(count) == 1 else f"{count} {name}s"


def _unit_problem(unit: str) -> tuple[str, str]:
    if unit.upper() in CALENDAR_UNITS:
        return f"{unit} cannot be used in a duration: its length varies", "write it in days, such as 30 DAYS"
    if unit.upper() == "M":
        return f"unknown unit '{unit}'", "write MIN for minutes or MS for milliseconds"
    return f"unknown unit '{unit}'", suggestion(unit, _SUGGESTED) or f"units are {', '.join(_SUGGESTED)}"

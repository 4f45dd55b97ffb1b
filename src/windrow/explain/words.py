"""Numbers in an explanation, for people: durations, shares of a core, lists that stay short."""

from __future__ import annotations

from math import log10
from typing import TYPE_CHECKING

from windrow.cql import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable

DAY = 24 * 3600 * 1e6
UNITS = {"years": 365.25 * DAY, "days": DAY, "hours": DAY / 24, "minutes": DAY / 1440, "seconds": 1e6}
LARGEST_COUNT = 9_999
"""Durations that are more of their unit are not told exactly."""


def repeats_after(us: int) -> str:
    """How long a composite slide is; products of coprime slides have no other name than their size.

    >>> repeats_after(3_600_000_000), repeats_after(170_170_000_000), repeats_after(10**18)
    ('1 hour', 'about 47.3 hours', 'about 31,700 years')
    >>> repeats_after(10**40)
    'about 10^27 years'
    """
    exact = format_duration(us)
    if int(exact.split()[0]) <= LARGEST_COUNT:
        return exact
    for unit, size in UNITS.items():
        exponent = log10(us) - log10(size)  # of an integer, which may be too large for a float
        if exponent >= 6:
            return f"about 10^{exponent:.0f} {unit}"
        if exponent >= log10(2):
            return f"about {significant(10**exponent, 3)} {unit}"
    return exact


def short_duration(us: int) -> str:
    """A duration where there is little room.

    >>> short_duration(90_000_000), short_duration(3_600_000_000), short_duration(1_500)
    ('90 s', '1 h', '1500 µs')
    """
    units = {"d": 86_400_000_000, "h": 3_600_000_000, "min": 60_000_000, "s": 1_000_000, "ms": 1_000}
    for name, size in units.items():
        if us % size == 0 and (us // size < 1000 or name == "d"):
            # 90 s reads better than 1.5 min, and 120 s worse than 2 min
            return f"{us // size:,} {name}"
    return f"{us} µs"


def significant(number: float, digits: int = 2) -> str:
    """A number with so many digits that mean something.

    >>> [significant(x) for x in (1234.5, 99.4, 1.04, 0.01666, 0.000123, 0)]
    ['1,200', '99', '1', '0.017', '0.00012', '0']
    """
    if number == 0:
        return "0"
    place = digits - 1 - int(f"{number:.{digits - 1}e}".split("e")[1])
    rounded = f"{round(number, place):,.{max(place, 0)}f}"
    return rounded.rstrip("0").rstrip(".") if "." in rounded else rounded


def of_a_core(seconds: float) -> str:
    """Seconds of work a second of stream, as a share of a core.

    >>> of_a_core(0.00061), of_a_core(0.5), of_a_core(6.04)
    ('0.061 % of a core', '50 % of a core', '6 cores')
    """
    if seconds >= 1:
        return f"{significant(seconds)} core{'s'[: significant(seconds) != '1']}"
    return f"{significant(100 * seconds)} % of a core"


def saves(alone: float, shared: float) -> str:
    """What sharing saved.

    >>> saves(6.0, 0.5), saves(1.0, 1.0)
    ('sharing saves 12 ×', 'nothing to share')
    """
    if shared <= 0 or alone < 1.05 * shared:
        return "nothing to share"
    return f"sharing saves {significant(alone / shared)} ×"


def some(count: int, what: str) -> str:
    """A count of things.

    >>> some(1, "query"), some(1000, "query"), some(2, "class"), some(3, "edge")
    ('1 query', '1,000 queries', '2 classes', '3 edges')
    """
    if count != 1:
        what = what[:-1] + "ies" if what.endswith("y") else what + ("es" if what.endswith("s") else "s")
    return f"{count:,} {what}"


def listed(items: Iterable[str], most: int = 8, between: str = ", ") -> str:
    """Items, and how many are left out if they are many.

    >>> listed("abcd", 2), listed("ab", 2)
    ('a, b and 2 more', 'a, b')
    """
    shown = list(items)
    if len(shown) <= most:
        return between.join(shown)
    return f"{between.join(shown[:most])} and {len(shown) - most:,} more"


def shortened(text: str, most: int) -> str:
    """Text that is cut off where it is too long.

    >>> shortened("a long predicate", 8)
    'a long …'
    """
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: max(most - 1, 0)]}…"

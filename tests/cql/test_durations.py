"""Durations mean the same everywhere, are exact, and can be read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.cql.durations import (
    DAY,
    HOUR,
    LONGEST,
    MILLISECOND,
    MINUTE,
    SECOND,
    UNITS,
    WEEK,
    format_duration,
    parse_duration,
)
from windrow.errors import StatementError


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("1 us", 1),
        ("1 MICROSECOND", 1),
        ("250 ms", 250 * MILLISECOND),
        ("250ms", 250 * MILLISECOND),
        ("3 millis", 3 * MILLISECOND),
        ("30 SEC", 30 * SECOND),
        ("1.5 seconds", 1_500_000),
        ("0.000001 seconds", 1),
        (".5 s", 500_000),
        ("1. min", MINUTE),
        ("10 minutes", 10 * MINUTE),
        ("  10\n minutes ", 10 * MINUTE),
        ("1 hour 30 minutes", 90 * MINUTE),
        ("6 HOURS", 6 * HOUR),
        ("1 d", DAY),
        ("2 weeks", 2 * WEEK),
        ("0 seconds", 0),
        ("3652059 days", LONGEST),
    ],
)
def test_a_duration_is_microseconds(text: str, microseconds: int) -> None:
    assert parse_duration(text) == microseconds


@pytest.mark.parametrize(
    ("text", "problem", "underlined", "hint"),
    [
        ("", "a duration is missing", "", "write a number and a unit, such as 5 MINUTES"),
        ("  ", "a duration is missing", "  ", "write a number and a unit, such as 5 MINUTES"),
        ("5", "5 has no unit", "5", "write 5 SECONDS, 5 MINUTES or another unit"),
        ("1 hour 30", "30 has no unit", "30", "write 30 SECONDS, 30 MINUTES or another unit"),
        ("5 minuts", "unknown unit 'minuts'", "minuts", "did you mean MINUTES?"),
        ("5 m", "unknown unit 'm'", "m", "write MIN for minutes or MS for milliseconds"),
        ("1 month", "month cannot be used in a duration: its length varies", "month", "in days"),
        ("2 YEARS", "YEARS cannot be used in a duration: its length varies", "YEARS", "in days"),
        ("-5 minutes", "a duration cannot be negative", "-5", "leave out the -"),
        ("five minutes", "expected a number but found 'five'", "five", "write a number and a unit"),
        ("5 minutes later", "expected a number but found 'later'", "later", "write a number and a unit"),
        ("1 h 1 hour", "hour is given twice", "1 hour", "add the two up"),
        ("0.5 us", "the duration is not a whole number of microseconds", "0.5 us", "use fewer decimals"),
        ("3652060 days", "the duration is longer than Spark's calendar", "3652060 days", ""),
        ("9" * 5000 + " days", "the duration is longer than Spark's calendar", "9" * 5000 + " days", ""),
    ],
)
def test_what_is_no_duration_is_refused(text: str, problem: str, underlined: str, hint: str) -> None:
    with pytest.raises(StatementError) as caught:
        parse_duration(text)
    assert caught.value.problem.startswith(problem)
    assert text[caught.value.start : caught.value.end] == underlined
    assert hint in caught.value.hint


def test_the_place_is_that_in_the_longer_text() -> None:
    with pytest.raises(StatementError) as caught:
        parse_duration("5 minuts", within="DELAY 5 minuts", at=6)
    assert (caught.value.text, caught.value.column) == ("DELAY 5 minuts", 9)


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (0, "0 seconds"),
        (1, "1 microsecond"),
        (1_500_000, "1500 milliseconds"),
        (SECOND, "1 second"),
        (90 * MINUTE, "90 minutes"),
        (6 * HOUR, "6 hours"),
        (24 * HOUR, "1 day"),
        (30 * DAY, "30 days"),
        (-2 * HOUR, "-2 hours"),
    ],
)
def test_a_duration_in_words(microseconds: int, text: str) -> None:
    assert format_duration(microseconds) == text


@given(
    st.integers(0, LONGEST) | st.builds(int.__mul__, st.integers(0, 1000), st.sampled_from([*UNITS.values()]))
)
def test_words_are_read_back(microseconds: int) -> None:
    assert parse_duration(format_duration(microseconds)) == microseconds


@given(
    st.integers(0, 1000), st.sampled_from(sorted(UNITS)), st.sampled_from(["", " ", "\t\n"]), st.booleans()
)
def test_every_unit_in_any_case(count: int, unit: str, blank: str, lower: bool) -> None:
    assert parse_duration(f"{count}{blank}{unit.lower() if lower else unit}") == count * UNITS[unit]


@given(st.text() | st.text("0123456789. -+smhd", max_size=12))
def test_any_text_is_a_duration_or_a_statement_error(text: str) -> None:
    try:
        microseconds = parse_duration(text)
    except StatementError:
        return
    assert 0 <= microseconds <= LONGEST

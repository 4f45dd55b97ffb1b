"""What is new and what is gone: at an instant, and from an evaluation to the next."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.relational.histories import (
    LIFETIMES,
    TYPES,
    VALUES,
    Cut,
    Row,
    changes_of,
    cuts,
    histories,
    plain,
    play,
)
from windrow.columns import END_OF_TIME
from windrow.operators.relational.differences import Differences
from windrow.operators.relational.net_changes import NetChanges

ISTREAM, DSTREAM = True, False
A, B = (1.0, "a"), (2.5, "b")


def for_ever(ts, value):
    return Row(ts, END_OF_TIME, END_OF_TIME, value)


def net_changes(new):
    return lambda: NetChanges(TYPES, new)


def differences(new, slide, lasting=False):
    return lambda: Differences(TYPES, new, slide, lasting=lasting)


def told(before, after, ts, new):
    """What an answer has that the one before it has not, or the other way round."""
    more = after - before if new else before - after
    return Counter({for_ever(ts, value): times for value, times in more.items()})


def net(rows, new):
    """Instant by instant, from the rows that are there for the user at it and at the one before."""
    found = Counter()
    for now in sorted({instant for row in rows for instant in (row.ts, row.exp) if instant < END_OF_TIME}):
        before, after = (Counter(), Counter())
        for row in rows:
            for at, there in ((now - 1, before), (now, after)):
                there[plain(row.value)] += row.op * (row.ts <= at < row.exp)
        found += told(+before, +after, now, new)
    return found


@st.composite
def taken_back(draw):
    """A history of which some rows are taken back before they end."""
    rows, back = draw(histories(LIFETIMES)), []
    for row in rows:
        if row.live > row.ts and draw(st.booleans()):
            ts = draw(st.integers(row.ts, min(row.live - 1, row.ts + 10)))
            back.append(Row(ts, row.live, row.exp, row.value, -1))
    return sorted([*rows, *back], key=lambda row: row.ts)


@pytest.mark.parametrize("new", [ISTREAM, DSTREAM])
@given(rows=st.one_of(histories(LIFETIMES), taken_back()), cuts=cuts)
def test_what_is_new_or_gone_at_an_instant_is_the_difference_of_two_answers(rows, cuts, new):
    assert play(net_changes(new), rows, cuts) == net(rows, new)


def test_an_end_that_comes_with_an_equal_row_is_no_news():
    rows = [Row(0, 10, 10, A), Row(10, 20, 20, A), Row(10, 20, 20, B)]
    assert play(net_changes(ISTREAM), rows) == Counter([for_ever(0, A), for_ever(10, B)])
    assert play(net_changes(DSTREAM), rows) == Counter([for_ever(20, A), for_ever(20, B)])


def test_a_row_that_is_taken_back_is_gone_once():
    rows = [Row(0, 10, 10, A), Row(1, 10, 10, A), Row(3, 10, 10, A, -1)]
    for cut in ([], [Cut(5)], [Cut(5, restored=True)]):
        assert play(net_changes(DSTREAM), rows, cut) == Counter([for_ever(3, A), for_ever(10, A)])


def test_what_counts_is_when_a_row_ends_for_the_user():
    internal = [Row(0, 10, END_OF_TIME, A), Row(5, 7, 12, B)]
    assert play(net_changes(DSTREAM), internal) == Counter([for_ever(12, B)])


@st.composite
def answers(draw):
    """A slide, the rows of evaluations, and cuts."""
    slide = draw(st.sampled_from([1, 3, 10]))
    numbers = sorted(draw(st.lists(st.integers(-6, 6), max_size=30)))
    rows = []
    for number in numbers:
        ts = number * slide + 1
        rows.append(Row(ts, ts + slide, ts + slide, draw(st.sampled_from(VALUES))))
    return slide, rows


@pytest.mark.parametrize("new", [ISTREAM, DSTREAM])
@given(answers=answers(), cuts=cuts, internal=st.booleans())
def test_from_an_evaluation_to_the_next(answers, cuts, new, internal):
    slide, rows = answers
    if internal:
        rows = [Row(row.ts, END_OF_TIME, END_OF_TIME, row.value) for row in rows]
    expected = Counter()
    if rows:
        evaluations = range(rows[0].ts - slide, rows[-1].ts + slide + 1, slide)
        for one, following in pairwise(evaluations):
            before, after = (
                Counter(plain(row.value) for row in rows if row.ts == e) for e in (one, following)
            )
            expected += told(before, after, following, new)
    assert play(differences(new, slide), rows, cuts) == expected


@pytest.mark.parametrize("cuts", [[], [Cut(20, restored=True)], [Cut(19), Cut(20), Cut(29, restored=True)]])
def test_the_answer_of_the_last_evaluation_of_all_stays_where_windows_are_unbounded(cuts):
    rows = [Row(ts, ts + 10, ts + 10, value) for ts, value in [(9, A), (9, B), (19, A)]]
    assert play(differences(DSTREAM, 10, lasting=True), rows, cuts) == Counter([for_ever(19, B)])
    assert play(differences(DSTREAM, 10), rows, cuts) == Counter([for_ever(19, B), for_ever(29, A)])


def test_only_the_last_answer_is_held_and_at_rest():
    rows = [Row(ts, ts + 10, ts + 10, A) for ts in range(9, 200, 10) for _ in range(3)]
    held = []
    play(
        differences(DSTREAM, 10),
        rows,
        [Cut(until) for until in range(10, 200, 10)],
        lambda o, *_: held.append(o.entries),
    )
    assert held == [3] * 19 + [0]


def test_a_value_that_is_over_leaves_nothing_behind():
    operator, sizes = NetChanges(TYPES, DSTREAM), []
    for begin in range(0, 60_000, 1000):
        some = [Row(ts, ts + 100, ts + 100, (float(ts), "x" * 20)) for ts in range(begin, begin + 1000)]
        operator.advance([changes_of(some)], begin + 1000)
        operator.log()
        sizes.append(operator.bytes)
    assert max(sizes[30:]) <= max(sizes[:30])

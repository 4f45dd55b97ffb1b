"""All rows that are there at each evaluation, and how evaluations come to an end."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.relational.histories import LEAF, LIFETIMES, Cut, Row, cuts, histories, plain, play
from windrow.columns import BEGINNING, END_OF_TIME
from windrow.logical.tree import Evaluate
from windrow.operators.relational.evaluated_rows import EvaluatedRows

SLIDES = st.sampled_from([(1, 0), (3, 0), (5, 2), (10, 7), (50, 0)])


def evaluate(slide, offset=0, internal=False):
    return lambda: EvaluatedRows(Evaluate(LEAF, slide, offset, internal))


def recomputed(rows, slide, offset=0, internal=False, until=BEGINNING):
    """Evaluation by evaluation, until no row is there that will end, and nothing has changed before it; at least up
    to `until`."""
    rows = [row for row in rows if row.live > row.ts]
    changes = [instant for row in rows for instant in (row.ts, row.live) if instant < END_OF_TIME]
    found = Counter()
    for e in range(min(changes, default=0), max([until, *(change + slide for change in changes)]) + 1):
        if (e - offset) % slide == 0:
            end = END_OF_TIME if internal else e - 1 + slide
            there = [row for row in rows if row.ts <= e - 1 < row.live]
            found.update(Row(e - 1, end, end, plain(row.value)) for row in there)
    return found


@given(histories(LIFETIMES), cuts, SLIDES, st.booleans())
def test_an_evaluation_gives_all_that_is_there(rows, cuts, slide, internal):
    until = max((cut.until for cut in cuts), default=BEGINNING)
    assert play(evaluate(*slide, internal), rows, cuts) == recomputed(rows, *slide, internal, until)


@given(histories(LIFETIMES), cuts, SLIDES)
def test_only_rows_are_held_that_will_see_an_evaluation(rows, cuts, slide):
    def no_more(operator, evaluated, given):
        step, offset = slide
        following = evaluated + 1 + (offset - evaluated - 1) % step
        assert operator.entries == sum(row.ts < evaluated and row.live >= following for row in rows)

    play(evaluate(*slide), rows, cuts, no_more)


def test_rows_that_never_end_are_given_once_more_when_all_else_is_over():
    stays, leaves, comes = (1.0, "stays"), (2.0, "leaves"), (3.0, "comes")
    rows = [
        Row(3, END_OF_TIME, END_OF_TIME, stays),
        Row(4, 27, 27, leaves),
        Row(31, 38, 38, comes),  # sees no evaluation
    ]
    told = play(evaluate(10), rows)
    assert {(row.ts, row.value) for row in told} == {
        (9, stays), (9, leaves), (19, stays), (19, leaves), (29, stays), (39, stays)
    }  # fmt: skip
    assert play(evaluate(10), rows, [Cut(35, restored=True), Cut(39, restored=True, drops=True)]) == told


def test_a_row_that_never_ends_is_given_once_if_nothing_else_comes():
    alone = Row(3, END_OF_TIME, END_OF_TIME, (1.0, "a"))
    never_there = Row(45, 45, 45, (2.0, "b"))
    assert {row.ts for row in play(evaluate(10), [alone])} == {9}
    assert {row.ts for row in play(evaluate(10), [alone, never_there])} == {9}


def test_an_end_that_is_known_before_a_row_comes_that_never_ends_is_a_change():
    rows = [Row(3, 34, 34, (1.0, "a")), Row(12, END_OF_TIME, END_OF_TIME, (2.0, "b"))]
    told = play(evaluate(10), rows, [Cut(12, restored=True)])
    assert {row.ts for row in told if row.value[1] == "b"} == {19, 29, 39}


def test_a_row_is_there_until_the_instant_at_which_it_ends():
    rows = [Row(9, 30, 30, (1.0, "a")), Row(10, 29, 29, (2.0, "b"))]
    told = play(evaluate(10), rows)
    assert sorted((row.ts + 1, row.value[1]) for row in told) == [(10, "a"), (20, "a"), (20, "b"), (30, "a")]


@pytest.mark.parametrize(("until", "told"), [(9, 0), (10, 1), (19, 1), (20, 2)])
def test_an_evaluation_is_given_when_time_has_come_to_it(until, told):
    given = []
    play(evaluate(10), [Row(0, 100, 100, (1.0, "a"))], [Cut(until)], lambda *seen: given.append(len(seen[2])))
    assert given[0] == told

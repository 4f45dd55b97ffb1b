"""δ*: one row stands for all that are equal, and never is more held than twice what is there."""

import numpy as np
import pyarrow as pa
from hypothesis import given

from tests.operators.relational.histories import (
    LEAF,
    LIFETIMES,
    Cut,
    Row,
    changes_of,
    cuts,
    histories,
    plain,
    play,
)
from windrow.columns import END_OF_TIME, SLICE
from windrow.logical.tree import Column, Distinct, Rows
from windrow.operators.relational.changes import Changes
from windrow.operators.relational.distinct_rows import DistinctRows


def distinct():
    return DistinctRows(Distinct(LEAF))


def recomputed(rows):
    """For each value, again and again from when it is there until the last row ends that is there then."""
    found = []
    for value in {plain(row.value) for row in rows}:
        alike = [row for row in rows if plain(row.value) == value]
        now = min(row.ts for row in alike)
        while now < END_OF_TIME:
            if there := [row.live for row in alike if row.ts <= now < row.live]:
                found.append(Row(now, max(there), max(there), value))
                now = max(there)
            else:
                now = min((row.ts for row in alike if row.ts > now), default=END_OF_TIME)
    return found


@given(histories(LIFETIMES), cuts)
def test_one_row_stands_for_all_that_are_equal(rows, cuts):
    expected = recomputed(rows)

    def at_most_twice(operator, evaluated, given):
        assert operator.entries <= 2 * sum(row.live >= evaluated for row in given)

    assert play(distinct, rows, cuts, at_most_twice) == play(distinct, rows)
    assert sorted(play(distinct, rows, cuts).elements(), key=repr) == sorted(expected, key=repr)
    for now in {instant + by for row in rows for instant in (row.ts, row.live) for by in (-1, 0, 1)}:
        there = [row.value for row in expected if row.ts <= now < row.live]
        assert len(there) == len(set(there))
        assert set(there) == {plain(row.value) for row in rows if row.ts <= now < row.live}


A, B, C = (1.0, "a"), (2.0, "b"), (3.0, "c")


def row(ts, live, value):
    return Row(ts, live, live, value)


def test_when_the_representative_ends_the_last_to_end_takes_its_place():
    """Figure 3.1 (c): what follows comes when the one before it ends, so not in the order of arrival."""
    rows = [row(0, 10, A), row(3, 13, A), row(4, 14, B), row(6, 16, A), row(8, 18, C)]
    assert list(play(distinct, rows)) == [row(0, 10, A), row(4, 14, B), row(8, 18, C), row(10, 16, A)]


def test_the_spare_is_not_the_youngest():
    rows = [row(0, 5, A), row(1, 20, A), row(2, 7, A), row(6, 8, A)]
    assert list(play(distinct, rows)) == [row(0, 5, A), row(5, 20, A)]


def test_of_an_instant_the_row_that_ends_last_is_given():
    rows = [row(0, 5, A), row(0, 9, A), row(0, 7, A), row(9, 12, A), row(9, 11, A)]
    assert list(play(distinct, rows)) == [row(0, 9, A), row(9, 12, A)]


def test_a_duplicate_comes_at_the_instant_of_another_value():
    rows = [row(0, 20, A), row(5, 8, B), row(5, 30, A)]
    assert set(play(distinct, rows, [Cut(3)])) == {row(0, 20, A), row(5, 8, B), row(20, 30, A)}


def test_what_takes_over_and_what_comes_then_are_one_instant():
    rows = [row(0, 5, A), row(1, 8, A), row(5, 10, A), row(5, 6, A)]
    assert list(play(distinct, rows)) == [row(0, 5, A), row(5, 10, A)]
    rows = [row(0, 5, A), row(1, 8, A), row(5, 7, A)]
    assert list(play(distinct, rows)) == [row(0, 5, A), row(5, 8, A)]


def test_what_never_ends_is_given_once_and_kept():
    rows = [row(0, 5, A), row(1, END_OF_TIME, A), row(7, 30, A), row(8, END_OF_TIME, A)]
    seen = []
    told = play(distinct, rows, [Cut(40, restored=True)], lambda operator, *_: seen.append(operator.entries))
    assert list(told) == [row(0, 5, A), row(5, END_OF_TIME, A)]
    assert seen == [1, 1]


def test_other_columns_follow_from_those_that_tell_rows_apart():
    leaf = Rows(0, "s", (Column("k", pa.int64()), Column("name", pa.string())), None)
    types = {"k": pa.int64(), "name": pa.string()}
    rows = [row(0, 5, (1, "one")), row(1, 8, (2, "two")), row(2, 9, (1, "one"))]
    operator = DistinctRows(Distinct(leaf, by=("k",)))
    told = operator.advance([changes_of(rows, types)], 7)
    assert told.rows.to_pylist() == [
        {"k": 1, "name": "one"},
        {"k": 2, "name": "two"},
        {"k": 1, "name": "one"},
    ]
    assert told.ts.tolist() == [0, 1, 5]


def test_rows_without_columns_are_all_equal():
    operator = DistinctRows(Distinct(Rows(0, "s", (), None)))
    numbers = np.array([0, 2, 3]), np.array([4, 6, 5])
    told = operator.advance([Changes(numbers[0], numbers[1], numbers[1], pa.table({}))], END_OF_TIME)
    assert told.ts.tolist() == [0, 4]
    assert told.live.tolist() == [4, 6]


def test_zeros_are_written_alike_whichever_came_first():
    operator = distinct()
    told = operator.advance([changes_of([row(0, 5, (-0.0, "a"))])], 10)
    assert str(told.rows["x"][0]) == "0.0"


def test_at_rest_is_what_rows_have_changed():
    operator = distinct()
    operator.advance([changes_of([row(0, 10, A), row(1, 15, A), row(2, 12, B)])], 5)
    assert operator.log()["values"][SLICE].to_pylist() == [15, 12]
    # Nobody waits for a row that ends before the spare does, or with the representative.
    operator.advance([changes_of([row(6, 14, A), row(6, 12, B)])], 11)
    assert not operator.log()
    operator.advance([changes_of([])], 13)  # a spare has taken over, and a value has come to its end
    assert not operator.log()
    operator.advance([changes_of([row(13, 20, A), row(14, 15, C)])], 16)  # C has come and gone
    assert operator.log()["values"][SLICE].to_pylist() == [20]


def test_a_value_that_is_over_leaves_nothing_behind():
    operator = distinct()
    sizes = []
    for begin in range(0, 60_000, 1000):
        some = [row(ts, ts + 100, (float(ts), "x" * 20)) for ts in range(begin, begin + 1000)]
        operator.advance([changes_of(some)], begin + 1000)
        operator.log()
        sizes.append((operator.entries, operator.bytes))
    assert {entries for entries, _ in sizes} == {100}
    assert max(size for _, size in sizes[30:]) <= max(size for _, size in sizes[:30])

"""The window join: all pairs that live together, whatever the batches, and however often it is stopped."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns import END_OF_TIME, SLICE
from windrow.errors import QueryFailed
from windrow.logical.patterns import UpdatePattern
from windrow.logical.tree import Column, Join, Rows
from windrow.operators.relational.changes import Changes
from windrow.operators.relational.window_join import WindowJoin

KEYS = {
    pa.float64(): [None, float("nan"), -0.0, 0.0, 1.5],
    pa.int64(): [None, 0, 1, -(2**62)],
    pa.string(): [None, "", "a", "b" * 20],
}
CONDITION = "`a_value` < `b_value`"


@dataclass(frozen=True)
class AnyRows(Rows):
    """Rows that end in any order."""

    @property
    def pattern(self):
        return UpdatePattern.WEAK


def side(name, key_type, window):
    columns = (
        Column(f"{name}_key", key_type),
        Column(f"{name}_value", pa.int64()),
        Column(f"{name}_unused", pa.string()),
    )
    return (AnyRows if window is None else Rows)(0, name, columns, window)


def join(key_type, windows=(None, None), keys=True, **options):
    sides = [side(name, key_type, window) for name, window in zip("ab", windows, strict=True)]
    return Join(*sides, (("a_key", "b_key"),) if keys else (), ("a_value", "b_value"), **options)


def condition(table, expressions):
    """Stands for Spark."""
    assert expressions == [CONDITION]
    less = np.less(table["a_value"].to_numpy(), table["b_value"].to_numpy())
    return [pa.array(less, mask=table["a_value"].to_numpy() == 7)]


def changes(node, rows):
    """`rows`: (ts, live, exp, key, value), in order."""
    columns = list(zip(*rows, strict=True)) or [()] * 5
    instants = [np.array(column, np.int64) for column in columns[:3]]
    values = [*columns[3:], ["unused"] * len(rows)]
    table = {c.name: pa.array(column, c.type) for c, column in zip(node.columns, values, strict=True)}
    return Changes(*instants, pa.table(table))


def told(output):
    values = (output.rows[name].to_pylist() for name in output.rows.column_names)
    return list(zip(output.ts.tolist(), output.live.tolist(), output.exp.tolist(), *values, strict=True))


def same(node, a, b):
    if a is None or b is None:
        return a is b and node.nulls_equal
    return a == b or (a != a and b != b)


def pairs(node, left, right):
    """All of them, one by one."""
    return [
        (max(a[0], b[0]), min(a[1], b[1]), min(a[2], b[2]), a[4], b[4])
        for a in left
        for b in right
        if (not node.keys or same(node, a[3], b[3])) and max(a[0], b[0]) < min(a[1], b[1])
        if node.condition is None or (a[4] < b[4] and a[4] != 7)
    ]


def restarted(node, operator, log, until, **options):
    """An operator that has only the log of another, and goes on from where that stopped."""
    for name, table in operator.log().items():
        log.setdefault(name, []).append(table)
    again = WindowJoin(node, condition, **options)
    again.restore(log, until)
    return again


def answers(node, left, right, cuts, restarts, **options):
    operator, log, found = WindowJoin(node, condition, **options), {}, []
    before = -(10**18)
    for number, until in enumerate([*sorted(cuts), END_OF_TIME]):
        inputs = [
            changes(below, [row for row in rows if before <= row[0] < until])
            for below, rows in zip(node.inputs, (left, right), strict=True)
        ]
        output = operator.advance(inputs, until)
        assert output.rows.column_names == list(node.kept)
        assert np.all(output.ts[1:] >= output.ts[:-1])
        assert operator.next_change() == END_OF_TIME
        found += told(output)
        if number in restarts:
            operator = restarted(node, operator, log, until, **options)
        before = until
    assert operator.entries == sum(
        row[1] == END_OF_TIME and same(node, row[3], row[3]) for row in left + right
    )
    return found


@st.composite
def histories(draw):
    """Two sides of rows, and how they are cut and stopped."""
    key_type = draw(st.sampled_from(list(KEYS)))
    windows = tuple(draw(st.one_of(st.none(), st.integers(1, 30))) for _ in range(2))
    sides = []
    for window in windows:
        rows = []
        for ts in sorted(draw(st.lists(st.integers(-40, 40), max_size=25))):
            live = ts + (draw(st.integers(0, 40)) if window is None else window)
            exp = draw(st.sampled_from([live, live + 5, END_OF_TIME]))
            rows.append((ts, live, exp, draw(st.sampled_from(KEYS[key_type])), draw(st.integers(0, 9))))
        sides.append(rows)
    node = join(
        key_type,
        windows,
        keys=draw(st.sampled_from([True, True, True, False])),
        condition=draw(st.sampled_from([None, CONDITION])),
        nulls_equal=draw(st.booleans()),
    )
    return node, *sides, draw(st.sets(st.integers(-45, 80), max_size=6)), draw(st.sets(st.integers(0, 6)))


@given(history=histories())
def test_every_pair_once_whatever_the_cuts(history):
    node, left, right, cuts, restarts = history
    assert Counter(answers(node, left, right, cuts, restarts)) == Counter(pairs(node, left, right))


def large(count, window, keys, seed):
    """Rows at each instant, both sides."""
    random = np.random.default_rng(seed)
    return [
        [
            (ts, ts + window, ts + window, key, ts % 10)
            for ts, key in enumerate(random.integers(0, keys, count).tolist())
        ]
        for _ in range(2)
    ]


@pytest.mark.parametrize("windows", [(200, 200), (None, None)])
def test_batches_of_any_size(windows):
    """Few rows at a time are put together, and what has ended is left out; room is given back."""
    node = join(pa.int64(), windows)
    left, right = large(3_000, 200, 100, seed=1)
    expected = Counter(pairs(node, left, right))
    for step in (7, 400, 5_000):
        assert Counter(answers(node, left, right, range(0, 3_500, step), {1, 20, 21})) == expected


def test_more_pairs_than_are_expanded_at_once():
    node = join(pa.int64(), keys=False)
    left = [(0, 10, 10, 1, 1)] * 700
    right = [(5, 9, END_OF_TIME, None, 2)] * 800
    output = WindowJoin(node, condition).advance([changes(node.left, left), changes(node.right, right)], 20)
    assert Counter(told(output)) == Counter({(5, 9, 10, 1, 2): 700 * 800})


def test_what_nobody_wants_is_no_column():
    node = replace(join(pa.int64(), keys=False), kept=())
    rows = [(0, 10, 10, 1, 1)] * 3
    operator = WindowJoin(node, condition)
    assert len(operator.advance([changes(node.left, rows), changes(node.right, rows)], 5)) == 9
    operator = restarted(node, operator, {}, 5)
    assert len(operator.advance([changes(node.left, []), changes(node.right, [(7, 8, 8, 1, 1)])], 8)) == 3
    assert len(operator.advance([changes(node.left, []), changes(node.right, [(10, 11, 11, 1, 1)])], 11)) == 0


@pytest.mark.parametrize("step", [1, 3, 100])
def test_a_row_that_meets_too_many_is_named(step):
    node = join(pa.string())
    left = [(ts, 100, 100, "a" if ts % 2 else "b", ts) for ts in range(20)]
    right = [(50, 60, 60, "b", 1)]
    assert len(answers(node, left, right, range(0, 60, step), set(), most_pairs=10)) == 10
    with pytest.raises(QueryFailed, match=r"more than 9 rows for one row, with b_key = 'b';"):
        answers(node, left, right, range(0, 60, step), set(), most_pairs=9)


def test_too_many_without_an_equality():
    node = join(pa.string(), keys=False)
    with pytest.raises(QueryFailed, match=r"more than 2 rows for one row, as it has no equality;"):
        answers(node, [(0, 9, 9, "a", 1)] * 3, [(0, 9, 9, "b", 1)], [], set(), most_pairs=2)


@pytest.mark.parametrize("window", [10, 1_000, 20_000])
def test_touches_few_rows_however_long_the_window_is(window):
    node = join(pa.int64(), (window, window))
    left, right = large(20_000, window, window, seed=2)
    operator, results = WindowJoin(node, condition), 0
    for begin in range(0, 20_000, 5_000):
        inputs = [
            changes(node.left, left[begin : begin + 5_000]),
            changes(node.right, right[begin : begin + 5_000]),
        ]
        results += len(operator.advance(inputs, begin + 5_000))
    assert 40_000 <= operator.touched <= 3 * (40_000 + results)
    assert operator.entries == 2 * min(window - 1, 20_000)


def test_gives_memory_back_and_logs_each_row_once():
    node = join(pa.string(), (100_000, 100_000))
    operator, none = WindowJoin(node, condition), [changes(node.left, []), changes(node.right, [])]
    empty = operator.bytes
    rows = [(ts, ts + 100_000, ts + 100_000, f"key {ts}", ts) for ts in range(100_000)]
    operator.advance([changes(node.left, rows), changes(node.right, [])], 100_000)
    (logged,) = operator.log().values()
    assert len(logged) == len(rows) - 1
    assert logged[SLICE].to_pylist() == [row[1] for row in rows[1:]]
    assert logged.column_names == ["a_key", "a_value", "_exp", "_slice"]
    assert operator.bytes > 100 * len(rows)
    operator.advance(none, 199_990)
    assert operator.entries == 9
    assert operator.bytes < empty + 10_000
    operator.advance(none, 200_000)
    assert operator.entries == 0
    assert not operator.log()


def test_a_key_that_never_meets_another_is_cleaned_too():
    node = join(pa.int64(), (100, 100))
    operator, none = WindowJoin(node, condition), changes(node.right, [])
    most = []
    for begin in range(0, 20_000, 100):
        rows = [(ts, ts + 100, ts + 100, 1, ts) for ts in range(begin, begin + 100)]
        operator.advance([changes(node.left, rows), none], begin + 100)
        operator.log()
        most.append(operator.bytes)
    assert max(most) <= 2 * max(most[:10])


def test_goes_on_from_tables_in_any_order():
    """As those of several nodes are, each of which has held a part of the keys."""
    node = join(pa.int64(), (100, 100))
    left, right = large(200, 100, 5, seed=3)
    operator = WindowJoin(node, condition)
    found, logs = [], {"left": [], "right": []}
    for begin in range(0, 120, 40):
        inputs = [
            changes(node.left, left[begin : begin + 40]),
            changes(node.right, right[begin : begin + 40]),
        ]
        found += told(operator.advance(inputs, begin + 40))
        for name, table in operator.log().items():
            logs[name].insert(0, table)
    operator = WindowJoin(node, condition)
    operator.restore(logs, 120)
    assert operator.entries == 2 * 99
    found += told(operator.advance([changes(node.left, left[120:]), changes(node.right, right[120:])], 400))
    assert Counter(found) == Counter(pairs(node, left, right))

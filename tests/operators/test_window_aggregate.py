"""The final half of a query on its own: any order, any pieces, restores, and what it forgets."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.aggregates import Call, aggregate
from windrow.aggregates.ordered_dictionary import OrderedDictionary
from windrow.columns import END_OF_TIME
from windrow.final import choose
from windrow.operators.aggregate.group_keys import GroupKeys
from windrow.operators.aggregate.window_aggregate import WindowAggregate, WindowAggregation
from windrow.slicing import Window

AGGREGATES = (
    aggregate(Call("sum", ("v",)), (pa.float64(),), pa.float64()),
    aggregate(Call("max", ("v",)), (pa.float64(),), pa.float64()),
    aggregate(Call("min", ("s",)), (pa.string(),), pa.string()),
    aggregate(Call("max", ("s",)), (pa.string(),), pa.string()),
    aggregate(Call("count", ("*",)), (pa.int32(),), pa.int64()),
)


def aggregation(window):
    operations = {c.operation for a in AGGREGATES for p in a.partials for c in p.columns}
    return WindowAggregation(
        (window,),
        ("k",),
        (pa.string(),),
        AGGREGATES,
        {op: choose(op, 8).algorithm for op in operations},
        pa.timestamp("us", "UTC"),
    )


def partials(rows):
    """One partial a row, as Spark would collect them: (slice, key, value, string)."""
    starts, keys, values, strings = zip(*rows, strict=True) if rows else ((), (), (), ())
    return pa.table(
        {
            "_slice": pa.array(starts, pa.int64()),
            "k": pa.array(keys, pa.string()),
            "sum(CAST(v AS DOUBLE))": pa.array(values, pa.float64()),
            "max(v)": pa.array(values, pa.float64()),
            "min(s)": pa.array(strings, pa.string()),
            "max(s)": pa.array(strings, pa.string()),
            "count(*)": pa.array([1] * len(starts), pa.int64()),
        }
    )


def recompute(rows, window):
    answers = {}
    for end in range(-100, 400):
        if (end - window.offset) % window.slide:
            continue
        inside = [row for row in rows if end - window.range <= row[0] < end]
        for key in {row[1] for row in inside}:
            mine = [row for row in inside if row[1] == key]
            values = [row[2] for row in mine if row[2] is not None]
            strings = [row[3].encode() for row in mine if row[3] is not None]
            answers[end, key] = (
                sum(values) if values else None,
                max(values, default=None),
                min(strings).decode() if strings else None,
                max(strings).decode() if strings else None,
                len(mine),
            )
    return answers


def answered(tables):
    got = {}
    for table in tables:
        ends = table["window_end"].cast(pa.int64()).to_pylist()
        columns = [table[f"_aggregate{i}"].to_pylist() for i in range(len(AGGREGATES))]
        for place, (end, key) in enumerate(zip(ends, table["_key0"].to_pylist(), strict=True)):
            assert (end, key) not in got
            got[end, key] = tuple(column[place] for column in columns)
    return got


row = st.tuples(
    st.integers(-50, 200),
    st.sampled_from(["a", "b", None]),
    st.one_of(st.none(), st.integers(-99, 99).map(float)),
    st.one_of(st.none(), st.text("aébZ", max_size=2)),
)


@given(
    rows=st.lists(row, min_size=1, max_size=40),
    window=st.builds(Window, range=st.integers(1, 30), slide=st.integers(1, 15), offset=st.integers(0, 9)),
    stops=st.lists(st.integers(-60, 220), max_size=4),
    restores=st.booleans(),
)
def test_any_pieces_and_restores_equal_recomputation(rows, window, stops, restores):
    """Rows come in batches by event time, the state may be written down and read back after each."""
    state = WindowAggregate(aggregation(window))
    closed, tables, after = [], [], -1_000
    for stop in [*sorted(stops), END_OF_TIME]:
        # Two batches that share slices, in reverse order, then everything up to the stop is final.
        batch = [r for r in rows if after <= r[0] < stop]
        state.push(partials(batch[::-2]))
        state.push(partials(batch[-2::-2]))
        tables += list(state.advance(stop))
        after = stop
        if restores:
            closed.append(state.closed_slices())
            opened, evaluated = state.open_slices(), state.evaluated
            state = WindowAggregate(aggregation(window))
            state.restore(closed, opened, evaluated)
    # A slice is where its rows are: the obvious recomputation may use the instants themselves.
    assert answered(tables) == recompute(rows, window)


def test_a_watermark_that_stands_still_closes_nothing_twice():
    """An epoch of rows that are out of order, but not late, adds no closed slice to what is at rest."""
    plan = aggregation(Window(20, 10))
    state = WindowAggregate(plan)
    state.push(partials([(0, "a", 1.0, "x"), (12, "a", 2.0, "y")]))
    tables, closed = [], []
    for rows in ([], [(25, "a", 4.0, "z")], []):
        state.push(partials(rows))
        tables += list(state.advance(20))
        closed.append(state.closed_slices())
    restored = WindowAggregate(plan)
    restored.restore(closed, state.open_slices(), state.evaluated)
    tables += list(restored.advance(END_OF_TIME))
    assert answered(tables) == recompute(
        [(0, "a", 1.0, "x"), (12, "a", 2.0, "y"), (25, "a", 4.0, "z")], Window(20, 10)
    )


def test_nothing_is_missing_at_rest_when_keys_are_numbered_anew():
    """One catch-up batch closes many windows at once; most of its keys are gone, the rest must be kept."""
    plan, rows = aggregation(Window(10, 1)), [(i // 1_000, f"k{i}", 1.0, f"s{i}") for i in range(60_000)]
    state = WindowAggregate(plan)
    state.push(partials(rows))
    before = answered(state.advance(60))
    assert len(before) == 10 * 60_000 - sum(range(10)) * 1_000
    restored = WindowAggregate(plan)
    restored.restore([state.closed_slices()], state.open_slices(), state.evaluated)
    assert answered(restored.advance(END_OF_TIME)) == answered(state.advance(END_OF_TIME))
    assert restored.entries == 0


def test_a_query_that_has_seen_no_row_can_be_written_down():
    state = WindowAggregate(aggregation(Window(10, 10)))
    assert list(state.advance(100)) == []
    assert len(state.closed_slices()) == len(state.open_slices()) == 0
    assert state.closed_slices().schema.field("min(s)#1").type == pa.string()


def test_keys_and_strings_that_are_gone_are_forgotten():
    state = WindowAggregate(aggregation(Window(10, 10)))
    for batch in range(60):
        rows = [(batch * 10 + i % 10, f"{batch}-{i}", 1.0, f"s{batch}-{i}") for i in range(1_000)]
        state.push(partials(rows))
        answers = answered(state.advance(batch * 10 + 10))
        assert len(answers) == 1_000
        assert answers[batch * 10 + 10, f"{batch}-7"] == (1.0, 1.0, f"s{batch}-7", f"s{batch}-7", 1)
    assert state._groups.known < 60_000  # of 180,000 that came


def test_an_aggregation_travels_to_a_worker():
    plan = aggregation(Window(10, 5))
    copy = pickle.loads(pickle.dumps(plan))
    assert copy.algorithms == plan.algorithms
    assert copy.partials == plan.partials


@given(st.lists(st.lists(st.one_of(st.none(), st.text("abé", max_size=3)), max_size=8), max_size=5))
def test_ranks_keep_the_order_of_the_values(batches):
    dictionary = OrderedDictionary(pa.string())
    held, values = np.empty(0, np.int64), []
    for batch in batches:
        codes, moved = dictionary.encode(pa.array(batch, pa.string()))
        if moved is not None and len(moved):
            held = np.where(held < 0, held, moved[np.maximum(held, 0)])
        held, values = np.concatenate([held, codes]), values + batch
    assert dictionary.decode(held).to_pylist() == values
    present = sorted({v for v in values if v is not None}, key=str.encode)
    assert [present.index(v) if v is not None else -1 for v in values] == held.tolist()


@pytest.mark.parametrize(
    "of_type", [pa.float64(), pa.decimal128(22, 2), pa.date32(), pa.timestamp("us"), pa.bool_()]
)
def test_group_keys_of_every_type(of_type):
    values = pa.array([0, 1, None, 1, 0]).cast(pa.int32() if of_type == pa.date32() else pa.int64())
    column = values.cast(of_type)
    keys = GroupKeys([of_type, pa.string()])
    names = pa.array(["x", "x", None, "x", "y"])
    assert keys.encode([column, names]).tolist() == [0, 1, 2, 1, 3]
    assert keys.encode([column[::-1], names[::-1]]).tolist() == [3, 1, 2, 1, 0]
    assert keys.columns(np.array([2, 0]))[0].to_pylist() == [None, column[0].as_py()]


def test_nan_is_one_key():
    keys = GroupKeys([pa.float64()])
    assert keys.encode([pa.array([float("nan"), 1.0])]).tolist() == [0, 1]
    assert keys.encode([pa.array([1.0, -float("nan")])]).tolist() == [1, 0]

"""Windows of rows on their own: any batches, watermarks and restores equal plain recomputation."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.aggregates import Call, aggregate
from windrow.columns import BEGINNING, END_OF_TIME
from windrow.final import choose
from windrow.operators.aggregate.window_aggregate import WindowAggregation
from windrow.operators.rows.partitioned_row_windows import PartitionedRowWindows
from windrow.operators.rows.pending_rows import PendingRows
from windrow.operators.rows.row_windows import RowWindows
from windrow.slicing import Window

AGGREGATES = (
    aggregate(Call("sum", ("v",)), (pa.float64(),), pa.float64()),
    aggregate(Call("min", ("v",)), (pa.float64(),), pa.float64()),
    aggregate(Call("max", ("s",)), (pa.string(),), pa.string()),
    aggregate(Call("min", ("s",)), (pa.string(),), pa.string()),
    aggregate(Call("count", ("v",)), (pa.float64(),), pa.int64()),
    aggregate(Call("count", ("*",)), (pa.int32(),), pa.int64()),
    aggregate(Call("var_pop", ("v",)), (pa.float64(),), pa.float64()),
)
OPERATORS = {"all": RowWindows, "each": PartitionedRowWindows}


def operator(kind, rows, slide):
    operations = {c.operation for a in AGGREGATES for p in a.partials for c in p.columns}
    algorithms = {
        operation: choose(operation, 8, partitioned=kind == "each").algorithm for operation in operations
    }
    of_type = pa.timestamp("us", "UTC")
    window = Window(rows, slide)
    return OPERATORS[kind](
        WindowAggregation((window,), ("k",), (pa.string(),), AGGREGATES, algorithms, of_type)
    )


def collected(rows, kind):
    """Rows as Spark hands them over: (instant, key, value, string, whether WHERE holds)."""
    rows = sorted(rows, key=order)
    instants, keys, values, strings, holds = zip(*rows, strict=True) if rows else ((),) * 5

    def given(column, of_type):
        return pa.array([x if h else None for x, h in zip(column, holds, strict=True)], of_type)

    return pa.table(
        {
            "_slice": pa.array(instants, pa.int64()),
            "_holds": pa.array(holds, pa.bool_()),
            "k": given(keys, pa.string()) if kind == "all" else pa.array(keys, pa.string()),
            "value of v": given(values, pa.float64()),
            "value of CAST(v AS DOUBLE)": given(values, pa.float64()),
            "value of v IS NOT NULL": given([v is not None for v in values], pa.bool_()),
            "value of s": given(strings, pa.string()),
        }
    )


def order(row):
    """NULLs first, as Spark sorts."""
    return [
        (value is not None, value or 0) if i != 3 else (value is not None, (value or "").encode())
        for i, value in enumerate(row)
    ]


def recompute(stream, kind, rows, slide):
    answers = {}
    parts = {None: stream}
    if kind == "each":
        parts = {key: [row for row in stream if row[1] == key] for key in {row[1] for row in stream}}
    for part in parts.values():
        for row in range(slide, len(part) + 1, slide):
            window = part[max(0, row - rows) : row]
            held = [r for r in window if r[4]]
            for key in {r[1] for r in held}:
                mine = [r for r in held if r[1] == key]
                values = [r[2] for r in mine if r[2] is not None]
                strings = [r[3] for r in mine if r[3] is not None]
                mean = sum(values) / len(values) if values else 0.0
                answers[row, key] = (
                    window[0][0],
                    window[-1][0],
                    sum(values) if values else None,
                    min(values, default=None),
                    max(strings, key=str.encode, default=None),
                    min(strings, key=str.encode, default=None),
                    len(values),
                    len(mine),
                    sum((v - mean) ** 2 for v in values) / len(values) if values else None,
                )
    return answers


def answered(tables):
    got = {}
    for table in tables:
        names = ["window_start", "window_end", *(f"_aggregate{i}" for i in range(len(AGGREGATES)))]
        assert table.column_names == ["window_start", "window_end", "window_row", "_key0", *names[2:]]
        times = [table[name].cast(pa.int64()).to_pylist() for name in names[:2]]
        columns = [*times, *(table[name].to_pylist() for name in names[2:])]
        places = zip(table["window_row"].to_pylist(), table["_key0"].to_pylist(), strict=True)
        for place, answer in zip(places, zip(*columns, strict=True), strict=True):
            assert place not in got
            got[place] = answer
    return got


def assert_same(got, expected):
    assert got.keys() == expected.keys()
    for place, answer in got.items():
        assert answer[:-1] == expected[place][:-1], place
        variance, recomputed = answer[-1], expected[place][-1]
        assert (variance is None) == (recomputed is None)
        assert variance is None or math.isclose(variance, recomputed, rel_tol=1e-9, abs_tol=1e-6)


row = st.tuples(
    st.integers(-3, 12),
    st.sampled_from(["a", "b", None]),
    st.one_of(st.none(), st.integers(-99, 99).map(float)),
    st.one_of(st.none(), st.text("aébZ", max_size=2)),
    st.sampled_from([True, True, False]),
)


@pytest.mark.parametrize("kind", OPERATORS)
@given(
    batches=st.lists(st.tuples(st.lists(row, max_size=15), st.integers(-4, 13)), min_size=1, max_size=5),
    rows=st.integers(1, 12),
    slide=st.integers(1, 7),
    restores=st.booleans(),
)
def test_any_batches_and_restores_equal_recomputation(kind, batches, rows, slide, restores):
    state = operator(kind, rows, slide)
    stream, closed, tables, watermark = [], [], [], BEGINNING
    for number, (batch, advance) in enumerate([*batches, ([], END_OF_TIME)]):
        good = [row for row in batch if row[0] >= watermark]
        stream += [(row[0], number, order(row), row) for row in good]
        state.push(collected(good, kind))
        watermark = max(watermark, advance)
        due = state.closes(watermark)
        answers = list(state.advance(watermark))
        assert due or not answers
        tables += answers
        if restores and watermark < END_OF_TIME:
            closed.append(state.closed_slices())
            horizon, opened = state.horizon, state.open_slices()
            closed = [table for table in closed if len(table) and max(table["_slice"].to_pylist()) >= horizon]
            if number == 2 and closed:
                closed = [pa.concat_tables(closed)]  # as compaction does
            state = operator(kind, rows, slide)
            state.restore(closed, opened, watermark)
    in_order = [row for *_, row in sorted(stream)]
    assert_same(answered(tables), recompute(in_order, kind, rows, slide))


@pytest.mark.parametrize("kind", OPERATORS)
def test_a_query_that_came_later_counts_from_the_first_row_it_saw_all_others_after(kind):
    state = operator(kind, 2, 1)
    state.restore([], None, 10, complete_after=10)
    state.push(collected([(i, "a", float(i), None, True) for i in (9, 10, 11, 12)], kind))
    got = answered(state.advance(END_OF_TIME))
    assert [(place, answer[:3]) for place, answer in got.items()] == [
        ((1, "a"), (11, 11, 11.0)),
        ((2, "a"), (11, 12, 23.0)),
    ]


@pytest.mark.parametrize("kind", OPERATORS)
def test_state_is_bounded_by_the_window_and_a_large_slide_is_merged(kind):
    state = operator(kind, 100, 10)
    for batch in range(50):
        state.push(collected([(batch, "a", 1.0, f"{batch}-{i}", True) for i in range(1_000)], kind))
        assert len(answered(state.advance(batch + 1))) == 100
        assert state.entries <= (11 if kind == "all" else 100)
    assert state._layout.ranked_values < 20_000 if kind == "each" else True
    assert state.bytes > 0


def test_an_enormous_window_overflows_nothing():
    state = operator("all", 1 << 62, 3)
    state.push(collected([(i, "a", 1.0, None, True) for i in range(10)], "all"))
    assert [answer[2] for answer in answered(state.advance(END_OF_TIME)).values()] == [3.0, 6.0, 9.0]


def test_rows_of_one_instant_stay_in_the_order_of_their_batches():
    pending = PendingRows(["_slice", "x"])
    for instants, values in (([1, 5, 5], "abc"), ([0, 5, 6], "def")):
        pending.push(pa.table({"_slice": pa.array(instants, pa.int64()), "x": list(values)}))
    assert "".join(pending.take(6)["x"].to_pylist()) == "dabce"
    assert pending.take(6) is None
    assert len(pending) == 1
    assert pending.before(np.iinfo(np.int64).max) == 1

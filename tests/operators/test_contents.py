"""Values that come in several batches while their slice is open: put in order, and counted together."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.aggregates import Call, aggregate
from windrow.columns import SLICE
from windrow.operators.aggregate.window_aggregate import WindowAggregate, WindowAggregation
from windrow.slicing import Window

LIST = aggregate(Call("collect_list", ("x",)), (pa.int64(),), pa.list_(pa.int64()))
ITEMS = pa.list_(pa.struct([("item", pa.int64()), ("count", pa.int64())]))
OFTEN = aggregate(
    Call("frequent_items", ("x",), (1,)), (pa.int64(),), pa.struct([("delta", pa.int64()), ("items", ITEMS)])
)


def state(item):
    return WindowAggregate(WindowAggregation((Window(10, 10),), (), (), (item,), {}, pa.int64()))


def rows(instants, values):
    starts = np.array(instants) // 10 * 10
    return pa.table({SLICE: starts, "every x": values, "instant of every x": instants})


def counts(values, numbers):
    return pa.table({SLICE: [0] * len(values), "each x": values, "count of each x": numbers})


def answers(windows, until):
    return [row["_aggregate0"] for table in windows.advance(until) for row in table.to_pylist()]


def restarted(item, windows):
    other = state(item)
    other.restore([windows.closed_slices()], windows.open_slices(), windows.evaluated)
    return other


def test_rows_of_several_batches_are_put_in_stream_order():
    for again in (False, True):
        windows = state(LIST)
        windows.push(rows([7, 3, 12], [70, 30, 120]))
        if again:
            windows = restarted(LIST, windows)
        windows.push(rows([5, 3, 11, 1], [50, 31, 110, None]))  # 3: the earlier batch comes first
        assert answers(windows, 20) == [[30, 31, 50, 70], [110, 120]]


def test_rows_of_one_batch_and_instant_are_ordered_by_value():
    windows = state(LIST)
    windows.push(rows([2, 2, 2, 1], [9, 8, 10, 11]))
    assert answers(windows, 10) == [[11, 8, 9, 10]]


def test_the_commonest_of_a_slice_are_known_when_all_its_batches_have_come():
    """By itself, each batch would have kept another value than the slice does."""
    for again in (False, True):
        windows = state(OFTEN)
        windows.push(counts([1, 2], [3, 2]))
        if again:
            windows = restarted(OFTEN, windows)
        windows.push(counts([3, 2], [3, 2]))
        assert answers(windows, 10) == [{"delta": 4, "items": []}]

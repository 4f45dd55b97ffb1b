"""What is left of changes when those that cancel have gone."""

from __future__ import annotations

import math
from collections import defaultdict

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from tests.changes_at_rest import COLUMNS, INSTANT
from windrow.runtime.home.folding import left_of

ROWS = st.lists(
    st.tuples(
        st.sampled_from([1, -1]),
        st.integers(0, 3),
        st.sampled_from([None, 7]),
        st.sampled_from(["a", None]),
        st.sampled_from([0.0, -0.0, math.nan, None]),
        st.sampled_from([None, [], [0.0], [-0.0]]),
        st.sampled_from([1, 2]),
    ),
    max_size=60,
)
TYPES = [pa.int8(), INSTANT, INSTANT, *(of_type for _, of_type in COLUMNS), pa.int32()]
NAMES = ["_op", "_ts", "_exp", *(name for name, _ in COLUMNS), "_query"]


@given(ROWS)
@example([(1, 0, 7, "a", 0.0, [0.0], 1), (-1, 1, 7, "a", -0.0, [0.0], 1)])
@example([(1, 0, 7, "a", 0.0, [0.0], 1), (-1, 1, 7, "a", 0.0, [-0.0], 1)])
@example([(1, 0, 7, "a", 0.0, None, 1), (-1, 1, None, "a", 0.0, None, 1)])
@example([(1, 0, 7, "a", 0.0, None, 1), (-1, 1, 7, "a", 0.0, None, 2)])
@example([(1, 0, 7, "a", math.nan, None, 1), (-1, 1, 7, "a", math.nan, None, 1)])
def test_of_each_row_the_last_changes_that_nothing_cancels_are_left(rows):
    by_row = defaultdict(list)
    for place, (op, _, *row) in enumerate(rows):
        same = by_row[repr(row)]
        same.append((op, place))
    expected = []
    for same in by_row.values():
        net = sum(op for op, _ in same)
        alike = [place for op, place in same if op * net > 0]
        expected += alike[len(alike) - abs(net) :]
    columns = zip(*rows, strict=True) if rows else [[]] * len(NAMES)
    arrays = [pa.array(list(values), of_type) for values, of_type in zip(columns, TYPES, strict=True)]
    changes = pa.table(arrays, NAMES)
    assert left_of(changes).tolist() == sorted(expected)
    halves = pa.concat_tables([changes.slice(0, len(rows) // 2), changes.slice(len(rows) // 2)])
    assert left_of(halves).tolist() == sorted(expected)

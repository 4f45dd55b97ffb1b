"""FIRST and LAST: the value of the row that is first or last in the order of the stream.

That order is event time, then epoch, then the value itself (NULL is the least). In a batch Spark takes
the least or greatest pair of event time and value; where partials of equal time meet, the left one is of
the earlier epoch or, in windows of rows, of the earlier row.
"""

from __future__ import annotations

import pyarrow as pa

from windrow.aggregates.base import Aggregate
from windrow.aggregates.call import Call
from windrow.aggregates.extremes import refuse_incomparable
from windrow.aggregates.function import Function
from windrow.aggregates.operations import FIRST_GREATEST_KEY, LAST_GREATEST_KEY
from windrow.aggregates.pairs import ByKey, PairPartial, pair
from windrow.columns import INSTANT


def _end(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> Aggregate:
    """NULL counts as a value unless the call says IGNORE NULLS."""
    refuse_incomparable(call, types)
    (value,) = call.arguments
    dated = pair(INSTANT, value)
    counted = call.filtered(f"CASE WHEN {value} IS NOT NULL THEN {dated} END" if call.ignore_nulls else dated)
    first = call.function == "first"
    # The first event time is the greatest one with its bits flipped.
    merge = FIRST_GREATEST_KEY if first else LAST_GREATEST_KEY
    partial = PairPartial(counted, first, merge, pa.int64(), types[0])
    return ByKey(call, types, answer, partial=partial)


FUNCTIONS = dict.fromkeys(("first", "last"), Function(_end, nulls=True))

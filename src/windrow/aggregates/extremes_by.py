"""MAX_BY and MIN_BY: the value of the row in which another column is greatest or least."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.aggregates.call import Call
from windrow.aggregates.extremes import refuse_incomparable
from windrow.aggregates.function import Function
from windrow.aggregates.operations import GREATEST_PAIR
from windrow.aggregates.pairs import ByKey, PairPartial, pair

if TYPE_CHECKING:
    import pyarrow as pa

    from windrow.aggregates.base import Aggregate


def _by(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> Aggregate:
    """Of rows with equal keys, MAX_BY takes the greatest value and MIN_BY the least; NULL is the least."""
    refuse_incomparable(call, types)
    value, key = call.arguments
    counted = call.filtered(f"CASE WHEN {key} IS NOT NULL THEN {pair(key, value)} END")
    value_type, key_type = types
    partial = PairPartial(counted, call.function == "min_by", GREATEST_PAIR, key_type, value_type)
    return ByKey(call, types, answer, partial=partial)


FUNCTIONS = dict.fromkeys(("max_by", "min_by"), Function(_by, arguments=2))

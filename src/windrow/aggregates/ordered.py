"""Aggregates of the values in stream order: COLLECT_LIST and STRING_AGG.

Stream order is event time, then epoch, then value. The answer is as long as the window, so an answer
costs what it holds; a window with more than MOST_COLLECTED values of a key fails its query, by name,
before it fills the memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from windrow.aggregates.call import Call
from windrow.aggregates.contents import OfOrder
from windrow.aggregates.function import Constant, Function
from windrow.errors import PlanError

if TYPE_CHECKING:
    from windrow.aggregates.base import Aggregate

MOST_COLLECTED = 1_000_000
"""The most values that one answer may hold."""


class CollectList(OfOrder):
    """COLLECT_LIST(x), also ARRAY_AGG: the values, without NULLs."""

    def lower_lists(self, lists: pa.Array) -> pa.Array:
        return lists.cast(self.result_type)


class StringAgg(OfOrder):
    """STRING_AGG(x, separator), also LISTAGG: the values one behind the other; NULL if there are none."""

    def lower_lists(self, lists: pa.Array) -> pa.Array:
        (separator,) = self.call.constants
        if pat.is_binary(self.result_type):
            separator = separator.encode()
        joined = pc.binary_join(lists, separator)
        empty = pc.equal(pc.list_value_length(lists), 0)
        return pc.if_else(empty, pa.scalar(None, joined.type), joined).cast(self.result_type)


def _string_agg(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> Aggregate:
    if not (pat.is_string(types[0]) or pat.is_binary(types[0])):
        raise PlanError(f"{call}: values of type {types[0]} are no text; write CAST(… AS STRING)")
    return StringAgg(call, types, answer)


SEPARATOR = Constant("separator", "a text", lambda value: isinstance(value, str), default="")

FUNCTIONS = {
    "collect_list": Function(CollectList),
    "listagg": Function(_string_agg, constants=(SEPARATOR,)),
}

"""MIN and MAX over anything ordered, as one compiled operation: the greatest 64-bit integer.

Every value is turned into an integer that sorts the same way. Numbers, dates and timestamps map
directly (floats by their bits, NaN above all as in Spark SQL); strings, decimals and binaries are
ranked by an `OrderedDictionary` of the values that are live. MIN is the MAX of the flipped bits,
BOOL_AND and BOOL_OR are the MIN and MAX of booleans.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from windrow.aggregates.base import Aggregate, Partial, RecordColumn
from windrow.aggregates.call import Call
from windrow.aggregates.count import refuse_other_than_booleans
from windrow.aggregates.function import Function
from windrow.aggregates.operations import ADD_INTEGERS, GREATEST, MIN_INT64
from windrow.aggregates.sum import presence
from windrow.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Sequence

    Column = np.ndarray[Any, Any]

FLIP_BELOW_SIGN = np.int64(0x7FFF_FFFF_FFFF_FFFF)


def is_ranked(of_type: pa.DataType) -> bool:
    """Whether values of this type are compared by rank, because 64 bits cannot hold them."""
    return bool(
        pat.is_string(of_type)
        or pat.is_large_string(of_type)
        or pat.is_binary(of_type)
        or pat.is_large_binary(of_type)
        or pat.is_decimal(of_type)
    )


def is_sortable_integer(of_type: pa.DataType) -> bool:
    """Whether the type is an integer, or one underneath."""
    return bool(pat.is_integer(of_type) or pat.is_boolean(of_type) or pat.is_temporal(of_type))


@dataclass(frozen=True)
class ExtremePartial(Partial):
    """The smallest or largest value: present, sortable integer or rank."""

    least: bool
    of_type: pa.DataType = field(compare=False)

    @property
    def expressions(self) -> tuple[str, ...]:
        return (f"{'min' if self.least else 'max'}({self.argument})",)

    @property
    def aggregated_by(self) -> Literal["hashing", "sorting"]:
        fixed = not is_ranked(self.of_type) or pat.is_decimal(self.of_type)
        return "hashing" if fixed else "sorting"

    def lift(self, values: pa.Array) -> list[pa.Array]:
        return [values]

    @property
    def columns(self) -> tuple[RecordColumn, ...]:
        ranked = self.of_type if is_ranked(self.of_type) else None
        return (RecordColumn(ADD_INTEGERS), RecordColumn(GREATEST, ranked, self.least))

    def encode(self, lifted: Sequence[pa.Array]) -> list[Any]:
        (values,) = lifted
        if is_ranked(self.of_type):
            return [presence(values), values]
        encoded = sortable(values)
        encoded = ~encoded if self.least else encoded
        if values.null_count:
            encoded = np.where(pc.is_valid(values).to_numpy(zero_copy_only=False), encoded, MIN_INT64)
        return [presence(values), encoded]


@dataclass(frozen=True)
class Extreme(Aggregate):
    """MIN or MAX: NULL when no row had a value."""

    least: bool = field(kw_only=True)

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (ExtremePartial(self.argument, self.least, self.argument_type),)

    def lower(self, columns: Sequence[Any]) -> pa.Array:
        present, values = columns
        if isinstance(values, pa.Array | pa.ChunkedArray):  # ranked: the values themselves, NULLs in place
            return values.cast(self.result_type)
        values = ~values if self.least else values
        return unsortable(values, present == 0, self.result_type)


def sortable(values: pa.Array) -> Column:
    """Integers that sort as the values do; NULLs become anything."""
    if pat.is_floating(values.type):
        # Adding zero turns -0.0 into 0.0: Spark holds them equal.
        floats = pc.fill_null(values, 0.0).to_numpy(zero_copy_only=False).astype(np.float64) + 0.0
        floats[np.isnan(floats)] = np.nan  # one NaN, the positive one, above +Inf
        bits = floats.view(np.int64)
        return np.where(bits < 0, bits ^ FLIP_BELOW_SIGN, bits)
    return _as_integers(values)


def unsortable(encoded: Column, absent: Column, of_type: pa.DataType) -> pa.Array:
    """The values that `sortable` integers stand for."""
    if pat.is_floating(of_type):
        bits = np.where(encoded < 0, encoded ^ FLIP_BELOW_SIGN, encoded)
        return pa.array(bits.view(np.float64), mask=absent).cast(of_type)
    integers = pa.array(np.where(absent, 0, encoded), mask=absent)
    if pat.is_date32(of_type) or pat.is_time32(of_type):
        integers = integers.cast(pa.int32())
    return integers.cast(of_type)


def _as_integers(values: pa.Array) -> Column:
    if pat.is_temporal(values.type):
        narrow = pat.is_date32(values.type) or pat.is_time32(values.type)
        values = values.view(pa.int32() if narrow else pa.int64())
    return pc.fill_null(values.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)


def is_comparable(of_type: pa.DataType) -> bool:
    """Whether values of this type have an order that windows can keep."""
    return is_ranked(of_type) or is_sortable_integer(of_type) or bool(pat.is_floating(of_type))


def refuse_incomparable(call: Call, types: Sequence[pa.DataType]) -> None:
    """A PlanError unless values of all these types have an order."""
    for of_type in types:
        if not is_comparable(of_type):
            raise PlanError(f"{call}: values of type {of_type} cannot be compared over windows")


def _least(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> Aggregate:
    refuse_incomparable(call, types)
    return Extreme(call, types, answer, least=True)


def _greatest(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> Aggregate:
    refuse_incomparable(call, types)
    return Extreme(call, types, answer, least=False)


def _all(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> Aggregate:
    refuse_other_than_booleans(call, types)
    return Extreme(call, types, answer, least=True)  # false is the least


def _any(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> Aggregate:
    refuse_other_than_booleans(call, types)
    return Extreme(call, types, answer, least=False)


FUNCTIONS = {
    "min": Function(_least, distinct=_least),
    "max": Function(_greatest, distinct=_greatest),
    "bool_and": Function(_all),
    "bool_or": Function(_any),
}

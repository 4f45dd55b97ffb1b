"""SUM: exact for integers and decimals, never maintained by subtraction for floats.

Integers and decimals are summed in *limbs*: the value is cut into 32-bit pieces, each summed in an
int64 of its own, so no partial sum can overflow before 2^31 slices have been added and subtraction
is exact. Whether the sum fits its SQL type is decided once, on the answer: a window whose sum fits
is right, whatever order its rows came in, and one whose sum does not fit is an error, not a wrap.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from windrow.aggregates.base import Aggregate, Partial, RecordColumn
from windrow.aggregates.call import Call
from windrow.aggregates.function import Function
from windrow.aggregates.operations import ADD_FLOATS, ADD_INTEGERS
from windrow.errors import PlanError, QueryFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    Column = np.ndarray[Any, Any]

LIMB_BITS = 32
LIMB_MASK = (1 << LIMB_BITS) - 1


def presence(lifted: pa.Array) -> Column:
    """1 where the slice had a value, 0 where all were NULL: tells a NULL answer from a zero."""
    return pc.is_valid(lifted).to_numpy(zero_copy_only=False).astype(np.int64)


def masked(values: Column, present: Column, of_type: pa.DataType) -> pa.Array:
    """Answers with NULL where no row had a value."""
    return pa.array(values, mask=present == 0).cast(of_type)


@dataclass(frozen=True)
class IntegerSumPartial(Partial):
    """Sum of integers: present, low limb, high limb."""

    @property
    def expressions(self) -> tuple[str, ...]:
        return (f"sum({self.argument})",)

    def lift(self, values: pa.Array) -> list[pa.Array]:
        return [values.cast(pa.int64())]

    @property
    def columns(self) -> tuple[RecordColumn, ...]:
        return (RecordColumn(ADD_INTEGERS),) * 3

    def encode(self, lifted: Sequence[pa.Array]) -> list[Any]:
        values = pc.fill_null(lifted[0], 0).to_numpy(zero_copy_only=False)
        return [presence(lifted[0]), values & LIMB_MASK, values >> LIMB_BITS]


@dataclass(frozen=True)
class DecimalSumPartial(Partial):
    """Sum of decimals, unscaled: present, then four limbs from low to high."""

    @property
    def expressions(self) -> tuple[str, ...]:
        return (f"sum({self.argument})",)

    def lift(self, values: pa.Array) -> list[pa.Array]:
        return [values]

    @property
    def columns(self) -> tuple[RecordColumn, ...]:
        return (RecordColumn(ADD_INTEGERS),) * 5

    def encode(self, lifted: Sequence[pa.Array]) -> list[Any]:
        filled = pa.concat_arrays([pc.fill_null(lifted[0], pa.scalar(Decimal(0), lifted[0].type))])
        data = np.frombuffer(filled.buffers()[1], np.uint32)
        limbs = data[filled.offset * 4 : (filled.offset + len(filled)) * 4].reshape(-1, 4)
        high = limbs[:, 3].astype(np.int32).astype(np.int64)  # the sign lives in the highest limb
        return [presence(lifted[0]), *(limbs[:, i].astype(np.int64) for i in range(3)), high]


@dataclass(frozen=True)
class FloatSumPartial(Partial):
    """Sum of floats: present, sum."""

    @property
    def expressions(self) -> tuple[str, ...]:
        return (f"sum({self.argument})",)

    def lift(self, values: pa.Array) -> list[pa.Array]:
        return [values]

    @property
    def columns(self) -> tuple[RecordColumn, ...]:
        return (RecordColumn(ADD_INTEGERS), RecordColumn(ADD_FLOATS))

    def encode(self, lifted: Sequence[pa.Array]) -> list[Any]:
        values = pc.fill_null(lifted[0], 0.0).to_numpy(zero_copy_only=False)
        return [presence(lifted[0]), values]


def whole(limbs: Sequence[Column]) -> list[int]:
    """The exact integers that limbs stand for, as Python integers."""
    total = limbs[-1].astype(object)
    for limb in reversed(limbs[:-1]):
        total = (total << LIMB_BITS) + limb.astype(object)
    return list(total)


@dataclass(frozen=True)
class Sum(Aggregate):
    """SUM: NULL when no row had a value; an error when an integer or decimal sum does not fit."""

    partial: Partial = field(kw_only=True)

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (self.partial,)

    def lower(self, columns: Sequence[Any]) -> pa.Array:
        present, *parts = columns
        if isinstance(self.partial, FloatSumPartial):
            return masked(parts[0], present, self.result_type)
        if isinstance(self.partial, IntegerSumPartial):
            low, high = parts
            carried = high + (low >> LIMB_BITS)
            if np.any((carried < -(1 << 31)) | (carried >= 1 << 31)):
                raise self._overflow()
            return masked((carried << LIMB_BITS) | (low & LIMB_MASK), present, self.result_type)
        bound = 10**self.result_type.precision
        totals = whole(parts)
        if any(abs(total) >= bound for total in totals):
            raise self._overflow()
        return decimals(totals, present, self.result_type)

    def _overflow(self) -> QueryFailed:
        return QueryFailed(
            f"{self} does not fit in {self.result_type} for some window; "
            f"aggregate a wider type, such as CAST({self.argument} AS DECIMAL(38, 0)), or a shorter RANGE"
        )


def decimals(unscaled: Sequence[int], present: Column, of_type: pa.DataType) -> pa.Array:
    """A decimal128 array from unscaled integers, NULL where nothing was present."""
    words = b"".join(value.to_bytes(16, "little", signed=True) for value in unscaled)
    validity = pa.array(present != 0).buffers()[1]
    return pa.Array.from_buffers(of_type, len(unscaled), [validity, pa.py_buffer(words)])


def sum_partial(call: Call, argument_type: pa.DataType) -> Partial:
    """The sum of a call's argument, by its type."""
    if pat.is_decimal(argument_type):
        return DecimalSumPartial(call.argument)
    if pat.is_integer(argument_type):
        return IntegerSumPartial(call.argument)
    if pat.is_floating(argument_type) or pat.is_string(argument_type):
        # The cast is a no-op on doubles and makes the others add up as Spark's SUM and AVG do.
        return FloatSumPartial(f"CAST({call.argument} AS DOUBLE)")
    raise PlanError(f"{call}: cannot add values of type {argument_type}")


def sum_(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> Sum:
    """SUM(x)."""
    return Sum(call, types, answer, partial=sum_partial(call, types[0]))


def is_number(of_type: pa.DataType) -> bool:
    """Whether it is a type to calculate with."""
    return bool(pat.is_integer(of_type) or pat.is_floating(of_type) or pat.is_decimal(of_type))


def sum_of_doubles(call: Call) -> str:
    """Spark SQL of an answer that is a double, for functions that Spark does not know."""
    return replace(call, function="sum", arguments=(f"CAST({call.arguments[0]} AS DOUBLE)",)).sql


def _sum_of_squares(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> Aggregate:
    if not is_number(types[0]):
        raise PlanError(f"{call}: cannot square values of type {types[0]}")
    x = f"CAST({call.argument} AS DOUBLE)"
    return Sum(call, types, answer, partial=FloatSumPartial(f"{x} * {x}"))


FUNCTIONS = {"sum": Function(sum_), "sum_of_squares": Function(_sum_of_squares, answer=sum_of_doubles)}

"""AVG: a sum over a count, both shared with SUM(x) and COUNT(x) where a query has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from windrow.aggregates.base import Aggregate, Partial
from windrow.aggregates.call import Call
from windrow.aggregates.count import CountPartial
from windrow.aggregates.function import Function
from windrow.aggregates.sum import (
    LIMB_BITS,
    DecimalSumPartial,
    FloatSumPartial,
    decimals,
    masked,
    sum_partial,
    whole,
)
from windrow.errors import QueryFailed

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Average(Aggregate):
    """AVG: NULL when no row had a value; decimals are divided exactly and rounded half up, as Spark does."""

    partial: Partial = field(kw_only=True)

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (self.partial, CountPartial(self.argument))

    def lower(self, columns: Sequence[Any]) -> pa.Array:
        *parts, count = columns
        parts = parts[1:]  # the sum's own presence; the count says the same
        if isinstance(self.partial, DecimalSumPartial):
            return self._divide_decimals(whole(parts), count)
        if isinstance(self.partial, FloatSumPartial):
            total = parts[0]
        else:
            low, high = parts
            total = high * float(1 << LIMB_BITS) + low
        return masked(total / np.maximum(count, 1), count, self.result_type)

    def _divide_decimals(self, totals: list[int], count: np.ndarray[Any, Any]) -> pa.Array:
        shift = 10 ** (self.result_type.scale - self.argument_type.scale)
        bound = 10**self.result_type.precision
        quotients = [_round_half_up(t * shift, n) for t, n in zip(totals, count.tolist(), strict=True)]
        if any(abs(quotient) >= bound for quotient in quotients):
            raise QueryFailed(f"{self} does not fit in {self.result_type} for some window")
        return decimals(quotients, count, self.result_type)


def _round_half_up(dividend: int, divisor: int) -> int:
    """Division rounding halves away from zero.

    >>> _round_half_up(5, 2), _round_half_up(-5, 2), _round_half_up(4, 3), _round_half_up(7, 0)
    (3, -3, 1, 0)
    """
    if divisor == 0:
        return 0
    quotient = (2 * abs(dividend) + divisor) // (2 * divisor)
    return quotient if dividend >= 0 else -quotient


def average(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> Average:
    """AVG(x)."""
    # Spark averages BIGINT in doubles, so that a large one does not overflow; narrower integers
    # cannot, and share the exact sum.
    summed = pa.float64() if pat.is_int64(types[0]) else types[0]
    return Average(call, types, answer, partial=sum_partial(call, summed))


FUNCTIONS = {"avg": Function(average)}

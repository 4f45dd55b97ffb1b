"""VARIANCE and STDDEV, of the population and of the sample, from merged moments.

The partial is (count, mean, sum of squared deviations), as Spark's own: unlike a sum of squares it
keeps its digits when the mean is far larger than the spread. It is not inverted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.base import Aggregate, Partial, RecordColumn
from windrow.aggregates.call import Call
from windrow.aggregates.function import Function
from windrow.aggregates.operations import MOMENTS

if TYPE_CHECKING:
    from collections.abc import Sequence


class MomentsPartial(Partial):
    """Count, mean and summed squared deviations of a double."""

    @property
    def expressions(self) -> tuple[str, ...]:
        x = self.argument
        return (f"count({x})", f"avg({x})", f"var_pop({x})")

    def lift(self, values: pa.Array) -> list[pa.Array]:
        # Not plainly zero: as Spark has it, the spread of an infinity is no number.
        return [pc.is_valid(values).cast(pa.int64()), values, pc.multiply(values, 0.0)]

    @property
    def columns(self) -> tuple[RecordColumn, ...]:
        return (RecordColumn(MOMENTS),) * 3

    def encode(self, lifted: Sequence[pa.Array]) -> list[Any]:
        count, mean, variance = (
            pc.fill_null(column, 0).to_numpy(zero_copy_only=False).astype(np.float64) for column in lifted
        )
        return [count, mean, variance * count]


@dataclass(frozen=True)
class Variance(Aggregate):
    """VAR_POP, VAR_SAMP, STDDEV_POP, STDDEV_SAMP: NULL when there are too few values, as in Spark."""

    partial: Partial = field(kw_only=True)
    """Moments, with higher ones behind them or not."""

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (self.partial,)

    def lower(self, columns: Sequence[Any]) -> pa.Array:
        count, _, spread, *_ = columns
        freedom = count - 1.0 if self.function.endswith("samp") else count
        enough = freedom > 0
        variance = spread / np.where(enough, freedom, 1.0)
        answer = np.sqrt(variance) if self.function.startswith("stddev") else variance
        return pa.array(answer, mask=~enough)


def _variance(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> Aggregate:
    return Variance(call, types, answer, partial=MomentsPartial(f"CAST({call.argument} AS DOUBLE)"))


FUNCTIONS = dict.fromkeys(("var_pop", "var_samp", "stddev_pop", "stddev_samp"), Function(_variance))

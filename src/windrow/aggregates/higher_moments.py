"""SKEWNESS and KURTOSIS, from merged moments up to the fourth.

Spark lifts what can be turned into moments again: its own skewness and kurtosis of the slice. The mean is
AVG but where all values are equal: there a sum divided by a count may miss the value by a bit, and values
that are all equal would seem to have a spread. Nothing is inverted.

As in Spark, values that differ, but by less than about 1e-54, fail a query: the cube of their spread is zero.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.base import Aggregate, Partial, RecordColumn
from windrow.aggregates.function import Function
from windrow.aggregates.operations import HIGHER_MOMENTS
from windrow.aggregates.variance import Variance

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Column = np.ndarray[Any, Any]


def floats(lifted: pa.Array) -> Column:
    """As doubles, zero for NULL."""
    return pc.fill_null(lifted, 0).to_numpy(zero_copy_only=False).astype(np.float64)


class HigherMomentsPartial(Partial):
    """Count, mean and summed second, third and fourth powers of the deviations of a double."""

    @property
    def expressions(self) -> tuple[str, ...]:
        x = self.argument
        return (f"count({x})", f"avg({x})", f"var_pop({x})", f"skewness({x})", f"kurtosis({x})", f"max({x})")

    def lift(self, values: pa.Array) -> list[pa.Array]:
        # Not plainly zero: as Spark has it, the spread of an infinity is no number.
        none, spread = pa.nulls(len(values), pa.float64()), pc.multiply(values, 0.0)
        return [pc.is_valid(values).cast(pa.int64()), values, spread, none, none, values]

    @property
    def columns(self) -> tuple[RecordColumn, ...]:
        return (RecordColumn(HIGHER_MOMENTS),) * 5

    def encode(self, lifted: Sequence[pa.Array]) -> list[Any]:
        count, mean, variance, skewness, kurtosis, greatest = map(floats, lifted)
        second = variance * count
        mean = np.where(second == 0, greatest, mean)
        with np.errstate(over="ignore", invalid="ignore"):
            third = skewness * second * np.sqrt(variance)
            fourth = (kurtosis + 3.0) * second * variance
        return [count, mean, second, third, fourth]


class HigherMoments(Aggregate):
    """SKEWNESS, KURTOSIS: NULL when there are no values or they are all equal, as in Spark."""

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (HigherMomentsPartial(f"CAST({self.argument} AS DOUBLE)"),)

    def lower(self, columns: Sequence[Any]) -> pa.Array:
        count, _, second, third, fourth = columns
        some = second != 0
        second = np.where(some, second, 1.0)
        with np.errstate(all="ignore"):
            if self.function == "skewness":
                answer = np.sqrt(count) * third / np.sqrt(second * second * second)
            else:
                answer = count * fourth / (second * second) - 3.0
        return pa.array(answer, mask=~some)


def share_moments(aggregates: Iterable[Aggregate]) -> list[Aggregate]:
    """The aggregates of a query, variances made from higher moments where it has those of the same values."""
    aggregates = list(aggregates)
    higher = {p.argument: p for a in aggregates for p in a.partials if isinstance(p, HigherMomentsPartial)}
    return [
        replace(item, partial=higher[item.partial.argument])
        if isinstance(item, Variance) and item.partial.argument in higher
        else item
        for item in aggregates
    ]


FUNCTIONS = dict.fromkeys(("skewness", "kurtosis"), Function(HigherMoments))

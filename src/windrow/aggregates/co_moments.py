"""COVAR_POP, COVAR_SAMP and CORR, from merged moments of two variables.

Only rows in which both are known count. Spark lifts what its regressions are made of; means are AVG but
where all values of a slice are equal (see `higher_moments.py`). Nothing is inverted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.base import Aggregate, Partial, RecordColumn
from windrow.aggregates.function import Function
from windrow.aggregates.higher_moments import floats
from windrow.aggregates.operations import CO_MOMENTS
from windrow.aggregates.pairs import pair

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class CoMomentsPartial(Partial):
    """Count, means, summed squares of deviations and summed products of them, of two doubles."""

    other: str

    @property
    def expressions(self) -> tuple[str, ...]:
        x, y = self.argument, self.other
        parts = ("count", "avgx", "avgy", "sxx", "syy", "sxy")
        greatest = (f"max(CASE WHEN {b} IS NOT NULL THEN {a} END)" for a, b in ((x, y), (y, x)))
        return (*(f"regr_{part}({y}, {x})" for part in parts), *greatest)

    def of_rows(self, condition: str) -> CoMomentsPartial:
        x, y = (f"CASE WHEN {condition} THEN {sql} END" for sql in (self.argument, self.other))
        return replace(self, argument=x, other=y)

    @property
    def value(self) -> str:
        x, y = self.argument, self.other
        return f"CASE WHEN {x} IS NOT NULL AND {y} IS NOT NULL THEN {pair(x, y)} END"

    def lift(self, values: pa.Array) -> list[pa.Array]:
        x, y = values.flatten()
        # Not plainly zero: as Spark has it, the spread of an infinity is no number.
        squares = [pc.multiply(a, 0.0) for a in (x, y)]
        return [pc.is_valid(values).cast(pa.int64()), x, y, *squares, pc.add(*squares), x, y]

    @property
    def columns(self) -> tuple[RecordColumn, ...]:
        return (RecordColumn(CO_MOMENTS),) * 6

    def encode(self, lifted: Sequence[pa.Array]) -> list[Any]:
        count, x, y, xx, yy, xy, greatest_x, greatest_y = map(floats, lifted)
        return [count, np.where(xx == 0, greatest_x, x), np.where(yy == 0, greatest_y, y), xx, yy, xy]


class CoMoments(Aggregate):
    """COVAR_POP, COVAR_SAMP, CORR: NULL when there are too few values, CORR also when one has no variance.

    An infinity makes them NaN, in whichever order rows come.
    """

    @property
    def partials(self) -> tuple[Partial, ...]:
        x, y = (f"CAST({sql} AS DOUBLE)" for sql in (self.argument, self.call.arguments[1]))
        return (CoMomentsPartial(x, y),)

    def lower(self, columns: Sequence[Any]) -> pa.Array:
        count, _, _, xx, yy, xy = columns
        known = np.where(np.isnan(xx) | np.isnan(yy), np.nan, xy)
        with np.errstate(over="ignore", invalid="ignore"):
            divisor = {"covar_pop": count, "covar_samp": count - 1.0, "corr": np.sqrt(xx) * np.sqrt(yy)}[
                self.function
            ]
        enough = count > (self.function != "covar_pop")
        if self.function == "corr":
            enough &= (xx != 0) & (yy != 0)
        return pa.array(known / np.where(enough, divisor, 1.0), mask=~enough)


FUNCTIONS = dict.fromkeys(("covar_pop", "covar_samp", "corr"), Function(CoMoments, arguments=2))

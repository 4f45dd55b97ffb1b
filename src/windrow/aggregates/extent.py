"""RANGE: how far the greatest and the least value lie apart, from the partials of MAX and MIN."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from windrow.aggregates.base import Aggregate, Partial
from windrow.aggregates.call import Call
from windrow.aggregates.extremes import ExtremePartial, refuse_incomparable, unsortable
from windrow.aggregates.function import Function
from windrow.aggregates.sum import is_number
from windrow.errors import PlanError, QueryFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    Column = np.ndarray[Any, Any]

DAY = 86_400_000_000
EXACT = Context(prec=80)


class Range(Aggregate):
    """RANGE: MAX - MIN in the type that Spark gives it; NULL when no row had a value."""

    @property
    def partials(self) -> tuple[Partial, ...]:
        return tuple(ExtremePartial(self.argument, least, self.argument_type) for least in (False, True))

    def lower(self, columns: Sequence[Any]) -> pa.Array:
        present, greatest, _, least = columns
        absent = present == 0
        if pat.is_decimal(self.argument_type):
            return self._subtract_decimals(greatest, least)
        if pat.is_floating(self.argument_type):
            high, low = (unsortable(ends, absent, self.argument_type) for ends in (greatest, ~least))
            return pc.subtract(high, low)
        return self._subtract_integers(greatest, ~least, absent)

    def _subtract_integers(self, greatest: Column, least: Column, absent: Column) -> pa.Array:
        """Also of days and microseconds, which make microseconds."""
        greatest, least = np.where(absent, 0, greatest), np.where(absent, 0, least)
        apart = greatest - least
        whole = pat.is_integer(self.result_type)
        most = np.iinfo(self.result_type.to_pandas_dtype() if whole else np.int64).max
        if np.any((apart < 0) | (apart > most)):
            raise self._overflow()
        if pat.is_date32(self.argument_type):
            apart = apart * DAY
        return pa.array(apart, mask=absent).cast(self.result_type)

    def _subtract_decimals(self, greatest: pa.Array, least: pa.Array) -> pa.Array:
        unit = Decimal(1).scaleb(-self.result_type.scale)
        bound = Decimal(1).scaleb(self.result_type.precision - self.result_type.scale)
        pairs = zip(greatest.to_pylist(), least.to_pylist(), strict=True)
        apart = [None if high is None else EXACT.subtract(high, low) for high, low in pairs]
        # The widest decimals leave no room for another digit, and Spark takes one behind the point.
        rounded = [None if d is None else d.quantize(unit, ROUND_HALF_UP, EXACT) for d in apart]
        if any(value is not None and value >= bound for value in rounded):
            raise self._overflow()
        return pa.array(rounded, self.result_type)

    def _overflow(self) -> QueryFailed:
        return QueryFailed(
            f"{self} does not fit in {self.result_type} for some window; aggregate a wider type, "
            f"such as CAST({self.argument} AS DECIMAL(38, 0))"
        )


def _range(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> Aggregate:
    refuse_incomparable(call, types)
    if not (is_number(types[0]) or pat.is_temporal(types[0])):
        raise PlanError(f"{call}: cannot subtract values of type {types[0]}")
    return Range(call, types, answer)


def _answer(call: Call) -> str:
    x = call.argument
    return f"max({x}) - min({x})"


FUNCTIONS = {"range": Function(_range, answer=_answer)}

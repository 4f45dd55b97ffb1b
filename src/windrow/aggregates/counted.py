"""Exact holistic aggregates, from the counts of the different values in a window.

COUNT, SUM and AVG of DISTINCT values, MEDIAN and PERCENTILE, MODE, TOP_K, COLLECT_SET, and the frequent
items of Golab 2006, Algorithm 6. All of them over the same argument share one set of counts.

Cost, with d different values of a key in its window: O(log d) for each value of a slice that enters and
leaves, O(log d) an answer (TOP_K: k times that; SUM(DISTINCT) of floats and COLLECT_SET: d). Space: one
entry for each different value of each slice and key, and of each window and key.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from windrow.aggregates.average import average
from windrow.aggregates.call import Call
from windrow.aggregates.contents import Counts, OfCounts, refuse_unhashable
from windrow.aggregates.function import Constant, Function, whole
from windrow.aggregates.questions import Commonest, Distinct, DistinctTotals, Each, OverRest, Quantile
from windrow.aggregates.sum import FloatSumPartial, sum_
from windrow.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.aggregates.average import Average
    from windrow.aggregates.contents import Decode
    from windrow.aggregates.questions import Question
    from windrow.aggregates.sum import Sum

    Array = np.ndarray[Any, Any]


class CountDistinct(OfCounts):
    """COUNT(DISTINCT x); of several arguments, the rows in which none of them is NULL."""

    @property
    def contents(self) -> Counts:
        arguments = self.call.arguments
        if len(arguments) == 1:
            return Counts(self.argument, self.argument_type)
        some = " AND ".join(f"({sql}) IS NOT NULL" for sql in arguments)
        fields = [pa.field(f"col{i + 1}", of_type) for i, of_type in enumerate(self.argument_types)]
        together = f"CASE WHEN {some} THEN struct({', '.join(arguments)}) END"
        return Counts(self.call.filtered(together), pa.struct(fields))

    @property
    def questions(self) -> tuple[Question, ...]:
        return (Distinct(),)

    def lower_counts(self, found: Sequence[Any], values: Decode) -> pa.Array:
        return pa.array(found[0], pa.int64())


@dataclass(frozen=True)
class OfDistinct(OfCounts):
    """SUM or AVG of the different values: what `plain` does with the sum of each of them once."""

    plain: Sum | Average = field(kw_only=True)

    @property
    def _rounds(self) -> bool:
        return isinstance(self.plain.partial, FloatSumPartial)

    @property
    def questions(self) -> tuple[Question, ...]:
        # Floats are added anew for each answer, in order: what is added and subtracted drifts.
        return (Each() if self._rounds else DistinctTotals(), Distinct())

    def weights(self, values: pa.Array) -> Array | None:
        return None if self._rounds else np.column_stack(self._encoded(values))

    def lower_counts(self, found: Sequence[Any], values: Decode) -> pa.Array:
        sums, distinct = found
        if self._rounds:
            columns = [distinct, _sums(self._encoded(values(sums.codes))[1], sums.offsets)]
        else:
            columns = list(sums.T)
        with_count = [*columns, distinct]
        return self.plain.lower(with_count[: sum(len(p.columns) for p in self.plain.partials)])

    def _encoded(self, values: pa.Array) -> list[Any]:
        if self._rounds:
            values = values.cast(pa.float64(), safe=False)
        return self.plain.partial.encode(self.plain.partial.lift(values))


def _sums(values: Array, offsets: Array) -> Array:
    """The sum of each stretch of values; nothing sums up to zero."""
    sums = np.zeros(len(offsets) - 1)
    some = np.flatnonzero(np.diff(offsets))
    if len(some):
        with np.errstate(invalid="ignore", over="ignore"):
            sums[some] = np.add.reduceat(values, offsets[some])
    return sums


class Percentile(OfCounts):
    """PERCENTILE(x, p) and MEDIAN(x): between the two values around the position, as Spark does."""

    @property
    def _several(self) -> bool:
        return any(isinstance(given, tuple) for given in self.call.constants)

    @property
    def _positions(self) -> tuple[float, ...]:
        (given,) = self.call.constants or (0.5,)
        return given if isinstance(given, tuple) else (given,)

    @property
    def questions(self) -> tuple[Question, ...]:
        return tuple(Quantile(float(p)) for p in self._positions)

    def lower_counts(self, found: Sequence[Any], values: Decode) -> pa.Array:
        answers = [self._between(quantile, values) for quantile in found]
        empty = found[0].total == 0
        if not self._several:
            return pa.array(answers[0], mask=empty).cast(self.result_type)
        flat = np.column_stack(answers).reshape(-1)
        offsets = np.arange(len(empty) + 1, dtype=np.int32) * len(answers)
        mask = pa.array(empty) if empty.any() else None
        lists = pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat), mask=mask)
        return lists.cast(self.result_type)

    @staticmethod
    def _between(quantile: Any, values: Decode) -> Array:
        low, high = (
            values(codes).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            for codes in (quantile.low, quantile.high)
        )
        with np.errstate(invalid="ignore"):
            between = low + (high - low) * quantile.fraction
        return np.where(quantile.low == quantile.high, low, between)


class Mode(OfCounts):
    """MODE(x): the commonest value; the least of several."""

    @property
    def questions(self) -> tuple[Question, ...]:
        return (Commonest(1),)

    def lower_counts(self, found: Sequence[Any], values: Decode) -> pa.Array:
        (commonest,) = found
        some = np.diff(commonest.offsets) > 0
        codes = np.full(len(some), -1, np.int64)
        codes[some] = commonest.codes
        return values(codes).cast(self.result_type)


class TopK(OfCounts):
    """TOP_K(x, k): the k commonest values with their counts, the greatest first; of equals the least."""

    @property
    def questions(self) -> tuple[Question, ...]:
        return (Commonest(self.call.constants[0]),)

    def lower_counts(self, found: Sequence[Any], values: Decode) -> pa.Array:
        return _items(found[0], values).cast(self.result_type)


class FrequentItems(OfCounts):
    """FREQUENT_ITEMS(x, k): every value that certainly occurs more than delta times, by the k commonest
    values of each slice; no other value occurs more than delta times but those of which no slice, or too
    few, had it among its k. Counts are from below: what a slice did not keep is missing."""

    @property
    def contents(self) -> Counts:
        return Counts(self.argument, self.argument_type, kept=self.call.constants[0])

    @property
    def questions(self) -> tuple[Question, ...]:
        return (OverRest(),)

    def lower_counts(self, found: Sequence[Any], values: Decode) -> pa.Array:
        (over,) = found
        items = _items(over, values)
        return pa.StructArray.from_arrays([pa.array(over.rest), items], ["delta", "items"]).cast(
            self.result_type
        )


class CollectSet(OfCounts):
    """COLLECT_SET(x): the different values, in ascending order."""

    @property
    def questions(self) -> tuple[Question, ...]:
        return (Each(),)

    def lower_counts(self, found: Sequence[Any], values: Decode) -> pa.Array:
        (each,) = found
        return pa.ListArray.from_arrays(pa.array(each.offsets, pa.int32()), values(each.codes)).cast(
            self.result_type
        )


def _items(found: Any, values: Decode) -> pa.Array:
    """A list of (item, count) an answer."""
    items = pa.StructArray.from_arrays([values(found.codes), pa.array(found.counts)], ["item", "count"])
    return pa.ListArray.from_arrays(pa.array(found.offsets, pa.int32()), items)


def _counted(kind: type[OfCounts]) -> Any:
    def make(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> OfCounts:
        for of_type in types:
            refuse_unhashable(call, of_type)
        return kind(call, types, answer)

    return make


def _percentile(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> OfCounts:
    if not (pat.is_integer(types[0]) or pat.is_floating(types[0]) or pat.is_decimal(types[0])):
        raise PlanError(f"{call}: there is nothing between two values of type {types[0]}")
    return Percentile(call, types, answer)


def _count_distinct(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> OfCounts:
    for of_type in types:
        refuse_unhashable(call, of_type)
    return CountDistinct(call, types, answer)


def _sum_distinct(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> OfCounts:
    return OfDistinct(call, types, answer, plain=sum_(call, types, answer))


def _average_distinct(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> OfCounts:
    return OfDistinct(call, types, answer, plain=average(call, types, answer))


def _is_position(value: Any) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(map(_is_position, value))
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _items_sql(call: Call) -> str:
    (x,) = call.arguments
    return f"array(named_struct('item', first({x}), 'count', count({x})))"


POSITION = Constant("p", "a number from 0 to 1, or an array of them", _is_position)
HOW_MANY = Constant("k", "a whole number greater than zero", whole(1))

FUNCTIONS = {
    "median": Function(_percentile),
    "percentile": Function(_percentile, constants=(POSITION,)),
    "mode": Function(_counted(Mode)),
    "top_k": Function(_counted(TopK), constants=(HOW_MANY,), answer=_items_sql),
    "collect_set": Function(_counted(CollectSet)),
    "frequent_items": Function(
        _counted(FrequentItems),
        constants=(HOW_MANY,),
        answer=lambda call: f"named_struct('delta', count({call.arguments[0]}), 'items', {_items_sql(call)})",
    ),
}
DISTINCT = {"count": _count_distinct, "sum": _sum_distinct, "avg": _average_distinct}
"""What DISTINCT makes of functions that have another meaning without it."""

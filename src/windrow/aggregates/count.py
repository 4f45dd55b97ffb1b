"""COUNT(*), COUNT(x) and COUNT_IF(c): an invertible integer sum of counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from windrow.aggregates.base import ANY_ROW, Aggregate, Partial, RecordColumn
from windrow.aggregates.call import Call
from windrow.aggregates.function import Function
from windrow.aggregates.operations import ADD_INTEGERS
from windrow.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Sequence


class CountPartial(Partial):
    """How many rows have a value; `*` counts every row."""

    @property
    def expressions(self) -> tuple[str, ...]:
        return (f"count({self.argument})",)

    def of_rows(self, condition: str) -> CountPartial:
        given = "1" if self.argument == "*" else self.argument
        return CountPartial(f"CASE WHEN {condition} THEN {given} END")

    @property
    def value(self) -> str:
        return ANY_ROW if self.argument == "*" else f"{self.argument} IS NOT NULL"

    def lift(self, values: pa.Array) -> list[pa.Array]:
        return [pc.fill_null(values, False).cast(pa.int64())]

    @property
    def columns(self) -> tuple[RecordColumn, ...]:
        return (RecordColumn(ADD_INTEGERS),)

    def encode(self, lifted: Sequence[pa.Array]) -> list[Any]:
        return [pc.fill_null(lifted[0], 0).to_numpy(zero_copy_only=False)]


class Count(Aggregate):
    """COUNT: never NULL."""

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (CountPartial(self.argument),)

    def lower(self, columns: Sequence[Any]) -> pa.Array:
        return pa.array(columns[0], pa.int64())


class CountIf(Aggregate):
    """COUNT_IF: how many rows have a condition that holds; never NULL."""

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (count_if(self.argument),)

    def lower(self, columns: Sequence[Any]) -> pa.Array:
        return pa.array(columns[0], pa.int64())


def count_if(condition: str) -> CountPartial:
    """How many rows have a condition that holds."""
    return CountPartial(f"nullif({condition}, false)")


def refuse_other_than_booleans(call: Call, types: Sequence[pa.DataType]) -> None:
    """A PlanError, also where Spark would read strings as booleans."""
    if not pat.is_boolean(types[0]):
        raise PlanError(f"{call}: values of type {types[0]} are not booleans")


def _count_if(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> Aggregate:
    refuse_other_than_booleans(call, types)
    return CountIf(call, types, answer)


FUNCTIONS = {"count": Function(Count), "count_if": Function(_count_if)}

"""COUNT(*), COUNT(x) and COUNT_IF(c): an invertible integer sum of counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.base import ANY_ROW, Aggregate, Partial, RecordColumn
from windrow.aggregates.call import Function
from windrow.aggregates.operations import ADD_INTEGERS

if TYPE_CHECKING:
    from collections.abc import Sequence


class CountPartial(Partial):
    """How many rows have a value; `*` counts every row."""

    @property
    def expressions(self) -> tuple[str, ...]:
        return (f"count({self.argument})",)

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


FUNCTIONS = {"count": Function(Count), "count_if": Function(CountIf)}

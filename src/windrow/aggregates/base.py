"""What an aggregate is: partials that Spark lifts and Windrow combines, and a way to lower them.

An aggregate's life, with the shape of the data after each step:

1. *lift*, in the JVM: `Partial.expressions` are grouped by slice and key; one row a slice and key.
2. *encode*, in Python: `Partial.encode` turns the collected Arrow columns into record columns.
3. *combine* (and *inverse*), compiled: the record columns merge by their `Operation`; one record a window.
4. *lower*: `Aggregate.lower` turns the records of the windows into the SQL answer.

Windows of rows have to know the order of rows before anything is grouped: there Spark collects
`Partial.value` of each row, and *lift* is `Partial.lift`, in Python; what follows is the same. So it is
for functions of the user's own, over any window, because Spark cannot lift them (see `own/`).

Two aggregates that name the same partial share it: AVG(x) costs nothing beside SUM(x) and COUNT(x).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self

from windrow.columns import HOLDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pyarrow as pa

    from windrow.aggregates.call import Call
    from windrow.aggregates.operations import Operation

    Column = np.ndarray[Any, Any]


class Packing(Protocol):
    """How a record column of Python objects is written down."""

    @property
    def types(self) -> tuple[type, ...]:
        """The types that objects may be of, beside plain ones: all that a pickle of them may make."""

    def pack(self, objects: Column) -> pa.Array:
        """The objects as Arrow values; None is NULL."""

    def unpack(self, packed: pa.Array) -> Column:
        """The objects again, in an array of objects."""


@dataclass(frozen=True)
class RecordColumn:
    """One column of a record: how it merges, and what it holds where that is not plain numbers.

    A *ranked* column orders values of a type that does not fit in 64 bits (strings, decimals): the state
    holds each value's rank among the live ones. `descending` turns GREATEST into least by flipping bits.
    A column with a `packing` holds Python objects.
    """

    operation: Operation
    ranked: pa.DataType | None = None
    descending: bool = False
    packing: Packing | None = field(default=None, compare=False)
    bytes: int = field(default=8, compare=False)
    """About how much memory a value takes."""


ANY_ROW = "true"
"""The value of a partial to which every row gives the same."""


@dataclass(frozen=True)
class Partial(ABC):
    """A mergeable piece of one or more aggregates. Partials are equal when they can be shared."""

    lifted_in_python: ClassVar[bool] = False
    """Whether Spark cannot lift it, and collects the `value` of every row instead; `expressions` are then
    only names."""

    argument: str
    """The aggregated expression, as Spark SQL."""

    @property
    @abstractmethod
    def expressions(self) -> tuple[str, ...]:
        """Spark SQL aggregates that lift rows in the JVM."""

    @property
    def value(self) -> str:
        """Spark SQL for what a single row has to give."""
        return self.argument

    @property
    def aggregated_by(self) -> Literal["hashing", "sorting", "objects"]:
        """How Spark groups it: hashing takes buffers of fixed size. One partial that is not hashed makes
        Spark sort rows, or keep objects, for all others of its SELECT too."""
        return "hashing"

    def of_rows(self, condition: str) -> Self:
        """The partial of the rows that meet a condition, Spark SQL; the values of others are not looked at.

        FILTER is no protection: Spark computes an argument that two aggregates share before it asks.
        """
        return replace(self, argument=f"CASE WHEN {condition} THEN {self.argument} END")

    @abstractmethod
    def lift(self, values: pa.Array) -> list[pa.Array]:
        """What `expressions` would give for groups of one row each, from the rows' `value`s.

        A row that has nothing to give is NULL, and lifts to what no rows at all would.
        """

    @property
    @abstractmethod
    def columns(self) -> tuple[RecordColumn, ...]:
        """The record columns that `encode` returns."""

    @property
    def operation(self) -> Operation:
        """The one that does the work; columns before the last may only say whether there was a value."""
        return self.columns[-1].operation

    @abstractmethod
    def encode(self, lifted: Sequence[pa.Array]) -> list[Column | pa.Array]:
        """Record columns from lifted ones. A ranked column stays an Arrow array of values."""

    @property
    def written(self) -> str:
        """What it is, for people."""
        return ", ".join(self.expressions)

    def __str__(self) -> str:
        # The name of its columns at rest.
        return ", ".join(self.expressions)


def value_name(partial: Partial) -> str:
    """The column of what a row gives to a partial, where rows are collected; some partials share one."""
    return HOLDS if partial.value == ANY_ROW else f"value of {partial.value}"


@dataclass(frozen=True)
class Aggregate(ABC):
    """One aggregate call of a query, such as AVG(dep_delay)."""

    call: Call
    argument_types: tuple[pa.DataType, ...] = field(compare=False)
    result_type: pa.DataType = field(compare=False)

    @property
    def function(self) -> str:
        """Its name, in lower case."""
        return self.call.function

    @property
    def argument(self) -> str:
        """What it aggregates, as Spark SQL: NULL for rows that FILTER leaves out."""
        return self.call.argument

    @property
    def argument_type(self) -> pa.DataType:
        """The type of the first argument."""
        return self.argument_types[0]

    @property
    @abstractmethod
    def partials(self) -> tuple[Partial, ...]:
        """What it is made from, in the order in which `lower` takes their record columns."""

    @abstractmethod
    def lower(self, columns: Sequence[Column | pa.Array]) -> pa.Array:
        """The answers, one a window, from the concatenated record columns of `partials`."""

    def __str__(self) -> str:
        return str(self.call)

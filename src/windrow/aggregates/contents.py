"""The values of a window themselves, for the aggregates that no record of fixed size can hold.

A slice and key then has as many entries as it has values. There are two kinds: every different value
with its count (for DISTINCT, medians, the commonest), and every value in stream order (for lists).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as pat

from windrow.aggregates.base import Aggregate, Partial
from windrow.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from windrow.aggregates.call import Call
    from windrow.aggregates.questions import Question

    Codes = np.ndarray[Any, Any]
    Decode = Callable[[Codes], pa.Array]


@dataclass(frozen=True)
class Counts:
    """Every different value and how often it occurs; NULL is no value."""

    argument: str
    of_type: pa.DataType = field(compare=False)
    kept: int | None = None
    """Of a slice that is complete, only so many values with the greatest counts are kept."""

    @property
    def value_name(self) -> str:
        """The collected column of the values."""
        return f"each {self.argument}"

    @property
    def count_name(self) -> str:
        """The collected column of their counts."""
        return f"count of each {self.argument}"

    def __str__(self) -> str:
        top = "" if self.kept is None else f", the {self.kept} commonest of a slice"
        return f"the counts of each {self.argument}{top}"


@dataclass(frozen=True)
class InOrder:
    """Every value, in stream order; NULL is no value."""

    argument: str
    of_type: pa.DataType = field(compare=False)

    @property
    def value_name(self) -> str:
        """The collected column of the values."""
        return f"every {self.argument}"

    @property
    def instant_name(self) -> str:
        """The collected column that orders them."""
        return f"instant of every {self.argument}"

    def __str__(self) -> str:
        return f"every {self.argument} in order"


Contents = Counts | InOrder


@dataclass(frozen=True)
class OfCounts(Aggregate):
    """An aggregate that is answered from the counts of values."""

    @property
    def partials(self) -> tuple[Partial, ...]:
        return ()

    def lower(self, columns: Sequence[Any]) -> pa.Array:
        *found, values = columns  # in place of record columns: what was found, and how codes are decoded
        return self.lower_counts(found, values)

    @property
    def contents(self) -> Counts:
        """The counts that it needs."""
        return Counts(self.argument, self.argument_type)

    @property
    @abstractmethod
    def questions(self) -> tuple[Question, ...]:
        """What it asks of the counts."""

    @abstractmethod
    def lower_counts(self, found: Sequence[Any], values: Decode) -> pa.Array:
        """The answers, one a window, from what was found for each question; `values` decodes codes."""

    def weights(self, values: pa.Array) -> Codes | None:
        """For `DistinctTotals`: a row of integers for each value."""
        return None


@dataclass(frozen=True)
class OfOrder(Aggregate):
    """An aggregate that is answered from the values in stream order."""

    @property
    def partials(self) -> tuple[Partial, ...]:
        return ()

    def lower(self, columns: Sequence[Any]) -> pa.Array:
        (lists,) = columns  # in place of record columns
        return self.lower_lists(lists)

    @property
    def contents(self) -> InOrder:
        """The values that it needs."""
        return InOrder(self.argument, self.argument_type)

    @abstractmethod
    def lower_lists(self, lists: pa.Array) -> pa.Array:
        """The answers, from a list of values a window."""


def contents_of(aggregate: Aggregate) -> Contents | None:
    """The values that an aggregate needs; None if records are enough."""
    return aggregate.contents if isinstance(aggregate, OfCounts | OfOrder) else None


def refuse_unhashable(call: Call, of_type: pa.DataType) -> None:
    """Raise a PlanError for values that cannot be told apart by a hash, or ordered."""
    if pat.is_nested(of_type) or pat.is_interval(of_type) or pat.is_null(of_type):
        raise PlanError(f"{call}: values of type {of_type} cannot be counted one by one")

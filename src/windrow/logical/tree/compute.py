"""Expressions over rows, and a condition that they have to meet: where they are over several streams, or over
answers, so that no pass over one stream can compute them.

Spark computes them over a batch of the edge, so that they mean what they mean there; columns that are only
renamed, or left out, cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from windrow.columns import quoted
from windrow.logical.tree.node import Column, OfOne, readable

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Compute(OfOne):
    """Rows with other columns, each of which ends when the row does that it is of."""

    items: tuple[tuple[Column, str], ...]
    """The columns, and Spark SQL for each over those of the input."""
    where: str | None = None
    """The condition, Spark SQL over the columns of the input."""

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(column for column, _ in self.items)

    @cached_property
    def renamed(self) -> dict[str, str]:
        """The columns that are columns of the input as they are: the name of each there, by its name here."""
        known = {quoted(column.name): column.name for column in self.of.columns}
        return {column.name: known[sql] for column, sql in self.items if sql in known}

    @property
    def needs_spark(self) -> bool:
        """Whether there is anything to compute."""
        return self.where is not None or len(self.renamed) < len(self.items)

    def __str__(self) -> str:
        items = (
            readable(sql) if readable(sql) == column.name else f"{readable(sql)} AS {column.name}"
            for column, sql in self.items
        )
        condition = "" if self.where is None else f" where {readable(self.where)}"
        return f"{'compute' if self.needs_spark else 'take'} {', '.join(items)}{condition}"

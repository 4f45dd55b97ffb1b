"""What every node of a query's tree says: its columns, where its rows come from, and how they end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from windrow.logical.patterns import UpdatePattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa


@dataclass(frozen=True)
class Column:
    """A column on an edge. No other column of the same edge has its name."""

    name: str
    type: pa.DataType = field(compare=False)


@dataclass(frozen=True)
class Node(ABC):
    """An operator of a query, as it is meant."""

    @property
    @abstractmethod
    def inputs(self) -> tuple[Node, ...]:
        """Where its rows come from; nowhere else, if it is a leaf."""

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """The columns of its rows, in order."""

    @property
    @abstractmethod
    def pattern(self) -> UpdatePattern:
        """How its rows come to an end inside the plan, where every window counts, INTERNAL or not."""

    @property
    @abstractmethod
    def ends(self) -> UpdatePattern:
        """How its rows come to an end for the user, to whom INTERNAL windows do not count."""

    @property
    def range(self) -> int | None:
        """How long each of its rows lives, in microseconds, if all of them live equally long; None if they do
        not, or for ever."""
        return None

    @abstractmethod
    def __str__(self) -> str:
        """What it does, for people, without what its inputs do."""

    @cached_property
    def types(self) -> dict[str, pa.DataType]:
        """The types of its columns, by name."""
        return {column.name: column.type for column in self.columns}

    def walk(self) -> Iterator[Node]:
        """It and all below it, inputs before those who read them."""
        for below in self.inputs:
            yield from below.walk()
        yield self


@dataclass(frozen=True)
class OfOne(Node):
    """An operator with one input. Unless it says otherwise, its rows have the columns of the input's, and
    come and end with them."""

    of: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.of,)

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.of.columns

    @property
    def pattern(self) -> UpdatePattern:
        return self.of.pattern

    @property
    def ends(self) -> UpdatePattern:
        return self.of.ends

    @property
    def range(self) -> int | None:
        return self.of.range


def readable(sql: str) -> str:
    """An expression over columns as a person would write it."""
    return sql.replace("`", "")

"""Rows with a number each, by which equal ones can be told apart: EXISTS with conditions needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.logical.tree.node import Column, Node

if TYPE_CHECKING:
    from windrow.logical.patterns import UpdatePattern


@dataclass(frozen=True)
class Number(Node):
    """No two rows that live at the same time have the same number; nobody may see which it is."""

    of: Node
    name: str
    """The column of the numbers."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.of,)

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.of.columns, Column(self.name, pa.int64()))

    @property
    def pattern(self) -> UpdatePattern:
        return self.of.pattern

    @property
    def ends(self) -> UpdatePattern:
        return self.of.ends

    @property
    def range(self) -> int | None:
        return self.of.range

    def __str__(self) -> str:
        return "number the rows"

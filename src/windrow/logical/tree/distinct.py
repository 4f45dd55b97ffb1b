"""Every different row once, as long as there is one like it: δ* of Golab 2006, §3.5.2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.logical.patterns import UpdatePattern
from windrow.logical.tree.node import Node

if TYPE_CHECKING:
    from windrow.logical.tree.node import Column


@dataclass(frozen=True)
class Distinct(Node):
    """Of rows with the same values one stands for all; where it ends, that which ends last takes its
    place."""

    of: Node
    by: tuple[str, ...] | None = None
    """The columns that tell rows apart, where the others follow from them; None: all."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.of,)

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.of.columns

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that tell rows apart."""
        return tuple(column.name for column in self.columns) if self.by is None else self.by

    @property
    def pattern(self) -> UpdatePattern:
        of = self.of.pattern
        return UpdatePattern.MONOTONIC if of is UpdatePattern.MONOTONIC else UpdatePattern.WEAK

    @property
    def ends(self) -> UpdatePattern:
        return self.pattern  # INTERNAL windows are refused below it

    def __str__(self) -> str:
        return f"distinct {', '.join(self.names)}"

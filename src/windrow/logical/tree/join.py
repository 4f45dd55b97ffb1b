"""Pairs of rows that are there at the same time, with equal keys, and for which a condition holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.logical.patterns import UpdatePattern
from windrow.logical.tree.node import Node, readable

if TYPE_CHECKING:
    from windrow.logical.tree.node import Column


@dataclass(frozen=True)
class Join(Node):
    """A pair comes with the later of its rows and ends with the first that does."""

    left: Node
    right: Node
    keys: tuple[tuple[str, str], ...]
    """Pairs of columns that must be equal, one of the left and one of the right, which have the same type;
    none: every row meets every other."""
    kept: tuple[str, ...]
    """The columns of the pairs that somebody wants, of either side: no two columns of the sides have one
    name."""
    condition: str | None = None
    """What must hold of a pair beside that, Spark SQL over the columns of both."""
    nulls_equal: bool = False
    """Whether a NULL in a key equals a NULL; otherwise it equals nothing."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.left, self.right

    @property
    def columns(self) -> tuple[Column, ...]:
        wanted = set(self.kept)
        return tuple(column for side in self.inputs for column in side.columns if column.name in wanted)

    @property
    def pattern(self) -> UpdatePattern:
        both = {side.pattern for side in self.inputs}
        return UpdatePattern.MONOTONIC if both == {UpdatePattern.MONOTONIC} else UpdatePattern.WEAK

    @property
    def ends(self) -> UpdatePattern:
        both = {side.ends for side in self.inputs}
        return UpdatePattern.MONOTONIC if both == {UpdatePattern.MONOTONIC} else UpdatePattern.WEAK

    def __str__(self) -> str:
        equal = " <=> " if self.nulls_equal else " = "
        conditions = [f"{left}{equal}{right}" for left, right in self.keys]
        conditions += [] if self.condition is None else [readable(self.condition)]
        return f"join on {' AND '.join(conditions)}" if conditions else "join each with each"

"""The rows of several inputs, with duplicates: UNION ALL. With a `Distinct` above it, UNION."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.logical.patterns import UpdatePattern
from windrow.logical.tree.node import Node

if TYPE_CHECKING:
    from windrow.logical.tree.node import Column


@dataclass(frozen=True)
class Union(Node):
    """The inputs have columns with the same names and types, in the same order."""

    all_of: tuple[Node, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.all_of

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.all_of[0].columns

    @property
    def range(self) -> int | None:
        ranges = {one.range for one in self.all_of}
        return ranges.pop() if len(ranges) == 1 else None

    @property
    def pattern(self) -> UpdatePattern:
        return self._pattern({one.pattern for one in self.all_of})

    @property
    def ends(self) -> UpdatePattern:
        return self._pattern({one.ends for one in self.all_of})

    def _pattern(self, patterns: set[UpdatePattern]) -> UpdatePattern:
        """Rows end in the order in which they come only if all live equally long."""
        if len(patterns) == 1 and (UpdatePattern.WEAKEST not in patterns or self.range is not None):
            return patterns.pop()
        return UpdatePattern.STRICT if UpdatePattern.STRICT in patterns else UpdatePattern.WEAK

    def __str__(self) -> str:
        return "union"

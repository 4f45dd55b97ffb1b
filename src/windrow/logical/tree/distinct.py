"""Every different row once, as long as there is one like it: δ* of Golab 2006, §3.5.2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.logical.patterns import UpdatePattern
from windrow.logical.tree.node import OfOne

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Distinct(OfOne):
    """Of rows with the same values one stands for all; where it ends, that which ends last takes its
    place."""

    by: tuple[str, ...] | None = None
    """The columns that tell rows apart, where the others follow from them; None: all."""

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

    @property
    def range(self) -> int | None:
        return None  # a row ends when the one that stands for it does

    def __str__(self) -> str:
        return f"distinct {', '.join(self.names)}"

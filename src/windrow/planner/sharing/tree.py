"""A tree: windows that are answered from the same slices, and what that takes, before prices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from windrow.planner.sharing.window_set import WindowSet

if TYPE_CHECKING:
    from windrow.planner.sharing.combs import Combs
    from windrow.planner.sharing.final_work import FinalWork
    from windrow.slicing import Cuts


@dataclass(frozen=True, eq=False)
class Tree:
    """Windows that share their slices: the composite of all their cuts."""

    parts: tuple[WindowSet, ...]
    combs: Combs
    edges: float
    """A second."""
    exact: bool
    """Whether the edges were counted, not estimated."""
    cut: float
    """Cuts a second that a pass over the rows makes for it alone."""
    work: FinalWork
    """Final operations of one group."""
    growth: FinalWork
    """How much more they would be with twice the edges."""
    fired: float
    """Answers a second of one group, over all queries."""

    @cached_property
    def windows(self) -> WindowSet:
        """All of them, each once."""
        return WindowSet.union(self.parts, disjoint=False)

    @property
    def cuts(self) -> Cuts:
        return self.combs.cuts

    @property
    def operations(self) -> float:
        """Final operations a second of one group."""
        return self.work.a_second(self.edges)

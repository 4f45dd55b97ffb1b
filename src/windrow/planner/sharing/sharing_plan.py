"""A sharing plan: a class's windows in trees, with what passes over the rows, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from windrow.planner.sharing.combs import Combs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.planner.sharing.cost import CostModel
    from windrow.planner.sharing.tree import Tree


@dataclass(frozen=True, eq=False)
class SharingPlan:
    """Every window of a class in exactly one tree."""

    optimizer: str
    trees: tuple[Tree, ...]
    combined: Combs | None
    """The cuts of the one pass that is merged into all trees; None if every tree has a pass of its own."""
    cost: float
    seconds: float
    """How long planning took."""
    in_time: bool
    """Whether it was done by its deadline; if not, more could have been found."""

    @classmethod
    def of(
        cls,
        optimizer: str,
        trees: Sequence[Tree],
        model: CostModel,
        started: float,
        *,
        deadline: float | None = None,
        combined: bool = False,
    ) -> SharingPlan:
        """A plan of trees, begun at an instant of `perf_counter`."""
        done = perf_counter()
        cuts = all_cuts(trees) if combined else None
        in_time = deadline is None or done < deadline
        return cls(optimizer, tuple(trees), cuts, model.of(trees, cuts), done - started, in_time)

    @property
    def exact(self) -> bool:
        """Whether all edges were counted, none estimated."""
        return all(tree.exact for tree in self.trees)

    @property
    def passes(self) -> int:
        """How often a row is taken in."""
        return len(self.trees) if self.combined is None else min(1, len(self.trees))


def all_cuts(trees: Sequence[Tree]) -> Combs:
    """The cuts of all trees together."""
    return Combs.union(tree.combs for tree in trees)

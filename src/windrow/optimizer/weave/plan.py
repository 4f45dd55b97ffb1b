"""A plan: a class's windows in trees, what that costs, and how it takes in or lets go one query.

One query more or less touches one tree, so it takes milliseconds; the rest stays as it was. The plan keeps
a floor: what a full re-weave might bring it down to at best, if the last full plan was the best there was.
A window that came costs at least its own final operations, and one that went would have cost at most what
it costs alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from time import perf_counter
from typing import TYPE_CHECKING

from windrow.errors import PlanError
from windrow.optimizer.weave.combs import Combs
from windrow.optimizer.weave.forest import Forest
from windrow.optimizer.weave.insert import cheapest_place
from windrow.optimizer.weave.window_set import WindowSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.optimizer.weave.cost import CostModel, Price
    from windrow.optimizer.weave.tree import Tree
    from windrow.slicing import Window

WORTH_WEAVING = 0.05
"""The part of a plan's cost that must be at stake for a full re-weave."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Every window of a class in exactly one tree."""

    optimizer: str
    trees: tuple[Tree, ...]
    model: CostModel
    combined: Combs | None
    """The cuts of the one pass whose slices all trees merge; None if every tree has a pass of its own."""
    cost: float
    seconds: float
    """How long planning took."""
    floor: float
    """The least that the cost may become by a full re-weave."""

    @classmethod
    def of(
        cls,
        optimizer: str,
        trees: Sequence[Tree],
        model: CostModel,
        started: float,
        *,
        combined: bool = False,
    ) -> Plan:
        """A full plan of trees, begun at an instant of `perf_counter`."""
        cuts = all_cuts(trees) if combined else None
        cost = model.of(trees, cuts)
        return cls(optimizer, tuple(trees), model, cuts, cost, perf_counter() - started, cost)

    @property
    def exact(self) -> bool:
        """Whether all edges were counted, none estimated."""
        combined = self.combined is None or self.model.edge_rates.a_second(self.combined)[1]
        return combined and all(tree.exact for tree in self.trees)

    @property
    def price(self) -> Price:
        """What a tree costs in it."""
        if self.combined is None:
            return self.model.separate()
        return self.model.combined(self.model.edge_rates.a_second(self.combined)[0])

    @property
    def passes(self) -> int:
        """How often a row is taken in."""
        return len(self.trees) if self.combined is None else min(1, len(self.trees))

    def tree_costs(self) -> list[float]:
        """What each tree costs; a combined pass is in none of them."""
        price = self.price
        return [price.of(tree) for tree in self.trees]

    @property
    def reweave_pays(self) -> bool:
        """Whether so much is at stake that planning anew, in the background, is worth it."""
        return self.cost - self.floor > WORTH_WEAVING * self.cost

    # one query more or less

    def with_window(self, window: Window) -> Plan:
        """With one query more: in the tree that has its window, or where it raises the cost least."""
        started = perf_counter()
        trees = list(self.trees)
        place = self._place(window)
        alone = self.model.tree([window])
        combined = self.combined if self.combined is None else self.combined.joined(alone.combs)
        if place is not None:
            trees[place : place + 1] = self._with_queries(trees[place], window, +1)
            least = 0.0
        else:
            changed = replace(self, combined=combined)
            place, woven = changed._put(alone)
            trees[place : place + 1] = [woven]
            work = alone.work
            least = self.model.separate().operation * (work.each * alone.edges + work.answers)
        least += self.model.separate().answer * alone.fired
        return self._changed(trees, combined, self.floor + least, started)

    def without(self, window: Window) -> Plan:
        """With one query less. A window that nobody asks for any more leaves its tree."""
        started = perf_counter()
        place = self._place(window)
        if place is None:
            raise PlanError(f"no query of this plan asks for RANGE {window.range} SLIDE {window.slide}")
        trees = list(self.trees)
        trees[place : place + 1] = self._with_queries(trees[place], window, -1)
        combined = all_cuts(trees) if self.combined is not None and trees else None
        alone = self.model.tree([window])
        if combined is None:
            most = self.model.of([alone])
        else:
            most = self.model.of([*trees, alone], combined.joined(alone.combs)) - self.model.of(
                trees, combined
            )
        return self._changed(trees, combined, max(0.0, self.floor - most), started)

    def _place(self, window: Window) -> int | None:
        sought = (window.range, window.slide, window.offset)
        for at, tree in enumerate(self.trees):
            if (tree.windows.rows == sought).all(axis=1).any():
                return at
        return None

    def _with_queries(self, tree: Tree, window: Window, more: int) -> list[Tree]:
        """The tree with more queries of a window, or fewer; nothing if none are left."""
        asked = tree.windows
        here = (asked.rows == (window.range, window.slide, window.offset)).all(axis=1)
        queries = asked.queries + more * here
        kept = queries > 0
        return [self.model.tree(WindowSet(asked.rows[kept], queries[kept]))] if kept.any() else []

    def _put(self, alone: Tree) -> tuple[int, Tree]:
        """Where a new tree goes, and what stands there then."""
        if self.optimizer == "no_share" or not self.trees:
            return len(self.trees), alone
        if self.optimizer == "max_share":
            return 0, self.model.woven(self.trees[0], alone)
        place, woven = cheapest_place(Forest(self.trees, self.price), alone, self.model)
        return (len(self.trees) if place is None else place), woven

    def _changed(self, trees: list[Tree], combined: Combs | None, floor: float, started: float) -> Plan:
        cost = self.model.of(trees, combined)
        return replace(
            self,
            trees=tuple(trees),
            combined=combined,
            cost=cost,
            floor=min(floor, cost),
            seconds=perf_counter() - started,
        )


def all_cuts(trees: Sequence[Tree]) -> Combs:
    """The cuts of all trees together."""
    return reduce(Combs.joined, (tree.combs for tree in trees))

"""Weave trees pairwise: always the two that save most, until no two save anything.

Every pair has an estimate of its saving (`forest.py`), made of how many edges the two would have
together. The best estimate is replaced by the exact saving, and if it is still the best, the two are
woven; estimates of the new tree follow from those of its halves. So edges are counted for a few pairs a
step, not for all. `full_pairwise.py` does count them for all; the two agree in cost to within a percent.

Time: a step is linear in the trees, and counts the edges of a few pairs. Space: two numbers a pair.
Source: Shein 2019, §2.4.2 (WeaveShare); the estimates are ours.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.optimizer.weave.forest import Forest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from windrow.optimizer.weave.cost import CostModel, Price
    from windrow.optimizer.weave.tree import Tree

    Array = np.ndarray[Any, Any]


class Greedy:
    """The trees that are left, and for every pair of them the edges together and the saving."""

    def __init__(
        self, trees: Iterable[Tree], cost: CostModel, price: Price, *, disjoint: bool = True
    ) -> None:
        self.cost = cost
        self.price = price
        self.disjoint = disjoint
        self.forest = Forest(trees, price)
        self.left = np.ones(len(self.forest.trees), bool)
        self.joint = np.stack([self.forest.joint_edges(tree) for tree in self.forest.trees])
        np.maximum(self.joint, self.joint.T, out=self.joint)
        self.savings = np.stack([self._estimate(at) for at in range(len(self.left))])
        np.fill_diagonal(self.savings, -np.inf)
        self.counted = np.zeros(self.savings.shape, bool)
        self.partner = self.savings.argmax(axis=1)
        self.best = self.savings[np.arange(len(self.left)), self.partner]

    @property
    def trees(self) -> list[Tree]:
        return [tree for tree, left in zip(self.forest.trees, self.left) if left]

    def weave(self, *, fewest: int = 1, forced: bool = False, deadline: float | None = None) -> list[Tree]:
        """Weave until nothing saves, or so few trees are left; `forced`: until so few are left."""
        left = int(self.left.sum())
        while left > fewest and (deadline is None or perf_counter() < deadline):
            one = int(self.best.argmax())
            other = int(self.partner[one])
            if self.best[one] <= 0 and not forced:
                break
            if self.counted[one, other]:
                self._weave(one, other)
                left -= 1
            else:
                self._count(one, other)
        return self.trees

    def _estimate(self, at: int) -> Array:
        """The savings by weaving a tree with each other."""
        costs = self.forest.costs
        together = self.forest.joint_costs(slice(None), self.forest.trees[at], self.joint[at])
        return costs[at] + costs - together

    def _count(self, one: int, other: int) -> None:
        """Replace an estimate by what is so."""
        trees = self.forest.trees
        woven = self.cost.woven(trees[one], trees[other], disjoint=self.disjoint)
        apart = self.price.of(trees[one]) + self.price.of(trees[other])
        self.counted[one, other] = self.counted[other, one] = True
        self.joint[one, other] = self.joint[other, one] = woven.edges
        self.savings[one, other] = self.savings[other, one] = apart - self.price.of(woven)
        self._find_partners(np.array([one, other]))

    def _weave(self, one: int, other: int) -> None:
        """The first becomes both, the second leaves."""
        edges = self.forest.edges.copy()
        woven = self.cost.woven(self.forest.trees[one], self.forest.trees[other], disjoint=self.disjoint)
        with np.errstate(invalid="ignore", divide="ignore"):
            lacked = (self.joint[one] - edges[one]) * (self.joint[other] - edges[other]) / edges
        self.forest.replace(one, woven)
        bounds = np.maximum(self.joint[one], self.joint[other])
        self.joint[one] = self.joint[:, one] = np.maximum(woven.edges + lacked, bounds)
        self.left[other] = False
        fresh = np.where(self.left, self._estimate(one), -np.inf)
        fresh[one] = -np.inf
        self.savings[one] = self.savings[:, one] = fresh
        self.savings[other] = self.savings[:, other] = -np.inf
        self.counted[one] = self.counted[:, one] = False
        better = self.left & (fresh > self.best)
        self.partner[better], self.best[better] = one, fresh[better]
        lost = ((self.partner == one) | (self.partner == other)) & ~better
        lost[[one, other]] = True
        self._find_partners(np.flatnonzero(lost))

    def _find_partners(self, rows: Array) -> None:
        self.partner[rows] = self.savings[rows].argmax(axis=1)
        self.best[rows] = self.savings[rows, self.partner[rows]]

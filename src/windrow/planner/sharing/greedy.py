"""Weave trees pairwise: always the two that save most, until no two save anything.

Every pair has an estimate of its saving (`forest.py`), made of how many edges the two would have
together. The best estimate is replaced by the exact saving, and if it is still the best, the two are
woven; estimates of the new tree follow from those of its halves. So edges are counted for a few pairs a
step, not for all. Where estimates are poor, the best of some counted pairs is taken. `full_pairwise.py` does
count them all; the two agree in cost to within a percent.

Time: a step is linear in the trees, and counts the edges of a few pairs. Space: two numbers a pair.
Source: Shein 2019, §2.4.2 (WeaveShare); the estimates are ours.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.planner.sharing.forest import Forest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from windrow.planner.sharing.cost import CostModel, TreePrice
    from windrow.planner.sharing.tree import Tree

    Array = np.ndarray[Any, Any]


PATIENCE = 32
"""How many pairs are counted in a step before the best of them is taken, if it saves anything."""


class Greedy:
    """The trees that are left, and for every pair of them the edges together and the saving."""

    def __init__(
        self, trees: Iterable[Tree], cost: CostModel, price: TreePrice, *, disjoint: bool = True
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
        tries = 0
        candidate = (0.0, -1, -1)
        while left > fewest and (deadline is None or perf_counter() < deadline):
            one = int(self.best.argmax())
            other = int(self.partner[one])
            if not forced and (self.best[one] <= 0 or tries > PATIENCE * left):
                break
            if not self.counted[one, other]:
                candidate = max(candidate, (self._count(one, other), one, other))
                tries += 1
                if tries < PATIENCE or candidate[0] <= 0:
                    continue
                _, one, other = candidate
            self._weave(one, other)
            left -= 1
            tries, candidate = 0, (0.0, -1, -1)
        return self.trees

    def _estimate(self, at: int) -> Array:
        """The savings by weaving a tree with each other."""
        costs = self.forest.costs
        together = self.forest.joint_costs(self.forest.trees[at], self.joint[at])
        return costs[at] + costs - together

    def _count(self, one: int, other: int) -> float:
        """Replace an estimate by what is so: the saving by weaving the two."""
        trees = self.forest.trees
        woven = self.cost.woven(trees[one], trees[other], disjoint=self.disjoint)
        apart = self.price.of(trees[one]) + self.price.of(trees[other])
        self.counted[one, other] = self.counted[other, one] = True
        self.joint[one, other] = self.joint[other, one] = woven.edges
        self.savings[one, other] = self.savings[other, one] = apart - self.price.of(woven)
        self._find_partners(np.array([one, other]))
        return float(self.savings[one, other])

    def _weave(self, one: int, other: int) -> None:
        """The first becomes both, the second leaves."""
        edges = self.forest.edges.copy()
        free = [np.clip((self.joint[half] - edges[half]) / edges, 0.0, 1.0) for half in (one, other)]
        known = np.maximum(self.joint[one], self.joint[other])
        woven = self.cost.woven(self.forest.trees[one], self.forest.trees[other], disjoint=self.disjoint)
        self.forest.replace(one, woven)
        joint = np.maximum(woven.edges + self.forest.lacked(*free) * edges, known)
        self.joint[one] = self.joint[:, one] = np.minimum(joint, woven.edges + edges)
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

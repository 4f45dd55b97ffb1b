"""Trees side by side as arrays, to estimate for all of them at once what one more would cost or bring.

How many of a tree's edges another lacks is estimated comb by comb, as if the combs of a tree lay
independently of each other on it. They do where periods share no factors; where they share some, combs
that all pass through one instant meet more often than that (Behrend's inequality: of the multiples of a
number, those that miss two sets of divisors are at least the product of those that miss each). So the
edges of two trees together are never estimated too high, and the saving by weaving them never too low. Combs
that pass through different instants may miss each other altogether; then what they cover is added up.

Time: a greatest common divisor for each pair of combs. Space: a few numbers for each comb.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.planner.sharing.final_work import MICROSECONDS
from windrow.slicing.granules import MOST_COMBS, MOST_GRANULES_PER_SLICE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from windrow.planner.sharing.cost import TreePrice
    from windrow.planner.sharing.tree import Tree

    Array = np.ndarray[Any, Any]

LOST = 0
"""The owner of combs of trees that were replaced; trees are numbered from 1 among the owners."""


class Forest:
    """A growing list of trees."""

    def __init__(self, trees: Iterable[Tree], price: TreePrice) -> None:
        self.price = price
        self.trees: list[Tree] = list(trees)
        room = 2 * len(self.trees) + 16
        self._numbers = np.zeros((10, room))
        self._granules = np.zeros((3, room), np.int64)
        for at, tree in enumerate(self.trees):
            self._note(at, tree)
        self._gather()
        self.in_phase = not self._phases[: self._combs].any()
        """Whether all combs pass through the one instant that most windows do."""

    # arrays, one number a tree

    @property
    def edges(self) -> Array:
        return self._numbers[0, : len(self.trees)]

    @property
    def costs(self) -> Array:
        return self._numbers[1, : len(self.trees)]

    def joint_costs(self, tree: Tree, edges: Array) -> Array:
        """What each tree would cost together with another, if the two had so many edges."""
        own_edges, _, *numbers = self._numbers[:, : len(self.trees)]
        doublings = np.log2(edges / own_edges)
        each, once, answers, kinds = (
            work + growth * doublings for work, growth in zip(numbers[:4], numbers[4:], strict=True)
        )
        more_doublings = np.log2(edges / tree.edges)
        more_each, more_once, more_answers, more_kinds = (
            work + growth * more_doublings for work, growth in zip(tree.work, tree.growth, strict=True)
        )
        kinds = np.maximum(np.maximum(kinds, more_kinds), 1.0)
        per_edge = each + more_each + once + more_once - once * more_once / kinds
        operations = edges * per_edge + answers + more_answers
        collecting = self.price.collecting(self._joint_cut(tree, edges))
        return self.price.tree + collecting + self.price.operation * operations

    def _joint_cut(self, tree: Tree, edges: Array) -> Array:
        """How often a pass would cut for each tree together with another, if they had so many edges."""
        granules, phases, combs = self._granules[:, : len(self.trees)]
        joint = np.gcd(np.gcd(granules, tree.combs.granule), phases - tree.combs.phases[0])
        regularly = MICROSECONDS / joint
        few = combs + len(tree.combs) <= MOST_COMBS
        return np.where(few & (regularly > float(MOST_GRANULES_PER_SLICE) * edges), edges, regularly)

    # changes

    def append(self, tree: Tree) -> None:
        if len(self.trees) == self._numbers.shape[1]:
            self._numbers = np.concatenate([self._numbers, np.zeros_like(self._numbers)], axis=1)
            self._granules = np.concatenate([self._granules, np.zeros_like(self._granules)], axis=1)
        self.trees.append(tree)
        self._note(len(self.trees) - 1, tree)
        self._add_combs(len(self.trees) - 1, tree)

    def replace(self, at: int, tree: Tree) -> None:
        before, self.trees[at] = self.trees[at], tree
        self._note(at, tree)
        if tree.combs != before.combs:
            self._owners[: self._combs][self._owners[: self._combs] == at + 1] = LOST
            self._lost += len(before.combs)
            self._add_combs(at, tree)

    def _note(self, at: int, tree: Tree) -> None:
        without_answers = self.price.of(tree) - self.price.answer * tree.fired
        self._numbers[:, at] = tree.edges, without_answers, *tree.work, *tree.growth
        self._granules[:, at] = tree.combs.granule, tree.combs.phases[0], len(tree.combs)

    def _add_combs(self, at: int, tree: Tree) -> None:
        added = len(tree.combs)
        if self._combs + added > len(self._owners) or self._lost > self._combs // 2:
            self._gather()
            return
        here = slice(self._combs, self._combs + added)
        self._periods[here], self._phases[here], self._owners[here] = (
            tree.combs.periods,
            tree.combs.phases,
            at + 1,
        )
        self._combs += added
        self.in_phase = self.in_phase and not tree.combs.phases.any()

    def _gather(self) -> None:
        sizes = [len(tree.combs) for tree in self.trees]
        self._combs, self._lost = sum(sizes), 0
        spare = np.ones(self._combs + 64, np.int64)
        self._periods = np.concatenate([*(tree.combs.periods for tree in self.trees), spare])
        self._phases = np.concatenate([*(tree.combs.phases for tree in self.trees), spare])
        self._owners = np.concatenate([np.repeat(np.arange(1, len(sizes) + 1), sizes), 0 * spare])

    # estimates

    def joint_edges(self, tree: Tree) -> Array:
        """How many edges a second each tree would have with another, estimated."""
        periods, phases = self._periods[: self._combs], self._phases[: self._combs]
        owners = self._owners[: self._combs]
        missing = np.zeros(len(self.trees))
        with np.errstate(divide="ignore"):
            for period, phase in zip(tree.combs.periods.tolist(), tree.combs.phases.tolist()):
                common = np.gcd(periods, period)
                meets = np.where((phases - phase) % common == 0, common / periods, 0.0)
                if self.in_phase:
                    free = np.exp(np.bincount(owners, np.log1p(-meets), len(self.trees) + 1)[1:])
                else:
                    free = np.maximum(0.0, 1.0 - np.bincount(owners, meets, len(self.trees) + 1)[1:])
                missing += free / period
        lacked = tree.edges * missing / (1.0 / tree.combs.periods).sum()
        return np.maximum(self.edges + lacked, tree.edges)

    def lacked(self, one: Array, other: Array) -> Array:
        """The part of edges that two trees together lack, from the parts that each of them lacks."""
        return one * other if self.in_phase else np.maximum(0.0, one + other - 1.0)

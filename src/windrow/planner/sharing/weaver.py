"""From the optimizer's plans to running trees: where new queries of a class go.

New queries go where they raise the cost least: into a tree that has their window, into one that they
weave well with, or into trees of their own. That looks at them alone and takes milliseconds; a class that
has no trees yet is planned whole, within a budget.

Where nobody asked for an optimizer, trees have a pass for each or one for all, whichever costs less.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from windrow.planner.sharing.constants import SECONDS
from windrow.planner.sharing.cost import CostModel
from windrow.planner.sharing.final_work import MICROSECONDS, final_work
from windrow.planner.sharing.forest import Forest
from windrow.planner.sharing.insert import cheapest_place
from windrow.planner.sharing.max_share import max_share
from windrow.planner.sharing.optimizers import OPTIMIZERS
from windrow.planner.sharing.placement import PLACEMENTS
from windrow.planner.sharing.sharing_plan import SharingPlan, all_cuts
from windrow.planner.sharing.spread import busiest, checked_hint, final_model, spread
from windrow.slicing.granules import MOST_GRANULES_PER_SLICE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from windrow.planner.sharing.constants import Constants
    from windrow.planner.sharing.cost import TreePrice
    from windrow.planner.sharing.tree import Tree
    from windrow.planner.sharing.window_set import WindowSet
    from windrow.slicing import Window

PLANNING_SECONDS, ALL_PLANNING_SECONDS = 0.5, 2.0
"""How long an epoch may wait for the plan of a class, and of all that are new."""
ASKED_FOR, MOST_SECONDS = 10, 10.0
"""How many times as long an optimizer may take that was asked for, and how long at most."""
ONE_BY_ONE = 20
"""As many new windows find their tree each alone; more go together."""
RATE, GROUPS = 10_000.0, 100.0
"""Rows a second and groups a slice that are assumed before any were seen."""
WORTH_IT = 0.95
"""The part of its present cost that a class must come down to, for a change of its trees or operators."""
SEPARATE = ("no_share", "weave_share", "insert_then_weave")
"""Optimizers whose trees each have a pass of their own."""


def planning_seconds(classes: int) -> float:
    """How long each of so many classes may be planned.

    >>> planning_seconds(1), planning_seconds(400)
    (0.5, 0.005)
    """
    return min(PLANNING_SECONDS, ALL_PLANNING_SECONDS / max(classes, 1))


@dataclass(frozen=True)
class Weaver:
    """Plans the trees of one class of queries."""

    model: CostModel
    hint: str | None = None
    """The optimizer or placement that was asked for."""
    nodes: int = 1
    """How many processes share the final work."""
    result: float = 0.0
    """What it takes to write a result, which counts where nodes share the work."""

    @classmethod
    def of(
        cls,
        rate: float | None,
        groups: float | None,
        *,
        grouped: bool,
        hint: str | None,
        nodes: int = 1,
        constants: Constants = SECONDS,
    ) -> Weaver:
        """By what was observed, and what is assumed where nothing was."""
        many = (groups or GROUPS) if grouped else 1.0
        planning = replace(constants, result=0.0)  # the same results are written whatever is shared
        model = CostModel(rate=rate or RATE, groups=many, constants=planning)
        return cls(model, hint and checked_hint(hint), nodes, constants.result)

    def plant(self, windows: Iterable[Window], seconds: float = PLANNING_SECONDS) -> list[Tree]:
        """The trees of a class that has none."""
        return list(self.planned(windows, seconds).trees)

    def planned(self, windows: Iterable[Window], seconds: float = PLANNING_SECONDS) -> SharingPlan:
        """The plan of a class that has no trees: of the optimizer that was asked for, or the cheapest that
        is found in time. Where one tree leaves little to save, no other is looked for."""
        asked = Counter(windows)
        if self.hint in PLACEMENTS or (self.nodes > 1 and self.hint is None):
            begun = perf_counter()
            placed = spread(asked, self._final, self.nodes, seconds, self.hint)
            trees = [tree for trees in placed.nodes for tree in trees]
            return SharingPlan.of(placed.optimizer, trees, self.model, begun, combined=True)
        if self.hint is not None:
            allowed = min(ASKED_FOR * seconds, MOST_SECONDS)
            return OPTIMIZERS[self.hint](asked, self.model, deadline=perf_counter() + allowed)
        deadline = perf_counter() + seconds
        best = max_share(asked, self.model)
        for optimizer in OPTIMIZERS.values():
            if not self.may_save(best.trees) or perf_counter() > deadline:
                break
            found = optimizer(asked, self.model, deadline=deadline)
            best = min(best, found, key=lambda plan: self.cost(plan.trees))
        return best

    def may_save(self, trees: Sequence[Tree]) -> bool:
        """Whether other trees could be worth a change: rows must be taken in and answers made in any case."""
        model, price = self.model, self.model.separate()
        answers = sum(price.operation * tree.work.answers + price.answer * tree.fired for tree in trees)
        return model.constants.row * model.rate + answers < WORTH_IT * self.cost(trees)

    def place(self, windows: Sequence[Window], trees: Sequence[Tree]) -> list[tuple[int | None, Tree]]:
        """Where new windows go: for each tree that takes some in, its place and the tree as it is then;
        for each tree of their own, None and that tree."""
        if self.hint == "no_share":
            return [(None, self.model.tree([window])) for window in windows]
        held: list[Tree] = list(trees)
        own: list[Tree] = []
        changed: set[int] = set()
        for some in [[window] for window in windows] if len(windows) <= ONE_BY_ONE else [windows]:
            place, woven = self._cheapest(held, self.model.tree(some))
            if place is None:
                own += self.plant(some) if len(some) > 1 else [woven]
            else:
                held[place] = woven
                changed.add(place)
        return [*((place, held[place]) for place in changed), *((None, tree) for tree in own)]

    def _cheapest(self, held: list[Tree], more: Tree) -> tuple[int | None, Tree]:
        """The tree that more windows raise the cost of least, or None if they are cheaper apart."""
        if self.hint == "max_share" and held:
            return 0, self.model.woven(held[0], more, disjoint=False)
        best: tuple[int | None, Tree] = None, more
        least = float("inf")
        for price in self._prices([*held, more]):
            place, woven = cheapest_place(Forest(held, price), more, self.model, disjoint=False)
            after = [*held, more]
            if place is not None:
                after = [*held[:place], woven, *held[place + 1 :]]
            cost = self.cost(after)
            if cost < least:
                best, least = (place, woven), cost
        return best

    def _prices(self, trees: Sequence[Tree]) -> list[TreePrice]:
        """What trees may cost: with passes of their own, with one for all, or either."""
        combined = self.model.combined(all_cuts(trees))
        if self.hint is None:
            return [self.model.separate(), combined]
        return [self.model.separate() if self.hint in SEPARATE else combined]

    def cost(self, trees: Sequence[Tree]) -> float:
        """Seconds of work a second of stream takes, with the passes that these trees should have; of the
        final work, what the busiest node has to do."""
        combined = len(trees) > 1 and not self.separate(trees)
        cost = self.model.of(trees, all_cuts(trees) if combined else None)
        if self.nodes > 1:
            final = busiest([self.final(tree) for tree in trees], self.nodes)
            cost += final - sum(map(self.finishing, trees))
        return cost

    def final(self, tree: Tree) -> float:
        """What a node that has this tree does for it: seconds a second of stream."""
        return self._final.separate().of(tree)

    @cached_property
    def _final(self) -> CostModel:
        return final_model(self.model, self.result)

    def separate(self, trees: Sequence[Tree]) -> bool:
        """Whether each tree should have a pass over the rows of its own, not one for all."""
        if self.hint is not None or len(trees) < 2:
            return self.hint in SEPARATE
        return self.model.of(trees) < self.model.of(trees, all_cuts(trees))

    def finishing(self, tree: Tree) -> float:
        """What the final aggregation of a tree takes."""
        return self.model.finishing(tree)

    def collecting(self, trees: Sequence[Tree]) -> float:
        """What the partials of one pass for some trees take: each tree merges what is collected."""
        return self.model.collecting(all_cuts(trees), len(trees))

    def alone(self, asked: WindowSet) -> float:
        """What windows would cost if every query had a pass and a tree of its own: the sum of `cost` over
        them, on arrays, since there may be thousands."""
        model, constants = self.model, self.model.constants
        ranges, slides, _ = asked.rows.T
        combs, granules = np.where(ranges % slides == 0, 1.0, 2.0), np.gcd(ranges, slides)
        exactly = slides > float(MOST_GRANULES_PER_SLICE) * combs * granules
        cuts = np.where(exactly, combs / slides, 1.0 / granules) * MICROSECONDS
        edges = combs / slides * MICROSECONDS
        work = final_work(model.final)(asked, asked.queries.astype(np.float64), edges)
        assert not work.each, "windows that are worked on at the edges of others have none of their own here"
        operations = float(np.dot(asked.queries, edges)) * work.once + work.answers
        collected = float(np.dot(asked.queries, model.collected(cuts)))
        rows = model.rate * float(asked.queries.sum())
        final = operations * model.groups * constants.operation
        return constants.row * rows + constants.partial * collected + final

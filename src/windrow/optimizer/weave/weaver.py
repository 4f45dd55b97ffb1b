"""From the optimizer's plans to running trees: where new queries of a class go.

New queries go where they raise the cost least: into a tree that has their window, into one that they
weave well with, or into trees of their own. That looks at them alone and takes milliseconds; a class that
has no trees yet is planned whole, within a budget.

The optimizers count edges. What a pass really collects are granules where it has many combs (see
`slicing/granules.py`), at most one a row; so plans are compared by that.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.optimizer.weave.best import OPTIMIZERS, named
from windrow.optimizer.weave.constants import SECONDS
from windrow.optimizer.weave.cost import CostModel
from windrow.optimizer.weave.final_work import MICROSECONDS, final_work
from windrow.optimizer.weave.max_share import max_share
from windrow.slicing import cuts_for_pass
from windrow.slicing.granules import MOST_GRANULES_PER_SLICE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from windrow.optimizer.weave.constants import Constants
    from windrow.optimizer.weave.tree import Tree
    from windrow.optimizer.weave.window_set import WindowSet
    from windrow.slicing import Window

PLANNING_SECONDS, ALL_PLANNING_SECONDS = 0.5, 2.0
"""How long an epoch may wait for the plan of a class, and of all that are new."""
ONE_BY_ONE = 20
"""As many new windows find their tree each alone; more go together."""
RATE, GROUPS = 10_000.0, 100.0
"""Rows a second and groups a slice that are assumed before any were seen."""
WORTH_IT = 0.95
"""The part of its present cost that a class must come down to, for a change of its trees."""
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
    """The optimizer that was asked for."""

    @classmethod
    def of(
        cls,
        rate: float | None,
        groups: float | None,
        *,
        grouped: bool,
        hint: str | None,
        constants: Constants = SECONDS,
    ) -> Weaver:
        """By what was observed, and what is assumed where nothing was."""
        many = (groups or GROUPS) if grouped else 1.0
        return cls(CostModel(rate=rate or RATE, groups=many, constants=constants), hint)

    def plant(self, windows: Iterable[Window], seconds: float = PLANNING_SECONDS) -> list[Tree]:
        """The trees of a class that has none: as an optimizer that was asked for plans them, or the
        cheapest that is found in time. Where one tree leaves little to save, no other is looked for."""
        return self.planned(windows, seconds)[1]

    def planned(self, windows: Iterable[Window], seconds: float = PLANNING_SECONDS) -> tuple[str, list[Tree]]:
        """The same, with the name of the optimizer that planned them."""
        asked = Counter(windows)
        if self.hint is not None:
            return self.hint.lower(), list(named(self.hint)(asked, self.model).trees)
        deadline = perf_counter() + seconds
        best = "max_share", list(max_share(asked, self.model).trees)
        for name, optimizer in OPTIMIZERS.items():
            if not self.may_save(best[1]) or perf_counter() > deadline:
                break
            found = name, list(optimizer(asked, self.model, deadline=deadline).trees)
            best = min(best, found, key=lambda plan: self.cost(plan[1]))
        return best

    def may_save(self, trees: Sequence[Tree]) -> bool:
        """Whether other trees could be worth a change: rows must be taken in and answers made in any case."""
        model, constants = self.model, self.model.constants
        answers = sum(tree.work.answers for tree in trees) * model.groups * constants.operation
        return constants.row * model.rate + answers < WORTH_IT * self.cost(trees)

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
        best: tuple[int | None, Tree] = None, more
        least = self.cost([*held, more]) if self.hint != "max_share" else float("inf")
        for place, tree in enumerate(held):
            woven = self.model.woven(tree, more, disjoint=False)
            cost = self.cost([*held[:place], woven, *held[place + 1 :]])
            if cost < least:
                best, least = (place, woven), cost
        return best

    def cost(self, trees: Sequence[Tree]) -> float:
        """Seconds of work a second of stream takes, with the passes that these trees should have."""
        passes = [[tree] for tree in trees] if self.separate(trees) else [list(trees)]
        return sum(map(self.finishing, trees)) + sum(map(self._pass, passes))

    def finishing(self, tree: Tree) -> float:
        """What the final aggregation of a tree takes."""
        return tree.operations * self.model.groups * self.model.constants.operation

    def separate(self, trees: Sequence[Tree]) -> bool:
        """Whether each tree should have a pass over the rows of its own, not one for all."""
        if self.hint is not None or len(trees) < 2:
            return self.hint in SEPARATE
        return sum(self._pass([tree]) for tree in trees) < self._pass(trees)

    def _pass(self, trees: Sequence[Tree]) -> float:
        """What it costs to take in the rows once for some trees."""
        return self.model.constants.row * self.model.rate + self.collecting(trees)

    def collecting(self, trees: Sequence[Tree]) -> float:
        """What the partials of one pass for some trees take: each tree merges what is collected."""
        constants = self.model.constants
        cuts = cuts_for_pass([window for tree in trees for window in tree.windows])
        merged = (len(trees) - 1) * constants.operation
        return (constants.partial + merged) * self._collected(float(cuts.rate))

    def alone(self, asked: WindowSet) -> float:
        """What windows would cost if every query had a pass and a tree of its own: the sum of `cost` over
        them, on arrays, since there may be thousands."""
        model, constants = self.model, self.model.constants
        ranges, slides, _ = asked.rows.T
        combs, granules = np.where(ranges % slides == 0, 1.0, 2.0), np.gcd(ranges, slides)
        exactly = slides > float(MOST_GRANULES_PER_SLICE) * combs * granules
        cuts = np.where(exactly, combs / slides, 1.0 / granules)
        edges = combs / slides * MICROSECONDS
        work = final_work(model.final)(asked, asked.queries.astype(np.float64), edges)
        assert not work.each, "windows that are worked on at the edges of others have none of their own here"
        operations = float(np.dot(asked.queries, edges)) * work.once + work.answers
        collected = float(np.dot(asked.queries, self._collected(cuts)))
        rows = model.rate * float(asked.queries.sum())
        final = operations * model.groups * constants.operation
        return constants.row * rows + constants.partial * collected + final

    def _collected(self, rate: Any) -> Any:
        """Partials a second, at so many cuts a microsecond: at most one a row."""
        return np.minimum(self.model.rate, rate * MICROSECONDS * self.model.groups)

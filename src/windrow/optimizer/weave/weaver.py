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
from typing import TYPE_CHECKING

from windrow.optimizer.weave.best import OPTIMIZERS, named
from windrow.optimizer.weave.constants import SECONDS
from windrow.optimizer.weave.cost import CostModel
from windrow.optimizer.weave.max_share import max_share
from windrow.slicing import cuts_for_pass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from windrow.optimizer.weave.tree import Tree
    from windrow.slicing import Window

PLANNING_SECONDS = 0.5
"""How long an epoch may wait for a plan."""
ONE_BY_ONE = 20
"""As many new windows find their tree each alone; more go together."""
RATE, GROUPS = 10_000.0, 100.0
"""Rows a second and groups a slice that are assumed before any were seen."""
WORTH_IT = 0.95
"""The part of its present cost that a class must come down to, for a change of its trees."""
SEPARATE = ("no_share", "weave_share", "insert_then_weave")
"""Optimizers whose trees each have a pass of their own."""


@dataclass(frozen=True)
class Weaver:
    """Plans the trees of one class of queries."""

    model: CostModel
    hint: str | None = None
    """The optimizer that was asked for."""

    @classmethod
    def of(cls, rate: float | None, groups: float | None, *, grouped: bool, hint: str | None) -> Weaver:
        """By what was observed, and what is assumed where nothing was."""
        many = (groups or GROUPS) if grouped else 1.0
        return cls(CostModel(rate=rate or RATE, groups=many, constants=SECONDS), hint)

    def plant(self, windows: Iterable[Window], seconds: float = PLANNING_SECONDS) -> list[Tree]:
        """The trees of a class that has none: as an optimizer that was asked for plans them, or the
        cheapest that is found in time. Where one tree leaves little to save, no other is looked for."""
        asked = Counter(windows)
        if self.hint is not None:
            return list(named(self.hint)(asked, self.model).trees)
        deadline = perf_counter() + seconds
        best = list(max_share(asked, self.model).trees)
        for optimizer in OPTIMIZERS.values():
            if not self.may_save(best) or perf_counter() > deadline:
                break
            best = min(best, list(optimizer(asked, self.model, deadline=deadline).trees), key=self.cost)
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
        model, constants = self.model, self.model.constants
        passes = [[tree] for tree in trees] if self.separate(trees) else [list(trees)]
        final = sum(tree.operations for tree in trees) * model.groups * constants.operation
        return final + sum(map(self._pass, passes))

    def separate(self, trees: Sequence[Tree]) -> bool:
        """Whether each tree should have a pass over the rows of its own, not one for all."""
        if self.hint is not None or len(trees) < 2:
            return self.hint in SEPARATE
        return sum(self._pass([tree]) for tree in trees) < self._pass(trees)

    def _pass(self, trees: Sequence[Tree]) -> float:
        """What it costs to take in the rows once for some trees: each merges what is collected."""
        model, constants = self.model, self.model.constants
        cuts = cuts_for_pass([window for tree in trees for window in tree.windows])
        collected = min(model.rate, float(cuts.rate) * 1e6 * model.groups)
        merged = (len(trees) - 1) * constants.operation
        return constants.row * model.rate + (constants.partial + merged) * collected

"""Which trees of a stream are held by Spark tasks: all, where there is much to do between two batches.

The final work of a batch is what the plan's cost says for a second of stream, times the event time that
batches bring. A job for it takes some tenths of a second, so little work stays in the driver, where the
state is at hand; much of it is shared by as many nodes as there are cores. Trees are put on the node that
has least to do, and stay there, with their state, as long as that is about even.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from windrow.planner.sharing import to_lowest
from windrow.runtime.logs import event

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from windrow.runtime.home.home import Home
    from windrow.runtime.settings import EngineSettings
    from windrow.runtime.state.trees import RunningTree
    from windrow.slicing import Window

LARGE_SECONDS, SMALL_SECONDS = 1.0, 0.25
"""The final work of a batch from which on tasks share it, and below which the driver takes it back."""
UNEVEN = 1.3
"""How much more than its part a node may have to do."""
LOOK_EVERY = 10
"""After how many batches at most it is looked at again, where nothing changed: at first much sooner."""


class Spreading:
    """Decides for one stream on how many nodes its trees are, and on which."""

    def __init__(self, home: Home, stream: str, settings: EngineSettings) -> None:
        self._home = home
        self._settings = settings
        self._stream = stream
        self._nodes = 1
        self._next_look, self._pause = 0, 1
        self._plans: dict[Hashable, tuple[int, frozenset[Window]]] = {}

    @property
    def nodes(self) -> int:
        """On how many nodes the trees are; 1: they are in the driver."""
        return self._settings.now.nodes or self._nodes

    def due(self, *, changed: bool) -> bool:
        """Whether to look whether all is well: when trees have changed, and now and then."""
        self._next_look -= 1
        if not changed and self._next_look > 0:
            return False
        self._pause = 1 if changed else min(2 * self._pause, LOOK_EVERY)
        self._next_look = self._pause
        return True

    def settle(self, trees: Sequence[RunningTree], costs: Mapping[int, float]) -> bool:
        """Settle trees on nodes, by what each costs a second of stream; whether anything has changed.

        One that has no cost is of a kind that cannot share, and stays in the driver.
        """
        self._decide(sum(costs.values()), any(tree.node is not None for tree in trees))
        able = [tree for tree in trees if tree.id in costs] if self.nodes > 1 else []
        goals = self._goals(able, [costs[tree.id] for tree in able])
        before = {tree.id: tree.node for tree in trees}
        for tree in trees:
            tree.settle(goals.get(tree.id))
        after = {tree.id: tree.node for tree in trees}
        if set(before.values()) != set(after.values()):
            event(
                logging.INFO, "trees_settled",
                "stream '%(stream)s': %(away)d of %(trees)d trees are held by %(nodes)d Spark tasks",
                stream=self._stream, away=len(able), trees=len(trees), nodes=len(set(goals.values())),
            )  # fmt: skip
        return before != after

    def wants_plan(
        self, alike: Hashable, windows: Sequence[set[Window]], costs: Sequence[float], total: float
    ) -> bool:
        """Whether the trees of a class, of these windows and costs, should be planned anew: because one of
        them is too much for a node, or because they were made for more nodes than there are now."""
        planned_for = self._plans.get(alike)
        if planned_for == (self.nodes, _all(windows)):
            return False
        if self.nodes == 1:
            return planned_for is not None and len(windows) > 1
        return len(_all(windows)) > 1 and max(costs) > UNEVEN * total / self.nodes

    def planned(self, alike: Hashable, windows: Sequence[set[Window]]) -> None:
        """It is being planned."""
        self._plans[alike] = self.nodes, _all(windows)

    def _decide(self, cost: float, are_away: bool) -> None:
        if self._settings.now.nodes is not None:
            return
        if self._nodes == 1 and are_away:  # an engine before this one has settled them
            self._nodes = self._settings.now.cores
        batch = self._home.catalog.batch_seconds(self._stream)
        if batch is not None:
            if cost * batch >= LARGE_SECONDS:
                self._nodes = self._settings.now.cores
            elif cost * batch < SMALL_SECONDS:
                self._nodes = 1

    def _goals(self, trees: Sequence[RunningTree], costs: Sequence[float]) -> dict[int, int]:
        """The node of each tree: where it is, if that is about even; otherwise to the lowest."""
        if not trees:
            return {}
        loads = [0.0] * self.nodes
        goals: dict[int, int] = {}
        dearest_first = sorted(zip(costs, trees, strict=True), key=lambda pair: pair[0], reverse=True)
        for cost, tree in dearest_first:
            if tree.node is not None and tree.node < self.nodes:
                goals[tree.id] = tree.node
                loads[tree.node] += cost
        for cost, tree in dearest_first:
            if tree.id not in goals:
                goals[tree.id] = loads.index(min(loads))
                loads[goals[tree.id]] += cost
        best = to_lowest(costs, self.nodes)
        even = [sum(c for c, node in zip(costs, best, strict=True) if node == n) for n in range(self.nodes)]
        if max(loads) <= UNEVEN * max(even):
            return goals
        return {tree.id: node for tree, node in zip(trees, best, strict=True)}


def _all(windows: Sequence[set[Window]]) -> frozenset[Window]:
    return frozenset().union(*windows)

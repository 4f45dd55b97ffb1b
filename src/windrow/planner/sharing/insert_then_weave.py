"""Insert-then-weave: one after the other, each where it raises the cost least.

Windows with the same cuts weave perfectly and are taken together; where there is no time to insert all, it
is one tree. Time: linear in the trees for each. Source: Shein 2019, §6.5.3.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from windrow.planner.sharing.forest import Forest
from windrow.planner.sharing.insert import insert
from windrow.planner.sharing.sharing_plan import SharingPlan
from windrow.planner.sharing.window_set import WindowSet

if TYPE_CHECKING:
    from windrow.planner.sharing.cost import CostModel
    from windrow.planner.sharing.window_set import Windows


def insert_then_weave(windows: Windows, cost: CostModel, *, deadline: float | None = None) -> SharingPlan:
    """Trees grown by insertion.

    >>> from windrow.planner.sharing.cost import CostModel
    >>> from windrow.slicing import Window
    >>> len(insert_then_weave([Window(6, 2), Window(8, 4)], CostModel(rate=1e6)).trees)
    1
    """
    started = perf_counter()
    forest = Forest([], cost.separate())
    asked = WindowSet.of(windows)
    for group in asked.groups():
        if deadline is not None and perf_counter() >= deadline:
            return SharingPlan.of("insert_then_weave", [cost.tree(asked)], cost, started, deadline=deadline)
        insert(forest, cost.tree(group), cost)
    return SharingPlan.of("insert_then_weave", forest.trees, cost, started, deadline=deadline)

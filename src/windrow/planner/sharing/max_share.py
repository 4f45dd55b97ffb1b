"""Max-share: all windows in one tree, one pass over the rows, and the finest slices."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from windrow.planner.sharing.sharing_plan import SharingPlan
from windrow.planner.sharing.window_set import WindowSet

if TYPE_CHECKING:
    from windrow.planner.sharing.cost import CostModel
    from windrow.planner.sharing.window_set import Windows


def max_share(windows: Windows, cost: CostModel, *, deadline: float | None = None) -> SharingPlan:
    """One tree.

    >>> from windrow.planner.sharing.cost import CostModel
    >>> from windrow.slicing import Window
    >>> len(max_share([Window(6, 2), Window(8, 4)], CostModel(rate=1)).trees)
    1
    """
    started = perf_counter()
    asked = WindowSet.of(windows)
    return SharingPlan.of("max_share", [cost.tree(asked)] if len(asked) else [], cost, started)

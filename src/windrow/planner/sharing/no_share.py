"""No-share: every window has a tree of its own. What sharing is compared with."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from windrow.planner.sharing.sharing_plan import SharingPlan
from windrow.planner.sharing.window_set import WindowSet

if TYPE_CHECKING:
    from windrow.planner.sharing.cost import CostModel
    from windrow.planner.sharing.window_set import Windows


def no_share(windows: Windows, cost: CostModel, *, deadline: float | None = None) -> SharingPlan:
    """As many trees as distinct windows.

    >>> from windrow.planner.sharing.cost import CostModel
    >>> from windrow.slicing import Window
    >>> len(no_share([Window(6, 2), Window(8, 4)], CostModel(rate=1)).trees)
    2
    """
    started = perf_counter()
    return SharingPlan.of(
        "no_share", [cost.tree(one) for one in WindowSet.of(windows).singles()], cost, started
    )

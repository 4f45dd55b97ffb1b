"""The optimizers by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from windrow.planner.sharing.insert_then_weave import insert_then_weave
from windrow.planner.sharing.max_share import max_share
from windrow.planner.sharing.no_share import no_share
from windrow.planner.sharing.weave_share import tri_weave, weave_share

if TYPE_CHECKING:
    from windrow.planner.sharing.cost import CostModel
    from windrow.planner.sharing.sharing_plan import SharingPlan
    from windrow.planner.sharing.window_set import Windows


class Optimizer(Protocol):
    """Plans windows; at a deadline (of `perf_counter`) it stops with what it has."""

    def __call__(
        self, windows: Windows, cost: CostModel, *, deadline: float | None = None
    ) -> SharingPlan: ...


OPTIMIZERS: dict[str, Optimizer] = {
    "max_share": max_share,
    "tri_weave": tri_weave,
    "weave_share": weave_share,
    "insert_then_weave": insert_then_weave,
    "no_share": no_share,
}
"""In the order in which they are tried: the first always gives a plan, the next ones the cheapest."""

"""The thirteen optimizers by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from windrow.planner.sharing.placement.at_random import g_rand, g_rr, w_rand, w_rr, wg_rand, wg_rr
from windrow.planner.sharing.placement.inserted import w_i, wg_i
from windrow.planner.sharing.placement.to_lowest import g_tl, w_tl, wg_tl
from windrow.planner.sharing.placement.to_nodes import w_tn, wg_tn

if TYPE_CHECKING:
    from windrow.planner.sharing.cost import CostModel
    from windrow.planner.sharing.placement.nodes import Placement
    from windrow.planner.sharing.window_set import Windows


class Placer(Protocol):
    """Places queries on nodes; the same seed gives the same placement.

    `together`: queries whose windows are cut alike are woven first. They weave perfectly, so the total is
    less; with many nodes there may be too few trees then to keep them busy.
    """

    def __call__(
        self, windows: Windows, cost: CostModel, nodes: int, *, seed: int = 0, together: bool = False
    ) -> Placement: ...


PLACEMENTS: dict[str, Placer] = {
    "g_rand": g_rand,
    "g_rr": g_rr,
    "g_tl": g_tl,
    "w_rand": w_rand,
    "w_rr": w_rr,
    "w_tl": w_tl,
    "w_tn": w_tn,
    "w_i": w_i,
    "wg_rand": wg_rand,
    "wg_rr": wg_rr,
    "wg_tl": wg_tl,
    "wg_tn": wg_tn,
    "wg_i": wg_i,
}

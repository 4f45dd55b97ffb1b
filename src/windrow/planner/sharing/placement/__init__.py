"""Trees on several nodes: the thirteen optimizers of Shein 2019, Table 7.

Their names say what a node may hold (`g`: every query in a tree of its own; `w`: one tree; `wg`: several
trees) and how a node is found (at random, round robin, `tl` to the lowest, `tn` to nodes, `i` inserted).
"""

from windrow.planner.sharing.placement.at_random import g_rand, g_rr, w_rand, w_rr, wg_rand, wg_rr
from windrow.planner.sharing.placement.inserted import w_i, wg_i
from windrow.planner.sharing.placement.named import PLACEMENTS
from windrow.planner.sharing.placement.nodes import Placement
from windrow.planner.sharing.placement.to_lowest import g_tl, grouped, w_tl, wg_tl
from windrow.planner.sharing.placement.to_nodes import w_tn, wg_tn

__all__ = [
    "PLACEMENTS",
    "Placement",
    "g_rand",
    "g_rr",
    "g_tl",
    "grouped",
    "w_i",
    "w_rand",
    "w_rr",
    "w_tl",
    "w_tn",
    "wg_i",
    "wg_rand",
    "wg_rr",
    "wg_tl",
    "wg_tn",
]

"""Many queries, few trees: which windows of a class share their slices, by cost."""

from windrow.planner.sharing.constants import OPERATIONS, SECONDS, Constants
from windrow.planner.sharing.cost import CostModel
from windrow.planner.sharing.full_pairwise import full_pairwise
from windrow.planner.sharing.insert_then_weave import insert_then_weave
from windrow.planner.sharing.max_share import max_share
from windrow.planner.sharing.no_share import no_share
from windrow.planner.sharing.optimizers import OPTIMIZERS
from windrow.planner.sharing.placement import PLACEMENTS
from windrow.planner.sharing.sharing_plan import SharingPlan
from windrow.planner.sharing.spread import checked_hint, to_lowest
from windrow.planner.sharing.tree import Tree
from windrow.planner.sharing.weave_share import tri_weave, weave_share
from windrow.planner.sharing.weaver import Weaver, planning_seconds
from windrow.planner.sharing.window_set import WindowSet

__all__ = [
    "OPERATIONS",
    "OPTIMIZERS",
    "PLACEMENTS",
    "SECONDS",
    "Constants",
    "CostModel",
    "SharingPlan",
    "Tree",
    "Weaver",
    "WindowSet",
    "checked_hint",
    "full_pairwise",
    "insert_then_weave",
    "max_share",
    "no_share",
    "planning_seconds",
    "to_lowest",
    "tri_weave",
    "weave_share",
]

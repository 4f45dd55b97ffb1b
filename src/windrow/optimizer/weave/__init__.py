"""Many queries, few trees: which windows of a class share their slices, by cost."""

from windrow.optimizer.weave.constants import OPERATIONS, SECONDS, Constants
from windrow.optimizer.weave.cost import CostModel
from windrow.optimizer.weave.full_pairwise import full_pairwise
from windrow.optimizer.weave.insert_then_weave import insert_then_weave
from windrow.optimizer.weave.max_share import max_share
from windrow.optimizer.weave.no_share import no_share
from windrow.optimizer.weave.optimizers import OPTIMIZERS
from windrow.optimizer.weave.placement import PLACEMENTS
from windrow.optimizer.weave.plan import Plan
from windrow.optimizer.weave.spread import checked_hint, to_lowest
from windrow.optimizer.weave.tree import Tree
from windrow.optimizer.weave.weave_share import tri_weave, weave_share
from windrow.optimizer.weave.weaver import Weaver, planning_seconds
from windrow.optimizer.weave.window_set import WindowSet

__all__ = [
    "OPERATIONS",
    "OPTIMIZERS",
    "PLACEMENTS",
    "SECONDS",
    "Constants",
    "CostModel",
    "Plan",
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

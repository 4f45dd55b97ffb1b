"""From bound queries to what runs: shared passes over the stream, and algorithms."""

from windrow.planner.algorithms import operator_for, plan_window_aggregation
from windrow.planner.passes.base import BatchPass, Demand, Tally
from windrow.planner.passes.bounds import Bounds, tally_sql
from windrow.planner.passes.experience import Experience
from windrow.planner.passes.grouped import Pass, share_passes
from windrow.planner.passes.lifted import LiftedPass
from windrow.planner.passes.pack import plan_passes
from windrow.planner.passes.rows import RowPass
from windrow.planner.passes.woven import WovenPass
from windrow.planner.sharing.classes import sharing_class

__all__ = [
    "BatchPass",
    "Bounds",
    "Demand",
    "Experience",
    "LiftedPass",
    "Pass",
    "RowPass",
    "Tally",
    "WovenPass",
    "operator_for",
    "plan_passes",
    "plan_window_aggregation",
    "share_passes",
    "sharing_class",
    "tally_sql",
]

"""From bound queries to what runs: shared passes over the stream, and algorithms."""

from windrow.planner.algorithms import plan_window_aggregation, window_operator
from windrow.planner.passes.bounds import Bounds, tally_sql
from windrow.planner.passes.grouped import Pass, share_passes
from windrow.planner.passes.lifted import LiftedPass
from windrow.planner.passes.pack import Experience, plan_passes
from windrow.planner.passes.rows import RowPass
from windrow.planner.passes.woven import WovenPass
from windrow.planner.sharing.classes import sharing_class

__all__ = [
    "Bounds",
    "Experience",
    "LiftedPass",
    "Pass",
    "RowPass",
    "WovenPass",
    "plan_passes",
    "plan_window_aggregation",
    "share_passes",
    "sharing_class",
    "tally_sql",
    "window_operator",
]

"""From bound queries to what runs: shared passes over the stream, algorithms, and their explanation."""

from windrow.optimizer.bounds import Bounds, tally_sql
from windrow.optimizer.classes import sharing_class
from windrow.optimizer.explain import explain
from windrow.optimizer.lifted_passes import LiftedPass
from windrow.optimizer.pack_passes import Experience, plan_passes
from windrow.optimizer.passes import Pass, share_passes
from windrow.optimizer.physical import plan_window_aggregation, window_operator
from windrow.optimizer.row_passes import RowPass
from windrow.optimizer.woven_passes import WovenPass

__all__ = [
    "Bounds",
    "Experience",
    "LiftedPass",
    "Pass",
    "RowPass",
    "WovenPass",
    "explain",
    "plan_passes",
    "plan_window_aggregation",
    "share_passes",
    "sharing_class",
    "tally_sql",
    "window_operator",
]

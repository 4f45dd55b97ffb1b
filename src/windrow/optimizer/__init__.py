"""From bound queries to what runs: shared passes over the stream, algorithms, and their explanation."""

from windrow.optimizer.explain import explain
from windrow.optimizer.passes import Bounds, Pass, share_passes, tally_sql
from windrow.optimizer.physical import plan_window_aggregation

__all__ = ["Bounds", "Pass", "explain", "plan_window_aggregation", "share_passes", "tally_sql"]

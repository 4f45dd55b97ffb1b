"""Final aggregation: windows from the partials of their slices; one algorithm a file, one interface."""

from windrow.final.arrays import slide
from windrow.final.base import FinalAggregator, refuse_mismatch
from windrow.final.blocked_two_stacks import BlockedTwoStacks
from windrow.final.choose import FINAL_AGGREGATORS, choose, named
from windrow.final.keyed_windows import KeyedWindows
from windrow.final.recalculate import Recalculate
from windrow.final.subtract_on_evict import SubtractOnEvict

__all__ = [
    "FINAL_AGGREGATORS",
    "BlockedTwoStacks",
    "FinalAggregator",
    "KeyedWindows",
    "Recalculate",
    "SubtractOnEvict",
    "choose",
    "named",
    "refuse_mismatch",
    "slide",
]

"""Final aggregation: windows from the partials of their slices; one algorithm a file, one interface."""

from windrow.final.arrays import slide
from windrow.final.base import FinalAggregator, refuse_mismatch
from windrow.final.base_intervals import BaseIntervals
from windrow.final.blocked_two_stacks import BlockedTwoStacks
from windrow.final.choose import FINAL_AGGREGATORS, Choice, choose, named
from windrow.final.costs import Costs, shipped_costs
from windrow.final.daba import DABA
from windrow.final.flat_fat import FlatFAT
from windrow.final.flat_fit import FlatFIT
from windrow.final.keyed_windows import KeyedWindows
from windrow.final.partitioned_rows import PartitionedRows
from windrow.final.recalculate import Recalculate
from windrow.final.shared import SharedWindows, shared_structure
from windrow.final.slick_deque_inv import SlickDequeInv
from windrow.final.slick_deque_non_inv import SlickDequeNonInv
from windrow.final.subtract_on_evict import SubtractOnEvict
from windrow.final.two_stacks import TwoStacks

__all__ = [
    "DABA",
    "FINAL_AGGREGATORS",
    "BaseIntervals",
    "BlockedTwoStacks",
    "Choice",
    "Costs",
    "FinalAggregator",
    "FlatFAT",
    "FlatFIT",
    "KeyedWindows",
    "PartitionedRows",
    "Recalculate",
    "SharedWindows",
    "SlickDequeInv",
    "SlickDequeNonInv",
    "SubtractOnEvict",
    "TwoStacks",
    "choose",
    "named",
    "refuse_mismatch",
    "shared_structure",
    "shipped_costs",
    "slide",
]

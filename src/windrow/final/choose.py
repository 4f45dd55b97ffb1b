"""Which final aggregator serves an operation: the cheapest one whose needs its algebra meets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.errors import PlanError, suggestion
from windrow.final.base_intervals import BaseIntervals
from windrow.final.blocked_two_stacks import BlockedTwoStacks
from windrow.final.daba import DABA
from windrow.final.flat_fat import FlatFAT
from windrow.final.flat_fit import FlatFIT
from windrow.final.recalculate import Recalculate
from windrow.final.slick_deque_inv import SlickDequeInv
from windrow.final.slick_deque_non_inv import SlickDequeNonInv
from windrow.final.subtract_on_evict import SubtractOnEvict
from windrow.final.two_stacks import TwoStacks

if TYPE_CHECKING:
    from windrow.aggregates import Operation
    from windrow.final.base import FinalAggregator

FINAL_AGGREGATORS: dict[str, type[FinalAggregator]] = {
    algorithm.name: algorithm
    for algorithm in (
        BlockedTwoStacks,
        SubtractOnEvict,
        SlickDequeInv,
        SlickDequeNonInv,
        TwoStacks,
        DABA,
        FlatFIT,
        FlatFAT,
        BaseIntervals,
        Recalculate,
    )
}


def choose(operation: Operation) -> type[FinalAggregator]:
    """Subtraction where it is exact (2 operations a slide), two stacks otherwise (3)."""
    return SubtractOnEvict if operation.algebra.invertible else BlockedTwoStacks


def named(name: str) -> type[FinalAggregator]:
    """The final aggregator that a hint names.

    >>> named("slick_deck")
    Traceback (most recent call last):
    windrow.errors.PlanError: there is no final aggregator 'slick_deck'; did you mean slick_deque_inv?
    """
    if name.lower() not in FINAL_AGGREGATORS:
        close = suggestion(name, FINAL_AGGREGATORS) or f"there are {', '.join(FINAL_AGGREGATORS)}"
        raise PlanError(f"there is no final aggregator '{name}'; {close}")
    return FINAL_AGGREGATORS[name.lower()]

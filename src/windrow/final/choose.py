"""Which final aggregator serves an operation: the cheapest one whose needs its algebra meets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from windrow.errors import PlanError, suggestion
from windrow.final.base import refusal
from windrow.final.base_intervals import BaseIntervals
from windrow.final.blocked_two_stacks import BlockedTwoStacks
from windrow.final.costs import Costs, shipped_costs
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


MARGIN = 1.25
"""A structure for each key holds its entries once more: it must save a fifth of the time to be taken."""


@dataclass(frozen=True)
class Choice:
    """An algorithm for an operation, and why it was taken."""

    algorithm: type[FinalAggregator]
    nanoseconds: float
    """What a slide of one key is expected to cost, all ranges answered."""
    next_best: type[FinalAggregator] | None = None
    next_nanoseconds: float = 0.0

    def __str__(self) -> str:
        return self.algorithm.name


def choose(
    operation: Operation,
    slices: int,
    ranges: int = 1,
    costs: Costs | None = None,
    *,
    partitioned: bool = False,
    hint: str | None = None,
) -> Choice:
    """The cheapest algorithm whose needs the operation meets, for windows of so many slices.

    Where the operation rounds, nothing is ever subtracted, and only algorithms count that give the same
    bits after a restart; `partitioned` windows are kept at rest as they are, so that any does. A
    structure for each key must be worth its memory. A hint overrides the choice wherever the algorithm
    that it names is of use.

    >>> from windrow.aggregates.operations import ADD_INTEGERS, MOMENTS
    >>> str(choose(ADD_INTEGERS, slices=3600)), str(choose(MOMENTS, slices=3600))
    ('subtract_on_evict', 'blocked_two_stacks')
    """
    costs = costs or shipped_costs()
    exactly = replace(operation.algebra, nearly_invertible=False)
    admissible = [
        algorithm
        for algorithm in FINAL_AGGREGATORS.values()
        if refusal(algorithm, exactly, ranges, partitioned=partitioned) is None
        and (algorithm.repeatable or partitioned or not operation.algebra.rounds)
    ]
    wanted = None if hint is None else named(hint)
    if wanted is not None and refusal(wanted, operation.algebra, ranges, partitioned=partitioned) is None:
        admissible = [wanted, *(algorithm for algorithm in admissible if algorithm is not wanted)]

    def rank(algorithm: type[FinalAggregator]) -> tuple[bool, float]:
        nanoseconds = costs.slide(algorithm, operation, slices, ranges)
        return algorithm is not wanted, nanoseconds * (MARGIN if algorithm.own_windows else 1.0)

    ranked = sorted(admissible, key=rank)
    expected = [(algorithm, costs.slide(algorithm, operation, slices, ranges)) for algorithm in ranked[:2]]
    return Choice(*expected[0], *(expected[1] if len(expected) > 1 else ()))


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

"""How many edges a tree has, by any of the methods, and how often they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import lcm
from typing import Any, Literal, NamedTuple

import numpy as np

from windrow.slicing.cuts import Comb
from windrow.slicing.edge_counts.bit_set import bit_set
from windrow.slicing.edge_counts.components import (
    BudgetSpent,
    Pairs,
    covered,
    exact_share_of_component,
    share_of_component,
)
from windrow.slicing.edge_counts.estimate import estimated
from windrow.slicing.edge_counts.f1 import f1
from windrow.slicing.edge_counts.f1_table import f1_table

Method = Literal["components", "f1", "f1_table", "bit_set"]
OTHERS: dict[str, Callable[[Iterable[Comb]], int]] = {"f1": f1, "f1_table": f1_table, "bit_set": bit_set}

# At most half a second for one component, on one core; see `components.py` for what is measured in cells.
BUDGET = 1 << 21


class EdgeRate(NamedTuple):
    """Edges a unit of time: an estimate if the bounds differ."""

    rate: float
    low: float
    high: float

    @property
    def exact(self) -> bool:
        """Whether it is counted, to the rounding of floats, and not estimated."""
        return self.low == self.high


class EdgeCount(NamedTuple):
    """The edges of one composite slide."""

    edges: int | None
    """None where they could only be estimated."""
    period: int
    """How long the composite slide is."""
    rate: EdgeRate


def edge_rate(combs: Iterable[Comb], budget: int = BUDGET) -> EdgeRate:
    """How often a stream is cut by combs together; within bounds if that takes more than the budget.

    >>> from windrow.slicing.cuts import Comb
    >>> edge_rate([Comb(2, 0), Comb(4, 1)])
    EdgeRate(rate=0.75, low=0.75, high=0.75)
    """
    pairs = {(comb.period, comb.phase) for comb in combs}

    def leaf(component: Pairs) -> float:
        share = share_of_component(component, budget)
        if share is None:
            raise BudgetSpent
        return share

    try:
        share = float(covered(pairs, leaf))
    except BudgetSpent:
        return _estimated(pairs, budget)
    return EdgeRate(share, share, share)


def _estimated(pairs: set[tuple[int, int]], budget: int) -> EdgeRate:
    def leaf(component: Pairs) -> Any:
        share = share_of_component(component, budget)
        return np.array(estimated(component, budget) if share is None else [share] * 3)

    low, rate, high = covered(pairs, leaf).tolist()
    return EdgeRate(rate, low, high)


def count_edges(combs: Iterable[Comb], method: Method = "components", budget: int = BUDGET) -> EdgeCount:
    """The edges of the composite slide of combs.

    The methods of the papers raise a PlanError beyond their usual limits; called themselves, they take
    others.

    >>> from windrow.slicing.cuts import Comb
    >>> count = count_edges(Comb(slide, 0) for slide in (2, 3, 4, 5, 6))
    >>> count.edges, count.period, round(count.rate.rate, 3)
    (44, 60, 0.733)
    """
    combs = list(combs)
    period = lcm(*(comb.period for comb in combs))
    edges = _edges(combs, period, budget) if method == "components" else OTHERS[method](combs)
    if edges is None:
        return EdgeCount(None, period, edge_rate(combs, budget))
    rate = edges / period
    return EdgeCount(edges, period, EdgeRate(rate, rate, rate))


def _edges(combs: list[Comb], period: int, budget: int) -> int | None:
    """By components, in whole numbers; None beyond the budget."""

    def leaf(component: Pairs) -> Fraction:
        share = exact_share_of_component(component, budget)
        if share is None:
            raise BudgetSpent
        return share

    try:
        share = covered({(comb.period, comb.phase) for comb in combs}, leaf, Fraction)
    except BudgetSpent:
        return None
    return int(share * period)

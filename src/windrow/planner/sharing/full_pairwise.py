"""WeaveShare as it is written: every pair is counted exactly. What the fast one is tested against.

Windows with the same cuts are woven from the start: together they save a tree and cost nothing. Every pair of
the rest is counted once, and a new tree with every other. Time: n² counts of edges for n different cuts, so
for some hundreds. Source: Shein 2019, §2.4.2.
"""

from __future__ import annotations

from itertools import combinations
from time import perf_counter
from typing import TYPE_CHECKING

from windrow.planner.sharing.sharing_plan import SharingPlan
from windrow.planner.sharing.window_set import WindowSet

if TYPE_CHECKING:
    from windrow.planner.sharing.cost import CostModel
    from windrow.planner.sharing.window_set import Windows


def full_pairwise(windows: Windows, cost: CostModel) -> SharingPlan:
    """WeaveShare without estimates.

    >>> from windrow.planner.sharing.cost import CostModel
    >>> from windrow.slicing import Window
    >>> len(full_pairwise([Window(6, 2), Window(8, 4)], CostModel(rate=1e6)).trees)
    1
    """
    started = perf_counter()
    price = cost.separate()
    trees = dict(enumerate(cost.tree(one) for one in WindowSet.of(windows).groups()))

    def saving(one: int, other: int) -> float:
        together = cost.woven_cost(trees[one], trees[other], price)
        return price.of(trees[one]) + price.of(trees[other]) - together

    savings = {pair: saving(*pair) for pair in combinations(trees, 2)}
    while savings:
        one, other = max(savings, key=savings.__getitem__)
        if savings[one, other] <= 0:
            break
        trees[one] = cost.woven(trees[one], trees.pop(other))
        for pair in [pair for pair in savings if {one, other} & set(pair)]:
            del savings[pair]
        savings |= {(one, tree): saving(one, tree) for tree in trees if tree != one}
    return SharingPlan.of("full_pairwise", list(trees.values()), cost, started)

"""WeaveShare and TriWeave: the pairs of trees that save most are woven, until none saves anything.

The two differ in what a tree costs. With WeaveShare every tree passes over the rows; with TriWeave one pass
makes the slices of all, and a tree merges them into its own. Windows with the same cuts are woven
first: they save a whole tree and cost nothing. With a structure that all windows share, one tree is often
provably the best, or nearly, and there is nothing to search. Where there are too many trees for a number a
pair, parts of them are woven first, neighbours in slide and offset, and what is left together. If one tree is
cheaper than what was found, as it may be when time was short, it is one tree.

Time: for n distinct cuts n² estimates, and a few counts of edges a step. Source: Shein 2019, §2.4.2.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from windrow.planner.sharing.greedy import Greedy
from windrow.planner.sharing.sharing_plan import SharingPlan, all_cuts
from windrow.planner.sharing.window_set import WindowSet

if TYPE_CHECKING:
    from windrow.planner.sharing.cost import CostModel, TreePrice
    from windrow.planner.sharing.tree import Tree
    from windrow.planner.sharing.window_set import Windows

MOST_TREES = 1_500
"""Two numbers for each of so many pairs are 40 MB, and take seconds."""

WORTH_ANOTHER_ROUND = 0.9
"""Where weaving parts leaves more of the trees than this, weaving other parts would hardly weave more."""

NEARLY = 1.005
"""One tree that is so close to what any plan costs at least is taken without a search."""


def weave_share(windows: Windows, cost: CostModel, *, deadline: float | None = None) -> SharingPlan:
    """Trees that pass over the rows each for itself.

    >>> from windrow.planner.sharing.cost import CostModel
    >>> from windrow.slicing import Window
    >>> second = 1_000_000
    >>> windows = [Window(r * second, s * second) for r, s in ((6, 2), (8, 4), (9, 3))]
    >>> plan = weave_share(windows, CostModel(rate=1, final="panes"))
    >>> [[window.slide // second for window in tree.windows] for tree in plan.trees]
    [[2, 4], [3]]
    """
    started = perf_counter()
    trees = [cost.tree(group) for group in WindowSet.of(windows).groups()]
    trees = _woven(trees, cost, cost.separate(), deadline)
    return SharingPlan.of("weave_share", trees, cost, started, deadline=deadline)


def tri_weave(windows: Windows, cost: CostModel, *, deadline: float | None = None) -> SharingPlan:
    """Trees that are handed the slices of one pass.

    >>> from windrow.planner.sharing.cost import CostModel
    >>> from windrow.slicing import Window
    >>> plan = tri_weave([Window(6, 2), Window(9, 3)], CostModel(rate=1, final="panes"))
    >>> len(plan.trees), plan.passes
    (2, 1)
    """
    started = perf_counter()
    trees = [cost.tree(group) for group in WindowSet.of(windows).groups()]
    if trees:
        trees = _woven(trees, cost, cost.combined(all_cuts(trees)), deadline)
    return SharingPlan.of("tri_weave", trees, cost, started, deadline=deadline, combined=bool(trees))


def _woven(trees: list[Tree], cost: CostModel, price: TreePrice, deadline: float | None) -> list[Tree]:
    if len(trees) <= 1:
        return trees
    one = cost.tree(WindowSet.union(part for tree in trees for part in tree.parts))
    if price.of(one) <= NEARLY * _least_of_several(trees, one, price):
        return [one]
    found = _searched(trees, cost, price, deadline)
    return found if sum(map(price.of, found)) < price.of(one) else [one]


def _searched(trees: list[Tree], cost: CostModel, price: TreePrice, deadline: float | None) -> list[Tree]:
    """Woven pair by pair; past the deadline they stay as they are."""
    while len(trees) > MOST_TREES:
        before = len(trees)
        parts = [trees[at : at + MOST_TREES] for at in range(0, before, MOST_TREES)]
        trees = [tree for part in parts for tree in _greedily(part, cost, price, deadline)]
        if len(trees) > WORTH_ANOTHER_ROUND * before:
            return trees
    return _greedily(trees, cost, price, deadline)


def _greedily(trees: list[Tree], cost: CostModel, price: TreePrice, deadline: float | None) -> list[Tree]:
    if deadline is not None and perf_counter() >= deadline:
        return trees
    return Greedy(trees, cost, price).weave(deadline=deadline)


def _least_of_several(trees: list[Tree], one: Tree, price: TreePrice) -> float:
    """Less than this no two or more trees cost: two trees' price, all edges somewhere, and each window's
    own work."""
    work = sum(tree.edges * tree.work.each + tree.work.answers for tree in trees)
    operations = one.edges * min(tree.work.once for tree in trees) + work
    return price.tree + price.of_parts(one.edges, operations, one.fired)

"""Trees for several nodes: how a class is split where its final work is too much for one process.

The rows of a batch are taken in by one job, on all cores, whatever the trees. What nodes share among them
is the work behind it: merging partials into slices, evaluating, writing results. So a placement is planned
with the prices of that alone, and the best is the one whose busiest node has least to do.
Source: Shein 2019, ch. 6.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from time import perf_counter
from typing import TYPE_CHECKING

from windrow.errors import PlanError, suggestion
from windrow.planner.sharing.optimizers import OPTIMIZERS
from windrow.planner.sharing.placement import PLACEMENTS
from windrow.planner.sharing.placement.nodes import Nodes
from windrow.planner.sharing.placement.to_lowest import woven
from windrow.planner.sharing.window_set import WindowSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.planner.sharing.cost import CostModel
    from windrow.planner.sharing.placement import Placement
    from windrow.planner.sharing.tree import Tree
    from windrow.planner.sharing.window_set import Windows

MERGED = 10
"""To send a partial to a node and merge it there takes as long as so many final operations (200 ns)."""
PARTS = 8
"""Windows that are cut alike stay together, unless that is more than such a part of what a node is to do."""


def final_model(model: CostModel, result: float) -> CostModel:
    """The prices of what nodes do: they take in partials, no rows, and write results."""
    merged = MERGED * model.constants.operation
    return replace(model, constants=replace(model.constants, row=0.0, partial=merged, result=result))


def checked_hint(name: str) -> str:
    """The name of an optimizer or placement, as it is written.

    >>> checked_hint("WG_TN")
    'wg_tn'
    >>> checked_hint("weaveshare")
    Traceback (most recent call last):
    windrow.errors.PlanError: there is no optimizer 'weaveshare'; did you mean weave_share?
    """
    known = [*OPTIMIZERS, *PLACEMENTS]
    if name.lower() not in known:
        close = suggestion(name, known) or f"there are {', '.join(known)}"
        raise PlanError(f"there is no optimizer '{name}'; {close}")
    return name.lower()


def spread(
    windows: Windows, final: CostModel, nodes: int, seconds: float, hint: str | None = None
) -> Placement:
    """Windows of a class on nodes, by the placement that was asked for, or the best that is found in time.

    Tried are W_TL, which balances best and takes no time, and WG_TN, which has the least cost in total.
    """
    if hint is not None:
        return PLACEMENTS[hint](windows, final, nodes, together=True)
    deadline = perf_counter() + seconds
    on = Nodes(final, nodes)
    best = woven(_small_trees(windows, on), on).placed("w_tl")
    if perf_counter() + 5 * best.seconds < deadline:  # it takes some times as long
        other = PLACEMENTS["wg_tn"](windows, final, nodes, together=True)
        best = min(best, other, key=lambda placement: placement.maximum)
    return best


def _small_trees(windows: Windows, nodes: Nodes) -> list[Tree]:
    """Windows that are cut alike in one tree, or in several, so that nodes can be kept about even."""
    cost = nodes.cost
    trees = [(group, cost.tree(group)) for group in WindowSet.of(windows).groups()]
    most = sum(nodes.price.of(tree) for _, tree in trees) / (PARTS * len(nodes.trees))
    small: list[Tree] = []
    for group, tree in trees:
        parts = min(len(group), ceil(nodes.price.of(tree) / most)) if most else 1
        if parts > 1:
            dealt = (WindowSet(group.rows[at::parts], group.queries[at::parts]) for at in range(parts))
            small += map(cost.tree, dealt)
        else:
            small.append(tree)
    return small


def to_lowest(costs: Sequence[float], nodes: int) -> list[int]:
    """A node for each of some trees: the dearest first, always to the node that has least.

    >>> to_lowest([1.0, 5.0, 2.0, 2.5], 2)
    [1, 0, 1, 1]
    """
    loads = [0.0] * nodes
    found = [0] * len(costs)
    for tree in sorted(range(len(costs)), key=costs.__getitem__, reverse=True):
        found[tree] = loads.index(min(loads))
        loads[found[tree]] += costs[tree]
    return found


def busiest(costs: Sequence[float], nodes: int) -> float:
    """What the node has to do that has most, if trees of these costs are put to the lowest."""
    loads = [0.0] * nodes
    for cost, node in zip(costs, to_lowest(costs, nodes), strict=True):
        loads[node] += cost
    return max(loads)

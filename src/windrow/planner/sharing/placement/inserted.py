"""Inserted: each query where the node is cheapest after it was woven in.

It starts with a query on each node, at random. With several trees a node, the best tree of that node is
woven into, or the query goes beside the trees of the node that costs least so far, whichever raises
the total less. It balances and weaves, and has the least maximum. Source: Shein 2019, §6.5.3; the listing
compares the costs of nodes at the end, the text compares totals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from windrow.planner.sharing.placement.nodes import Nodes, Placement, single_trees

if TYPE_CHECKING:
    from windrow.planner.sharing.cost import CostModel
    from windrow.planner.sharing.tree import Tree
    from windrow.planner.sharing.window_set import Windows


def w_i(windows: Windows, cost: CostModel, nodes: int, *, seed: int = 0, together: bool = False) -> Placement:
    """One tree a node."""
    on = Nodes(cost, nodes)
    for tree in _after_one_a_node(windows, on, seed, together):
        node, at, _ = best_node(on, tree)
        on.weave(node, at, tree)
    return on.placed("w_i")


def wg_i(
    windows: Windows, cost: CostModel, nodes: int, *, seed: int = 0, together: bool = False
) -> Placement:
    """Several trees a node."""
    on = Nodes(cost, nodes)
    for tree in _after_one_a_node(windows, on, seed, together):
        node, at, increase = best_node(on, tree)
        if increase <= on.price.of(tree):
            on.weave(node, at, tree)
        else:
            on.group(on.cheapest(), tree)
    return on.placed("wg_i")


def _after_one_a_node(windows: Windows, on: Nodes, seed: int, together: bool) -> list[Tree]:
    """Put a query on each node, at random; the others, in random order too, as queries come."""
    trees = single_trees(windows, on.cost, together)
    drawn = [trees[at] for at in np.random.default_rng(seed).permutation(len(trees))]
    for node, tree in enumerate(drawn[: len(on.trees)]):
        on.group(node, tree)
    return drawn[len(on.trees) :]


def best_node(on: Nodes, tree: Tree) -> tuple[int, int, float]:
    """The node that is cheapest with the tree woven in, into which of its trees, and the increase."""
    best: tuple[float, int, int, float] | None = None
    for node, trees in enumerate(on.trees):
        for at in range(len(trees)):
            increase = on.increase(node, at, tree)
            new = (on.costs[node] + increase, node, at, increase)
            best = new if best is None else min(best, new)
    assert best is not None  # a node without trees: there are fewer queries than nodes, and none is left
    return best[1:]

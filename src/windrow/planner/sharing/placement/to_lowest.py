"""To the lowest: from the most expensive on, each query goes to the node that costs least so far.

With one tree a node it is woven into it; with several, into the node's cheapest one or beside them,
whichever raises the cost less. It balances well and weaves blindly. Source: Shein 2019, §6.5.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.planner.sharing.placement.nodes import Nodes, Placement, single_trees

if TYPE_CHECKING:
    from collections.abc import Iterable

    from windrow.planner.sharing.cost import CostModel
    from windrow.planner.sharing.tree import Tree
    from windrow.planner.sharing.window_set import Windows


def g_tl(
    windows: Windows, cost: CostModel, nodes: int, *, seed: int = 0, together: bool = False
) -> Placement:
    """Every query in a tree of its own."""
    on = Nodes(cost, nodes)
    return grouped(single_trees(windows, cost, together), on).placed("g_tl")


def grouped(trees: Iterable[Tree], nodes: Nodes) -> Nodes:
    """Trees as they are, each to the node that costs least so far."""
    for tree in _from_the_most_expensive(trees, nodes):
        nodes.group(nodes.cheapest(), tree)
    return nodes


def w_tl(
    windows: Windows, cost: CostModel, nodes: int, *, seed: int = 0, together: bool = False
) -> Placement:
    """One tree a node."""
    on = Nodes(cost, nodes)
    return woven(single_trees(windows, cost, together), on).placed("w_tl")


def woven(trees: Iterable[Tree], nodes: Nodes) -> Nodes:
    """Each tree into the one of the node that costs least so far."""
    for tree in _from_the_most_expensive(trees, nodes):
        node = nodes.cheapest()
        if nodes.trees[node]:
            nodes.weave(node, 0, tree)
        else:
            nodes.group(node, tree)
    return nodes


def wg_tl(
    windows: Windows, cost: CostModel, nodes: int, *, seed: int = 0, together: bool = False
) -> Placement:
    """Several trees a node; the cheapest one is woven into, if that is better than beside it."""
    on = Nodes(cost, nodes)
    for tree in _from_the_most_expensive(single_trees(windows, cost, together), on):
        node = on.cheapest()
        prices = on.tree_costs[node]
        cheapest = min(range(len(prices)), key=prices.__getitem__, default=None)
        if cheapest is not None and on.increase(node, cheapest, tree) <= on.price.of(tree):
            on.weave(node, cheapest, tree)
        else:
            on.group(node, tree)
    return on.placed("wg_tl")


def _from_the_most_expensive(trees: Iterable[Tree], nodes: Nodes) -> list[Tree]:
    return sorted(trees, key=nodes.price.of, reverse=True)

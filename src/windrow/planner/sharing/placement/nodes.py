"""Nodes and the trees on them: a placement under construction, and one that is done.

A node passes over the rows once for each of its trees; its cost is that of its trees. The total says how
much work there is, the maximum how fast the slowest node must be. Source: Shein 2019, §6.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from windrow.errors import PlanError
from windrow.planner.sharing.window_set import WindowSet

if TYPE_CHECKING:
    from windrow.planner.sharing.cost import CostModel
    from windrow.planner.sharing.tree import Tree
    from windrow.planner.sharing.window_set import Windows

MOST_QUERIES = 2_500
"""Beyond so many queries, those whose windows are cut alike are always woven first."""


@dataclass(frozen=True, eq=False)
class Placement:
    """Which trees run on which node."""

    optimizer: str
    nodes: tuple[tuple[Tree, ...], ...]
    costs: tuple[float, ...]
    """Of each node."""
    seconds: float
    """How long planning took."""

    @property
    def total(self) -> float:
        return sum(self.costs)

    @property
    def maximum(self) -> float:
        return max(self.costs)

    @property
    def exact(self) -> bool:
        """Whether all edges were counted, none estimated."""
        return all(tree.exact for trees in self.nodes for tree in trees)


class Nodes:
    """Nodes that trees are put on."""

    def __init__(self, cost: CostModel, number: int) -> None:
        if number < 1:
            raise PlanError(f"trees cannot be placed on {number} nodes")
        self.started = perf_counter()
        self.cost = cost
        self.price = cost.separate()
        self.trees: list[list[Tree]] = [[] for _ in range(number)]
        self.costs = [0.0] * number
        self.tree_costs: list[list[float]] = [[] for _ in range(number)]

    def cheapest(self) -> int:
        """The node with the least cost."""
        return min(range(len(self.costs)), key=self.costs.__getitem__)

    def group(self, node: int, tree: Tree) -> None:
        """Put a tree beside the others."""
        price = self.price.of(tree)
        self.trees[node].append(tree)
        self.tree_costs[node].append(price)
        self.costs[node] += price

    def weave(self, node: int, at: int, tree: Tree) -> None:
        """Weave a tree into one of the node's."""
        woven = self.cost.woven(self.trees[node][at], tree, disjoint=False)
        price = self.price.of(woven)
        self.costs[node] += price - self.tree_costs[node][at]
        self.trees[node][at] = woven
        self.tree_costs[node][at] = price

    def increase(self, node: int, at: int, tree: Tree) -> float:
        """By how much weaving a tree into one of the node's would raise the cost."""
        woven = self.cost.woven_cost(self.trees[node][at], tree, self.price, disjoint=False)
        return woven - self.tree_costs[node][at]

    def placed(self, optimizer: str) -> Placement:
        """As they are now."""
        costs = tuple(sum(prices) for prices in self.tree_costs)
        nodes = tuple(tuple(trees) for trees in self.trees)
        return Placement(optimizer, nodes, costs, perf_counter() - self.started)


def single_trees(windows: Windows, cost: CostModel, together: bool) -> list[Tree]:
    """A tree for each query, or for each way to cut."""
    asked = WindowSet.of(windows)
    if together or asked.queries.sum() > MOST_QUERIES:
        return [cost.tree(group) for group in asked.groups()]
    alone = [WindowSet(one.rows, one.queries // one.queries) for one in asked.singles()]
    return [tree for one, n in zip(alone, asked.queries.tolist()) for tree in [cost.tree(one)] * n]

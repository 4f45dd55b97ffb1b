"""Nodes at random or in turn, whatever it costs: what the others are compared with.

Queries are taken one after the other. With several trees a node, the tree is found the same way: at random
among the node's trees and a new one, or each of them in turn. Source: Shein 2019, §6.4.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from windrow.planner.sharing.placement.nodes import Nodes, Placement, single_trees

if TYPE_CHECKING:
    from windrow.planner.sharing.cost import CostModel
    from windrow.planner.sharing.window_set import Windows

NodeChooser = Callable[[int], int]
"""Which of so many nodes."""


def g_rand(
    windows: Windows, cost: CostModel, nodes: int, *, seed: int = 0, together: bool = False
) -> Placement:
    """At random, every query in a tree of its own."""
    return _placed("g_rand", windows, cost, nodes, together, _at_random(seed), _new_tree)


def g_rr(
    windows: Windows, cost: CostModel, nodes: int, *, seed: int = 0, together: bool = False
) -> Placement:
    """In turn, every query in a tree of its own."""
    return _placed("g_rr", windows, cost, nodes, together, _in_turn(nodes), _new_tree)


def w_rand(
    windows: Windows, cost: CostModel, nodes: int, *, seed: int = 0, together: bool = False
) -> Placement:
    """At random, one tree a node."""
    return _placed("w_rand", windows, cost, nodes, together, _at_random(seed), _one_tree)


def w_rr(
    windows: Windows, cost: CostModel, nodes: int, *, seed: int = 0, together: bool = False
) -> Placement:
    """In turn, one tree a node."""
    return _placed("w_rr", windows, cost, nodes, together, _in_turn(nodes), _one_tree)


def wg_rand(
    windows: Windows, cost: CostModel, nodes: int, *, seed: int = 0, together: bool = False
) -> Placement:
    """At random, into any of the node's trees or a new one."""
    choose = _at_random(seed)
    return _placed("wg_rand", windows, cost, nodes, together, choose, lambda node, trees: choose(trees + 1))


def wg_rr(
    windows: Windows, cost: CostModel, nodes: int, *, seed: int = 0, together: bool = False
) -> Placement:
    """In turn, into each of the node's trees and a new one in turn."""
    turns = [0] * nodes

    def next_tree(node: int, trees: int) -> int:
        turn, turns[node] = turns[node], turns[node] + 1
        if turn >= trees:
            turns[node] = 0
        return min(turn, trees)

    return _placed("wg_rr", windows, cost, nodes, together, _in_turn(nodes), next_tree)


def _placed(
    name: str,
    windows: Windows,
    cost: CostModel,
    number: int,
    together: bool,
    choose_node: NodeChooser,
    choose_tree: Callable[[int, int], int],
) -> Placement:
    nodes = Nodes(cost, number)
    for tree in single_trees(windows, cost, together):
        node = choose_node(number)
        trees = len(nodes.trees[node])
        at = choose_tree(node, trees)
        if at == trees:
            nodes.group(node, tree)
        else:
            nodes.weave(node, at, tree)
    return nodes.placed(name)


def _at_random(seed: int) -> NodeChooser:
    generator = np.random.default_rng(seed)
    return lambda number: int(generator.integers(number))


def _in_turn(nodes: int) -> NodeChooser:
    turns = cycle(range(nodes))
    return lambda number: next(turns)


def _new_tree(node: int, trees: int) -> int:
    return trees


def _one_tree(node: int, trees: int) -> int:
    return 0

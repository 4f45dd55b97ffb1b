"""Put one more tree into a plan where it raises the cost least: into one of its trees, or beside them.

All places are estimated, and the promising ones priced exactly, until none that is left can be better:
milliseconds for thousands of trees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from windrow.planner.sharing.cost import CostModel
    from windrow.planner.sharing.forest import Forest
    from windrow.planner.sharing.tree import Tree

MOST_TRIALS = 16
"""How many places are priced exactly. Estimates are close; more would not find better ones."""


def insert(forest: Forest, tree: Tree, cost: CostModel) -> None:
    """Weave a tree into the best one, or add it."""
    place, woven = cheapest_place(forest, tree, cost)
    if place is None:
        forest.append(tree)
    else:
        forest.replace(place, woven)


def cheapest_place(
    forest: Forest, tree: Tree, cost: CostModel, *, disjoint: bool = True
) -> tuple[int | None, Tree]:
    """Where a tree raises the cost least, and what stands there then; None: beside the others."""
    price = forest.price
    best: tuple[int | None, Tree] = (None, tree)
    least = price.of(tree)
    if not forest.trees:
        return best
    estimates = forest.joint_costs(tree, forest.joint_edges(tree)) - forest.costs
    estimates += price.answer * tree.fired
    some = min(MOST_TRIALS, len(estimates) - 1)
    promising = np.argpartition(estimates, some)[: some + 1]
    for place in promising[np.argsort(estimates[promising], kind="stable")].tolist():
        if estimates[place] >= least:
            break
        woven = cost.woven(forest.trees[place], tree, disjoint=disjoint)
        increase = price.of(woven) - price.of(forest.trees[place])
        if increase < least:
            best, least = (place, woven), increase
    return best

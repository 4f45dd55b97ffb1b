"""To nodes: WeaveShare until there are no more trees than nodes, or weaving saves nothing.

If trees are left over then, with one tree a node weaving goes on, at the least loss; with several, the
trees are grouped to the lowest. It has the least total cost and is not balanced. Source: Shein 2019,
§6.5.2; the listing does not stop at the number of nodes, the text does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.planner.sharing.greedy import Greedy
from windrow.planner.sharing.placement.nodes import Nodes, Placement, single_trees
from windrow.planner.sharing.placement.to_lowest import grouped

if TYPE_CHECKING:
    from windrow.planner.sharing.cost import CostModel
    from windrow.planner.sharing.window_set import Windows


def w_tn(
    windows: Windows, cost: CostModel, nodes: int, *, seed: int = 0, together: bool = False
) -> Placement:
    """One tree a node."""
    return _placed("w_tn", windows, cost, nodes, together, forced=True)


def wg_tn(
    windows: Windows, cost: CostModel, nodes: int, *, seed: int = 0, together: bool = False
) -> Placement:
    """Several trees a node."""
    return _placed("wg_tn", windows, cost, nodes, together, forced=False)


def _placed(
    name: str, windows: Windows, cost: CostModel, nodes: int, together: bool, *, forced: bool
) -> Placement:
    on = Nodes(cost, nodes)
    trees = single_trees(windows, cost, together)
    if len(trees) > nodes:
        trees = Greedy(trees, cost, on.price, disjoint=False).weave(fewest=nodes, forced=forced)
    return grouped(trees, on).placed(name)

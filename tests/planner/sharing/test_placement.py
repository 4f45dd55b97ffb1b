"""The thirteen placements: every query on one node, the shape that each promises, costs that add up."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planner.sharing.strategies import multiples, panes_cost, partitions, rates, seconds
from windrow.errors import PlanError
from windrow.planner.sharing import CostModel, weave_share
from windrow.planner.sharing.placement import PLACEMENTS
from windrow.planner.sharing.placement.inserted import best_node
from windrow.planner.sharing.placement.nodes import Nodes
from windrow.planner.sharing.spread import checked_hint

QUERIES = st.lists(multiples, min_size=1, max_size=14)


@given(QUERIES, rates, st.integers(1, 5), st.integers(0, 3), st.booleans(), st.booleans())
@settings(max_examples=60)
def test_every_query_is_on_one_node_and_costs_add_up(asked, rate, nodes, seed, together, answered_once):
    cost = CostModel(rate, final="panes", answered_once=answered_once)
    for name, place in PLACEMENTS.items():
        placed = place(asked, cost, nodes, seed=seed, together=together)
        held = Counter()
        for trees in placed.nodes:
            for tree in trees:
                held.update(tree.windows.asked())
        assert held == Counter(asked), name
        assert len(placed.nodes) == nodes
        fresh = [cost.of([cost.tree(tree.windows) for tree in trees]) for trees in placed.nodes]
        assert placed.costs == pytest.approx(fresh), name
        assert placed.total == pytest.approx(sum(fresh))
        assert placed.maximum == pytest.approx(max(fresh))
        if name.startswith("w_"):
            assert max(len(trees) for trees in placed.nodes) <= 1
        if name.startswith("g_") and not together:
            assert all(tree.windows.queries.sum() == 1 for trees in placed.nodes for tree in trees)


def test_there_are_the_thirteen_of_table_7():
    assert len(PLACEMENTS) == 13
    assert all(name == place.__name__ for name, place in PLACEMENTS.items())


def test_a_seed_decides():
    asked = [seconds(3 * s, s) for s in range(2, 40)]
    cost = CostModel(10, final="panes")
    for place in PLACEMENTS.values():
        assert place(asked, cost, 4, seed=5).costs == place(asked, cost, 4, seed=5).costs
    drawn = {PLACEMENTS["g_rand"](asked, cost, 4, seed=seed).costs for seed in range(5)}
    assert len(drawn) > 1


@given(st.lists(multiples, min_size=2, max_size=5, unique=True), rates, st.integers(1, 3))
@settings(max_examples=40)
def test_no_placement_is_better_than_the_best_there_is(asked, rate, nodes):
    """A plan's total does not depend on the nodes, only on the trees: none is below the best partition."""
    best = min(panes_cost(groups, rate) for groups in partitions(asked))
    for name, place in PLACEMENTS.items():
        assert place(asked, CostModel(rate, final="panes"), nodes).total >= best * (1 - 1e-9), name


def test_to_lowest_balances_what_it_groups():
    """Longest processing time first: never more than the average and the largest tree."""
    asked = [seconds(s * (1 + s % 7), s) for s in range(1, 60)]
    cost = CostModel(3, final="panes")
    placed = PLACEMENTS["g_tl"](asked, cost, 5)
    largest = max(cost.of([tree]) for trees in placed.nodes for tree in trees)
    assert placed.maximum <= placed.total / 5 + largest


def test_to_nodes_is_weave_share_where_that_leaves_more_trees_than_nodes():
    asked = [seconds(40 * s, s) for s in range(2, 40)]
    cost = CostModel(2, final="panes")
    plan = weave_share(asked, cost)
    assert len(plan.trees) > 4
    assert PLACEMENTS["wg_tn"](asked, cost, 4).total == pytest.approx(plan.cost)
    assert PLACEMENTS["w_tn"](asked, cost, 4).total > plan.cost


def test_to_nodes_stops_at_the_number_of_nodes():
    asked = [seconds(s, s) for s in (2, 4, 8, 16, 32)]
    cost = CostModel(1000, final="panes")
    assert len(weave_share(asked, cost).trees) == 1
    for name in ("w_tn", "wg_tn"):
        assert [len(trees) for trees in PLACEMENTS[name](asked, cost, 3).nodes] == [1, 1, 1]


def test_inserted_takes_the_node_that_is_cheapest_afterwards_not_the_one_that_weaves_best():
    """A slide of 4 weaves with 2 perfectly; but the node of the 2s is dear, and balance comes first."""
    cost = CostModel(10, final="panes")
    dear = [seconds(100 + 2 * k, 2) for k in range(8)]
    asked = [seconds(3, 3), seconds(4, 4)]
    nodes = Nodes(cost, 2)
    nodes.group(0, cost.tree(dear))
    nodes.group(1, cost.tree(asked[:1]))
    new = cost.tree(asked[1:])
    assert nodes.increase(0, 0, new) < nodes.increase(1, 0, new)
    node, at, increase = best_node(nodes, new)
    assert (node, at) == (1, 0)
    nodes.weave(node, at, new)
    assert nodes.placed("w_i").costs[1] == pytest.approx(panes_cost([asked], 10))
    assert increase == pytest.approx(panes_cost([asked], 10) - panes_cost([asked[:1]], 10))


def test_bad_input_is_refused():
    with pytest.raises(PlanError, match="on 0 nodes"):
        PLACEMENTS["g_rr"]([seconds(2, 2)], CostModel(1), 0)
    with pytest.raises(PlanError, match="did you mean wg_tn"):
        checked_hint("wgtn")

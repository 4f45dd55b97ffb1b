"""Trees for several nodes: all windows are there, and the busiest node has less to do than one alone had."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.planner.sharing import PLACEMENTS, Weaver, to_lowest
from windrow.planner.sharing.spread import busiest
from windrow.slicing import Window

SECOND = 1_000_000
windows = st.builds(
    Window,
    range=st.integers(1, 60).map(lambda n: n * SECOND),
    slide=st.integers(1, 20).map(lambda n: n * SECOND),
)
costs = st.lists(st.floats(0, 100), min_size=1, max_size=12)


@given(costs, st.integers(1, 5))
def test_to_the_lowest_is_at_most_one_tree_above_even(costs, nodes):
    placed = to_lowest(costs, nodes)
    loads = [sum(cost for cost, node in zip(costs, placed, strict=True) if node == n) for n in range(nodes)]
    assert max(loads) == pytest.approx(busiest(costs, nodes))
    assert max(loads) <= sum(costs) / nodes + max(costs) + 1e-9


def weaver(nodes=1, hint=None):
    return Weaver.of(1_000.0, 50.0, grouped=True, hint=hint, nodes=nodes)


@given(
    st.lists(windows, min_size=1, max_size=30),
    st.integers(2, 4),
    st.sampled_from([None, *PLACEMENTS]),
)
def test_every_window_is_in_one_tree(asked, nodes, hint):
    plan = weaver(nodes, hint).planned(asked)
    assert plan.optimizer in PLACEMENTS
    placed = Counter(window for tree in plan.trees for window in tree.windows)
    assert placed == Counter(set(asked))
    if plan.optimizer.startswith("w_"):
        assert len(plan.trees) <= nodes


def test_two_nodes_have_about_half_each():
    asked = [Window(r * SECOND, s * SECOND) for r in range(30, 60, 3) for s in (2, 3, 5, 10)]
    alone = sum(map(weaver().final, weaver().planned(asked).trees))
    trees = weaver(2).planned(asked).trees
    assert busiest([weaver().final(tree) for tree in trees], 2) < 0.7 * alone
    assert weaver(2).cost(trees) < weaver(2).cost(weaver().planned(asked).trees)

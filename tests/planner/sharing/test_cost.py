"""Costs: the paper's formula on its examples, the same recomputed by marking edges, and counted operations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.final.test_operation_counts import FIGURE_20, operations
from tests.planner.sharing.strategies import SECOND, edges_a_second, panes_cost, rates, seconds, windows
from windrow.errors import PlanError
from windrow.planner.sharing import OPERATIONS, Constants, CostModel, max_share, no_share
from windrow.planner.sharing.final_work import FINAL_WORK, final_work
from windrow.planner.sharing.window_set import WindowSet
from windrow.slicing import Window, composite_slide, cuts_for_pass, edges

FEW = st.lists(windows, min_size=1, max_size=5, unique=True)


def test_example_2_of_shein():
    """Slides of 2 and 4 weave perfectly: partials every 2, of which the windows take three and four."""
    cost = CostModel(rate=10, final="panes")
    one, other = cost.tree([seconds(6, 2)]), cost.tree([seconds(8, 4)])
    woven = cost.woven(one, other)
    assert (one.edges, other.edges, woven.edges) == (0.5, 0.25, 0.5)
    assert cost.of([one, other]) == 2 * 10 + 0.5 * 3 + 0.25 * 2
    assert cost.of([woven]) == 10 + 0.5 * (3 + 2)


def test_examples_10_and_12_of_shein():
    """Slides 3, 4, 6 and 9, two of them in fragments: 27 edges in a composite slide of 36."""
    cost = CostModel(rate=1)
    fragments = [seconds(3, 3), seconds(5, 4), seconds(10, 6), seconds(9, 9)]
    assert cost.tree(fragments).edges == pytest.approx(27 / 36)


@given(FEW, rates)
def test_trees_cost_what_marked_edges_say(asked, rate):
    cost = CostModel(rate, final="panes")
    assert cost.tree(asked).edges == pytest.approx(edges_a_second(asked))
    assert max_share(asked, cost).cost == pytest.approx(panes_cost([asked], rate))
    assert no_share(asked, cost).cost == pytest.approx(panes_cost([[w] for w in asked], rate))


@given(FEW, FEW, st.sampled_from(sorted(FINAL_WORK)), st.booleans())
def test_weaving_two_trees_is_planning_them_as_one(some, others, final, answered_once):
    cost = CostModel(7.0, groups=3.0, final=final, answered_once=answered_once)
    woven = cost.woven(cost.tree(some), cost.tree(others), disjoint=False)
    whole = cost.tree([*some, *others])
    assert woven.cuts == whole.cuts
    assert woven.windows.asked() == whole.windows.asked()
    price = cost.separate()
    assert price.of(woven) == pytest.approx(price.of(whole))
    assert cost.woven_cost(cost.tree(some), cost.tree(others), price, disjoint=False) == pytest.approx(
        price.of(whole)
    )


@given(FEW, st.sampled_from(sorted(FINAL_WORK)))
def test_one_tree_costs_the_same_with_a_combined_pass(asked, final):
    cost = CostModel(3.0, groups=5.0, final=final, constants=Constants(1.0, 2.0, 3.0, 4.0))
    tree = cost.tree(asked)
    assert cost.of([tree], tree.combs) == pytest.approx(cost.of([tree]))


@pytest.mark.parametrize(("slides", "cut"), [((2, 3), 1), ((7, 11), 1 / 7 + 1 / 11 - 1 / 77)])
def test_a_combined_pass_takes_rows_in_once_and_is_merged_into_each_tree(slides, cut):
    """Granules of a second, or the slices where these are far fewer."""
    cost = CostModel(rate=100, final="panes", constants=Constants(1.0, 10.0, 1.0, 0.0))
    trees = [cost.tree([seconds(slide, slide)]) for slide in slides]
    combs = trees[0].combs.joined(trees[1].combs)
    finishing = sum(1 / slide for slide in slides)
    assert cost.of(trees, combs) == pytest.approx(100 + 10 * cut + cut + finishing)


@given(FEW)
def test_a_pass_collects_what_it_cuts(asked):
    """Counted by making the cuts of a whole composite slide."""
    made = edges(cuts_for_pass(asked), 0, composite_slide(asked))
    assert CostModel(1).tree(asked).cut == pytest.approx(len(made) * SECOND / composite_slide(asked))


def test_a_pass_collects_at_most_the_rows():
    collecting = Constants(0.0, 1.0, 0.0, 0.0)
    costs = [
        CostModel(rate, groups=10, constants=collecting).of([CostModel(1).tree([seconds(6, 2)])])
        for rate in (3, 5, 1000)
    ]
    assert costs == [3, 5, 5]


def test_each_constant_prices_its_own():
    """Rows, partials, operations and results of two queries with one window, in ten groups."""
    priced = {
        name: CostModel(
            100, groups=10, final="panes", constants=Constants(**{**dict.fromkeys(PARTS, 0.0), name: 1.0})
        )
        for name in PARTS
    }
    asked = [seconds(6, 2), seconds(6, 2)]
    assert {name: max_share(asked, cost).cost for name, cost in priced.items()} == {
        "row": 100,
        "partial": 10 * 0.5,
        "operation": 10 * 0.5 * 3,
        "result": 10 * 2 * 0.5,
    }


PARTS = ("row", "partial", "operation", "result")


def test_equal_windows_are_answered_once_or_each():
    asked = {seconds(6, 2): 5}
    assert CostModel(0, final="panes").tree(asked).operations == 0.5 * 3
    assert CostModel(0, final="panes", answered_once=False).tree(asked).operations == 0.5 * 15


# Ω


def omega(final, ranges):
    asked = WindowSet.of([Window(r * SECOND, SECOND) for r in ranges])
    work = final_work(final)(asked, np.ones(len(asked)), 1.0)
    return work.each + work.once


def test_table_11():
    assert omega("panes", [3, 5]) == 8
    assert omega("flat_fat", [64]) == pytest.approx(5 + 63 / 64)
    assert omega("flat_fat", [64, 8]) == pytest.approx(5 + 63 / 64 + 2 + 7 / 8)
    assert omega("flat_fit", [3, 5, 9]) == 9
    assert omega("slick_deque_non_inv", [2, 3]) == pytest.approx(2 - 2 / 3 + 2 + 1 + 1 / 2 + 1 / 6)


def counted(final, ranges, values, warm):
    taken = operations(final, [Window(r, 1) for r in ranges], values, warm=warm)[warm:]
    return sum(taken) / len(taken)


def test_slick_deque_takes_two_operations_for_each_length_as_the_text_says_and_not_one_as_the_table():
    taken = operations("slick_deque_inv", [Window(3, 1), Window(5, 1)], FIGURE_20, warm=5)
    assert taken[-1] == omega("slick_deque_inv", [3, 5]) == 4


@pytest.mark.parametrize(
    ("final", "ranges"),
    [("flat_fat", [64]), ("flat_fat", [16, 64]), ("flat_fit", [64]), ("slick_deque_inv", [8, 32, 64])],
)
def test_omega_is_close_to_what_our_algorithms_were_counted_to_take(final, ranges):
    values = np.random.default_rng(1).permutation(256)
    assert omega(final, ranges) == pytest.approx(counted(final, ranges, values, warm=64), rel=0.35)


def test_our_own_structure_does_nothing_for_windows_that_do_not_fire():
    """A push an edge, whatever the windows, and an answer when a window fires."""
    cost = CostModel(rate=0, final="shared_invertible", constants=OPERATIONS)
    slow = cost.tree([seconds(3600, 60)])
    assert slow.operations == pytest.approx(2 / 60)
    assert cost.woven(slow, cost.tree([seconds(1, 1)])).operations == pytest.approx(1 + 1 + 1 / 60)


def test_bad_models_are_refused():
    with pytest.raises(PlanError, match="did you mean flat_fat"):
        CostModel(1, final="flatfat")
    with pytest.raises(PlanError, match="rate of -1"):
        CostModel(-1)


def test_an_estimate_is_marked_up_to_the_plan():
    from windrow.slicing.edge_counts import EdgeRate

    cost = CostModel(1, counter=lambda combs: EdgeRate(1.0, 0.5, 1.5))
    plan = max_share([seconds(6, 2)], cost)
    assert not plan.trees[0].exact
    assert not plan.exact
    assert max_share([seconds(6, 2)], CostModel(1)).exact

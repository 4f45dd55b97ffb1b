"""Where queries go: into the tree that they raise the cost of least, and with what passes."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planner.sharing.strategies import SECOND, multiples, partitions, rates, seconds
from tests.planner.sharing.strategies import windows as few_seconds
from windrow.errors import PlanError
from windrow.planner.sharing import OPTIMIZERS, SECONDS, CostModel, Weaver
from windrow.planner.sharing.final_work import FINAL_WORK
from windrow.planner.sharing.weaver import WORTH_IT
from windrow.slicing import Window

windows = st.builds(
    Window, range=st.integers(1, 60).map(SECOND.__mul__), slide=st.integers(1, 30).map(SECOND.__mul__)
)
finals = st.sampled_from(sorted(FINAL_WORK))
hints = st.sampled_from([None, *OPTIMIZERS])


def weaver(hint=None, rate=1e5, groups=None):
    return Weaver.of(rate, groups, grouped=groups is not None, hint=hint)


def sets(trees):
    return [set(tree.windows) for tree in trees]


def after(trees, placed):
    """The trees there are when windows have been placed."""
    replaced = {place: tree for place, tree in placed if place is not None}
    return [
        *(replaced.get(place, tree) for place, tree in enumerate(trees)),
        *(tree for place, tree in placed if place is None),
    ]


# a class that has no trees


@pytest.mark.parametrize("hint", [None, *OPTIMIZERS])
@settings(max_examples=20)
@given(asked=st.lists(windows, min_size=1, max_size=12))
def test_every_window_is_in_one_tree(hint, asked):
    planted = sets(weaver(hint).plant(asked))
    assert sorted(w for tree in planted for w in tree) == sorted(set(asked))
    if hint == "max_share":
        assert len(planted) == 1
    if hint == "no_share":
        assert len(planted) == len(set(asked))


@settings(max_examples=40)
@given(st.lists(few_seconds, min_size=1, max_size=12), rates, finals, st.sampled_from([1.0, 50.0]))
def test_a_plan_costs_what_running_its_trees_does(asked, rate, final, groups):
    model = CostModel(rate, groups=groups, final=final, constants=SECONDS)
    for name, optimizer in OPTIMIZERS.items():
        plan = optimizer(asked, model)
        assert Weaver(model, name).cost(plan.trees) == pytest.approx(plan.cost)
        assert Weaver(model).cost(plan.trees) <= plan.cost * (1 + 1e-9)


@settings(max_examples=40)
@given(st.lists(few_seconds, min_size=1, max_size=14), rates, finals)
def test_the_plan_is_the_cheapest_of_all(asked, rate, final):
    """But for the little that it does not look for."""
    plan = Weaver(CostModel(rate, final=final))
    cost = plan.cost(plan.planned(asked, seconds=60).trees)
    cheapest = min(plan.cost(optimizer(asked, plan.model).trees) for optimizer in OPTIMIZERS.values())
    assert cost * WORTH_IT <= cheapest * (1 + 1e-9)


@settings(max_examples=30)
@given(asked=st.lists(windows, min_size=2, max_size=8, unique=True))
def test_what_it_plants_is_never_dearer_than_any_optimizer(asked):
    plan = weaver(groups=50)
    cost = plan.cost(plan.plant(asked, seconds=60))
    for optimizer in OPTIMIZERS.values():
        assert cost <= plan.cost(optimizer(dict.fromkeys(asked, 1), plan.model).trees) * (1 + 1e-9)


@settings(max_examples=60)
@given(st.lists(few_seconds, min_size=1, max_size=5, unique=True), rates, finals, st.data())
def test_where_little_can_be_saved_no_trees_save_more(asked, rate, final, data):
    """Whatever the trees are, and whatever others there could be."""
    plan = Weaver(CostModel(rate, groups=3.0, final=final, constants=SECONDS))
    ways = [[plan.model.tree(group) for group in groups] for groups in partitions(asked)]
    trees = data.draw(st.sampled_from(ways))
    if not plan.may_save(trees):
        assert min(map(plan.cost, ways)) >= WORTH_IT * plan.cost(trees) * (1 - 1e-9)


def test_one_tree_that_leaves_much_to_save_is_woven_anew():
    slides = (2, 4, 8, 16, 3, 9, 27)
    plan = Weaver(CostModel(rate=50, final="panes"))
    together = [plan.model.tree([seconds(100 * s, s) for s in slides])]
    assert plan.may_save(together)
    assert plan.cost(plan.plant([seconds(100 * s, s) for s in slides])) < WORTH_IT * plan.cost(together)
    assert not weaver(rate=1e6).may_save([plan.model.tree([seconds(60, 1)])])


def test_without_a_budget_there_is_still_a_plan():
    plan = Weaver(CostModel(50, final="panes"))
    asked = [seconds(200, 2), seconds(300, 3)]
    assert plan.may_save(plan.plant(asked, seconds=0))
    assert plan.planned(asked, seconds=0).optimizer == "max_share"
    assert plan.planned([]).trees == ()


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_a_hint_chooses(name):
    plan = weaver(name.upper())
    assert plan.planned([seconds(6, 2), seconds(9, 3)]).optimizer == name
    assert plan.separate(plan.plant([seconds(6, 2)])) == (name not in ("max_share", "tri_weave"))


def test_an_unknown_optimizer_is_refused_by_name():
    with pytest.raises(PlanError, match="there is no optimizer 'weaveshare'; did you mean weave_share"):
        weaver("weaveshare").plant([Window(2, 1)])


# new windows


@settings(max_examples=30)
@given(
    asked=st.lists(windows, min_size=1, max_size=8, unique=True),
    more=st.lists(windows, max_size=30, unique=True),
)
def test_new_windows_find_a_place_and_nobody_loses_one(asked, more):
    plan = weaver(groups=50)
    trees = plan.plant(asked)
    new = [window for window in more if window not in asked]
    placed = plan.place(new, trees)
    for place, tree in placed:
        assert place is None or set(trees[place].windows) <= set(tree.windows)
    found = sets(after(trees, placed))
    assert sorted(chain.from_iterable(found)) == sorted([*asked, *new])


@settings(max_examples=60)
@given(
    st.lists(few_seconds, min_size=1, max_size=6, unique=True),
    st.lists(few_seconds, max_size=8, unique=True),
    rates,
    finals,
    hints,
)
def test_one_after_another_they_cost_what_their_trees_do(before, more, rate, final, hint):
    model = CostModel(rate, groups=2.0, final=final, constants=SECONDS)
    plan = Weaver(model, hint)
    trees = plan.plant(before)
    asked = set(before) | set(more)
    for window in more:
        if window not in before:
            trees = after(trees, plan.place([window], trees))
    assert sorted(chain.from_iterable(sets(trees))) == sorted(asked)
    fresh = [model.tree(tree.windows) for tree in trees]
    assert plan.cost(trees) == pytest.approx(plan.cost(fresh))
    if hint in ("no_share", "max_share"):
        assert plan.cost(trees) == pytest.approx(OPTIMIZERS[hint](asked, model).cost)


@given(
    st.lists(multiples, min_size=2, max_size=8, unique=True),
    rates,
    st.sampled_from([None, "weave_share", "tri_weave"]),
)
def test_a_window_goes_where_it_costs_least(asked, rate, hint):
    """Priced in every place; windows through one instant, so that no place is estimated too dear."""
    *before, window = asked
    plan = Weaver(CostModel(rate, final="panes"), hint)
    trees = plan.plant(before)
    alone = plan.model.tree([window])
    places = [plan.cost([*trees, alone])]
    for place, tree in enumerate(trees):
        places.append(plan.cost([*trees[:place], plan.model.woven(tree, alone), *trees[place + 1 :]]))
    assert plan.cost(after(trees, plan.place([window], trees))) == pytest.approx(min(places))


def test_a_window_that_weaves_goes_where_it_weaves():
    plan = Weaver(CostModel(rate=5, final="panes"), "weave_share")
    trees = plan.plant([seconds(60, 2), seconds(90, 3)])
    assert len(trees) == 2
    trees = after(trees, plan.place([seconds(40, 4), seconds(45, 9)], trees))
    slides = [sorted(window.slide // SECOND for window in tree.windows) for tree in trees]
    assert sorted(slides) == [[2, 4], [3, 9]]


def test_an_odd_slide_gets_a_pass_of_its_own_where_rows_would_have_to_be_handed_over():
    """Windows in seconds, and one that ends at odd microseconds: the granules of both would be rows."""
    in_seconds = [Window(5 * s * SECOND, s * SECOND) for s in range(2, 40)]
    odd = Window(77 * SECOND, 13 * SECOND + 7)
    plan = weaver()
    trees = plan.plant(in_seconds)
    ((place, own),) = plan.place([odd], trees)
    assert place is None
    assert plan.separate([*trees, own])
    assert not plan.separate([plan.model.tree(in_seconds[:20]), plan.model.tree(in_seconds[20:])])
    planted = plan.plant([*in_seconds, odd])
    assert len(planted) == 2
    assert plan.separate(planted)
    assert plan.cost(planted) <= plan.cost([*trees, own])

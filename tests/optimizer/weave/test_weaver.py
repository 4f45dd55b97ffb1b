"""Where queries go: into the tree that they raise the cost of least, and with what passes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.errors import PlanError
from windrow.optimizer.weave import OPTIMIZERS, Weaver
from windrow.slicing import Window

SECOND = 1_000_000
windows = st.builds(
    Window, range=st.integers(1, 60).map(SECOND.__mul__), slide=st.integers(1, 30).map(SECOND.__mul__)
)


def weaver(hint=None, rate=1e5, groups=None):
    return Weaver.of(rate, groups, grouped=groups is not None, hint=hint)


def sets(trees):
    return [set(tree.windows) for tree in trees]


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


@settings(max_examples=30)
@given(
    asked=st.lists(windows, min_size=1, max_size=8, unique=True),
    more=st.lists(windows, max_size=30, unique=True),
)
def test_new_windows_find_a_place_and_nobody_loses_one(asked, more):
    plan = weaver(groups=50)
    trees = plan.plant(asked)
    new = [window for window in more if window not in asked]
    after = dict(enumerate(trees))
    own = []
    for place, tree in plan.place(new, trees):
        if place is None:
            own.append(tree)
        else:
            assert set(after[place].windows) <= set(tree.windows)
            after[place] = tree
    found = sets([*after.values(), *own])
    assert sorted(w for tree in found for w in tree) == sorted([*asked, *new])


@settings(max_examples=30)
@given(asked=st.lists(windows, min_size=2, max_size=8, unique=True))
def test_what_it_plants_is_never_dearer_than_any_optimizer(asked):
    plan = weaver(groups=50)
    cost = plan.cost(plan.plant(asked, seconds=60))
    for optimizer in OPTIMIZERS.values():
        assert cost <= plan.cost(optimizer(dict.fromkeys(asked, 1), plan.model).trees) * (1 + 1e-9)


def test_an_odd_slide_gets_a_pass_of_its_own_where_rows_would_have_to_be_handed_over():
    """Windows in seconds, and one that ends at odd microseconds: the granules of both would be rows."""
    seconds = [Window(5 * s * SECOND, s * SECOND) for s in range(2, 40)]
    odd = Window(77 * SECOND, 13 * SECOND + 7)
    plan = weaver()
    trees = plan.plant(seconds)
    ((place, own),) = plan.place([odd], trees)
    assert place is None
    assert plan.separate([*trees, own])
    assert not plan.separate([plan.model.tree(seconds[:20]), plan.model.tree(seconds[20:])])


def test_an_unknown_optimizer_is_refused_by_name():
    with pytest.raises(PlanError, match="there is no optimizer 'weaveshare'; did you mean weave_share"):
        weaver("weaveshare").plant([Window(2, 1)])

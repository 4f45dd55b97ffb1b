"""Which trees Spark tasks hold, and on which nodes: by the work of a batch, and without moving much."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from windrow.runtime.settings import EngineSettings, Settings
from windrow.runtime.state.spreading import LARGE_SECONDS, SMALL_SECONDS, Spreading
from windrow.slicing import Window


def spreading_of(nodes=None, cores=2, batch_seconds=1.0):
    """One for a stream whose batches bring so much event time."""
    home = SimpleNamespace(catalog=SimpleNamespace(batch_seconds=lambda stream: batch_seconds))
    return Spreading(home, "events", EngineSettings(Settings(nodes=nodes, cores=cores)))


class Tree:
    """What is asked of a tree."""

    def __init__(self, number, node=None):
        self.id, self.node = number, node

    def settle(self, node):
        self.node = node


def settled(spreading, *costs, trees=None):
    trees = trees or [Tree(number) for number in range(len(costs))]
    spreading.settle(trees, dict(enumerate(costs)))
    return [tree.node for tree in trees]


def test_tasks_take_over_where_a_batch_is_much_work_and_keep_it_until_it_is_little():
    spreading = spreading_of()
    assert settled(spreading, 0.6 * LARGE_SECONDS) == [None]
    assert settled(spreading, 0.6 * LARGE_SECONDS, 0.6 * LARGE_SECONDS) == [0, 1]
    assert spreading.nodes == 2
    assert settled(spreading, 1.1 * SMALL_SECONDS) == [0]
    assert settled(spreading, 0.9 * SMALL_SECONDS) == [None]


def test_longer_batches_are_more_work():
    assert settled(spreading_of(batch_seconds=600), LARGE_SECONDS / 500) == [0]
    assert settled(spreading_of(batch_seconds=400), LARGE_SECONDS / 500) == [None]
    assert settled(spreading_of(batch_seconds=None), 100.0) == [None]  # nobody can know yet


def test_it_is_looked_at_often_at_first_and_after_a_change():
    spreading = spreading_of()
    looked = [spreading.due(changed=False) for _ in range(40)]
    assert [at for at, due in enumerate(looked) if due] == [0, 2, 6, 14, 24, 34]
    assert [spreading.due(changed=changed) for changed in (True, False, False, False)] == [
        True,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(("nodes", "cost", "expected"), [(1, 100.0, [None]), (3, 0.0, [0])])
def test_a_number_that_was_asked_for_holds(nodes, cost, expected):
    assert settled(spreading_of(nodes=nodes), cost) == expected


def test_an_engine_goes_on_where_the_one_before_it_stopped():
    """Between little and much, what is stays."""
    spreading = spreading_of()
    assert settled(spreading, 1.0, 0.5, trees=[Tree(0, node=1), Tree(1)]) == [1, 0]


def test_trees_stay_where_they_are_while_that_is_about_even():
    spreading = spreading_of(nodes=2)
    trees = [Tree(0, node=1), Tree(1, node=1), Tree(2, node=0)]
    assert settled(spreading, 2.0, 2.0, 4.5, trees=trees) == [1, 1, 0]
    assert settled(spreading, 2.0, 2.0, 4.5, 1.0, trees=[*trees, Tree(3)]) == [1, 1, 0, 1]
    assert settled(spreading, 2.0, 2.0, 0.1, trees=trees) == [0, 1, 0]


def test_trees_without_a_price_stay_in_the_driver():
    assert settled(spreading_of(nodes=2), 1.0, trees=[Tree(0), Tree(1)]) == [0, None]


def test_a_class_is_planned_anew_when_a_tree_is_too_much_for_a_node_and_once():
    spreading = spreading_of(nodes=2)
    windows = [{Window(4, 2), Window(6, 3)}]
    assert spreading.wants_plan("class", windows, [1.0], 1.0)
    assert not spreading.wants_plan("class", windows, [1.0], 3.0)
    assert not spreading.wants_plan("class", [{Window(4, 2)}], [1.0], 1.0)
    spreading.planned("class", windows)
    assert not spreading.wants_plan("class", windows, [1.0], 1.0)
    assert spreading.wants_plan("class", [*windows, {Window(9, 3)}], [1.0, 0.1], 1.1)


def test_what_was_split_is_planned_for_one_again():
    home = SimpleNamespace(catalog=SimpleNamespace(batch_seconds=lambda stream: 1.0))
    settings = EngineSettings(Settings(nodes=2, cores=2))
    spreading = Spreading(home, "events", settings)
    windows = [{Window(4, 2)}, {Window(6, 3)}]
    spreading.planned("class", windows)
    settings.leave_trees_to_the_driver()
    assert spreading.wants_plan("class", windows, [1.0, 1.0], 2.0)
    assert not spreading.wants_plan("other", windows, [1.0, 1.0], 2.0)

"""Queries and streams as an engine has bound them, and the trees that the queries share."""

from __future__ import annotations

from windrow.runtime.state.forest import _Past


def plans_of(engine):
    """The bound queries of an engine, by name."""
    return {name: query.plan for name, query in engine._queries.items()}


def declared_stream(engine, name):
    """A stream as it was declared, durations in microseconds."""
    return engine._relations.stream(name)


def wait_for_plans(engine):
    """Wait until the plans that are made in the background are made; the next epoch has them."""
    for runner in engine._running._runners.values():
        runner.forest.reweaving.wait()


def cost_of_trees(engine):
    """What the trees of an engine that has run cost, in seconds a second, by stream."""
    return {name: runner.forest.cost() for name, runner in engine._running._runners.items()}


def tasks_asked_for(engine):
    """How many Spark tasks are to hold the trees: as the engine was told, or 1 since tasks have failed."""
    return engine._home.nodes


# A forest by itself, without an engine.


def past_of(tree, evaluated):
    """What the slices of a tree can tell about the past, when it is evaluated up to an instant."""
    return _Past(tree, evaluated)


def pass_apart(forest, rows, trees):
    """Whether it is cheaper for trees with the same rows to have a pass each."""
    return forest._separate(rows, trees)


def tree_changed(forest, number):
    """Say that a tree has other members than when it was last priced."""
    forest._planned.pop(number)


def windows_priced(forest, tree, weaver):
    """The windows that a tree is priced by."""
    return set(forest._woven(tree, weaver).windows)

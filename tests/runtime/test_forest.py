"""What the slices of a tree can tell about the past, and when its passes are priced, without Spark."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from tests.harness.plans import pass_apart, past_of, tree_changed, windows_priced
from windrow.aggregates import Call, aggregate
from windrow.operators.aggregate.window_aggregate import BEGINNING
from windrow.planner.sharing import SECONDS, Weaver
from windrow.runtime.state.forest import Forest
from windrow.runtime.state.trees import Membership, RunningTree
from windrow.slicing import Window

SUM, MAX = (aggregate(Call(name, ("v",)), (pa.int32(),), pa.int64()) for name in ("sum", "max"))


def query(window: Window, *aggregates: Any) -> Any:
    return SimpleNamespace(plan=SimpleNamespace(window=window, aggregates=aggregates or (SUM,), keys=()))


def past(evaluated: int, *members: tuple[Window, int | None]) -> Any:
    """Of a tree with these windows, each with the instant when it joined."""
    tree = RunningTree(1, {})
    for number, (window, joined) in enumerate(members):
        after = BEGINNING if joined is None else joined + window.range
        tree.members[number] = Membership(query(window), joined, after)
    return past_of(tree, evaluated)


def test_slices_tell_as_far_back_as_the_longest_window_keeps_them() -> None:
    found = past(100, (Window(40, 5), None))
    assert found.complete_after(query(Window(20, 10))) == 105 - 40 - 1
    assert found.complete_after(query(Window(20, 15))) == 105 - 40 - 1


def test_cuts_and_partials_that_were_not_made_tell_nothing() -> None:
    found = past(100, (Window(40, 5), None))
    assert found.complete_after(query(Window(20, 3))) is None
    assert found.complete_after(query(Window(21, 10))) is None  # begins off the cuts
    assert found.complete_after(query(Window(20, 10), SUM, MAX)) is None


def test_what_a_late_comer_brought_tells_from_when_it_came() -> None:
    found = past(100, (Window(10, 10), None), (Window(60, 4), 70))
    # It is first answered at 132, and keeps what that window needs.
    assert found.complete_after(query(Window(8, 4))) == 132 - 60 - 1
    assert found.complete_after(query(Window(20, 10))) == 132 - 60 - 1
    assert past(100, (Window(100, 10), None), (Window(8, 4), 70)).complete_after(query(Window(8, 4))) == 70


def test_a_long_window_that_is_not_answered_yet_keeps_nothing_from_before_it_came() -> None:
    """Its first answer is at 96 + 60: what began before 96 has been dropped with the short one's."""
    found = past(100, (Window(10, 10), None), (Window(60, 10), 96))
    assert found.complete_after(query(Window(30, 10))) == 110 - 10 - 1


def test_passes_are_priced_when_trees_change() -> None:
    asked: list[str] = []
    catalog = SimpleNamespace(rate=asked.append)
    home = SimpleNamespace(catalog=catalog, nodes=1, optimizer=None, constants=SECONDS)
    forest = Forest(home, "events")  # type: ignore[arg-type]
    second = 1_000_000
    regular = [Window(60 * second, slide * second) for slide in range(7, 30)]
    odd, even = Window(60 * second, 13 * second + 7), Window(60 * second, 2 * second)
    trees = [tree_of(1, *regular), tree_of(2, odd)]
    assert [pass_apart(forest, "alike", trees) for _ in range(3)] == [True] * 3
    assert asked == ["events"]
    trees[1] = tree_of(2, even)
    tree_changed(forest, 2)
    assert [pass_apart(forest, "alike", trees) for _ in range(3)] == [False] * 3
    assert asked == ["events"] * 2


def tree_of(number: int, *windows: Window) -> RunningTree:
    members = {at: Membership(query(window), None, BEGINNING) for at, window in enumerate(windows)}
    return RunningTree(number, members)


def test_a_tree_that_all_queries_are_about_to_leave_still_costs_what_it_does() -> None:
    tree = tree_of(1, Window(60, 20), Window(60, 30))
    tree.members = {at: replace(member, until=100) for at, member in tree.members.items()}
    forest = Forest(SimpleNamespace(nodes=1), "events")  # type: ignore[arg-type]
    weaver = Weaver.of(1000.0, None, grouped=False, hint=None)
    assert not tree.windows
    assert windows_priced(forest, tree, weaver) == {Window(60, 20), Window(60, 30)}

"""What the slices of a tree can tell about the past, and when its passes are priced, without Spark."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from windrow.aggregates import Call, aggregate
from windrow.operators.aggregate.window_aggregate import BEGINNING
from windrow.planner.sharing import Weaver
from windrow.runtime.settings import EngineSettings, Settings
from windrow.runtime.state.forest import Forest, _Past
from windrow.runtime.state.trees import Membership, RunningTree
from windrow.slicing import Window

SUM, MAX = (aggregate(Call(name, ("v",)), (pa.int32(),), pa.int64()) for name in ("sum", "max"))
IN_THE_DRIVER = EngineSettings(Settings(nodes=1))


def query(window: Window, *aggregates: Any) -> Any:
    return SimpleNamespace(plan=SimpleNamespace(window=window, aggregates=aggregates or (SUM,), keys=()))


def past(evaluated: int, *members: tuple[Window, int | None]) -> _Past:
    """Of a tree with these windows, each with the instant when it joined."""
    tree = RunningTree(1, {})
    for number, (window, joined) in enumerate(members):
        after = BEGINNING if joined is None else joined + window.range
        tree.members[number] = Membership(query(window), joined, after)
    return _Past(tree, evaluated)


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
    forest = Forest(SimpleNamespace(catalog=catalog), "events", IN_THE_DRIVER)  # type: ignore[arg-type]
    second = 1_000_000
    regular = [Window(60 * second, slide * second) for slide in range(7, 30)]
    odd, even = Window(60 * second, 13 * second + 7), Window(60 * second, 2 * second)
    trees = [tree_of(1, *regular), tree_of(2, odd)]
    assert [forest._separate("alike", trees) for _ in range(3)] == [True] * 3
    assert asked == ["events"]
    trees[1] = tree_of(2, even)
    forest._planned.pop(2)  # as whoever changes a tree does
    assert [forest._separate("alike", trees) for _ in range(3)] == [False] * 3
    assert asked == ["events"] * 2


def tree_of(number: int, *windows: Window) -> RunningTree:
    members = {at: Membership(query(window), None, BEGINNING) for at, window in enumerate(windows)}
    return RunningTree(number, members)


def test_a_tree_that_all_queries_are_about_to_leave_still_costs_what_it_does() -> None:
    tree = tree_of(1, Window(60, 20), Window(60, 30))
    tree.members = {at: replace(member, until=100) for at, member in tree.members.items()}
    forest = Forest(SimpleNamespace(), "events", IN_THE_DRIVER)  # type: ignore[arg-type]
    weaver = Weaver.of(1000.0, None, grouped=False, hint=None)
    assert not tree.windows
    assert set(forest._woven(tree, weaver).windows) == {Window(60, 20), Window(60, 30)}

"""Passes for queries without a window: as few as Spark's generated code allows."""

from __future__ import annotations

import pytest

from tests.planner.queries import selection
from windrow.planner import plan_passes
from windrow.planner.passes.selected import MOST_VALUES


@pytest.mark.parametrize(("queries", "passes"), [(1, 1), (MOST_VALUES - 1, 1), (MOST_VALUES, 2), (50, 3)])
def test_conditions_share_passes_up_to_what_java_compiles(queries, passes):
    """All ask for one column; each has a condition of its own."""
    asked = {n: selection("`events`.`v`", where=f"`events`.`v` = {n}") for n in range(queries)}
    made = plan_passes(asked)
    assert len(made) == passes
    assert sorted(number for shared in made for number in shared.demands) == list(range(queries))


def test_who_asks_for_the_same_adds_nothing():
    asked = {n: selection("`events`.`v`", where="`events`.`v` > 1") for n in range(1_000)}
    assert len(plan_passes(asked)) == 1

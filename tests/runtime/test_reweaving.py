"""Planning in the background: plans that pay are kept, and a failure is seen."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from windrow.planner.sharing import CostModel, Weaver
from windrow.runtime.state.reweaving import Reweaving
from windrow.slicing import Window

if TYPE_CHECKING:
    import pytest

SECOND = 1_000_000
WINDOWS = [Window(100 * s * SECOND, s * SECOND) for s in (2, 4, 3, 9)]


def test_a_plan_that_pays_is_kept_for_just_its_windows() -> None:
    reweaving = Reweaving()
    weaver = Weaver(CostModel(rate=50, final="panes"), "weave_share")
    apart = [*({window} for window in WINDOWS), set()]  # one that all queries are about to leave
    reweaving.begin("alike", weaver, apart)
    reweaving.wait()
    assert reweaving.ready
    assert reweaving.take("alike", set(WINDOWS[1:])) is None
    reweaving.begin("alike", weaver, apart)
    reweaving.wait()
    plan = reweaving.take("alike", set(WINDOWS))
    assert plan is not None
    assert sorted(sorted(tree) for tree in plan) == [sorted(WINDOWS[:2]), sorted(WINDOWS[2:])]
    reweaving.begin("alike", weaver, plan)
    reweaving.wait()
    assert not reweaving.ready
    assert reweaving.failures == 0


def test_a_plan_that_cannot_be_made_is_logged_and_counted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("no edges")

    monkeypatch.setattr(Weaver, "plant", fail)
    reweaving = Reweaving()
    with caplog.at_level(logging.ERROR, "windrow"):
        reweaving.begin("alike", Weaver(CostModel(rate=50, final="panes")), [{w} for w in WINDOWS])
        reweaving.wait()
    assert not reweaving.ready
    assert reweaving.failures == 1
    (record,) = caplog.records
    assert record.getMessage() == "the trees of 4 windows stay as they are: no edges"
    assert record.exc_info is not None

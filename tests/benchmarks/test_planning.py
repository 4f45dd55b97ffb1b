"""The benchmark `planning` at a tiny size: it runs, and reports what the docs need."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
VALUES = {"1": (30,), "2": (20, 60), "3": (100,), "4": (0, 100), "5": (100, 1)}


@pytest.fixture(scope="module")
def planning() -> Iterator[ModuleType]:
    """The module, found as it is when run as a script: beside its private modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield import_module("planning")


@pytest.fixture(scope="module")
def report(planning: ModuleType) -> dict[str, Any]:
    settings = planning.Settings(
        planning.experiments(VALUES),
        planning.Limits(bit_set_bytes=1_000_000, groups=1_000, repeats=1),
        most_for_full_search=40,
        many=planning.Workload(200, 40, 1, 0.5, 10),
        most=planning.Workload(2_000, 40, 1, 0.5, 10),
        seconds=(5, 60),
        rates=(1,),
    )
    found: dict[str, Any] = planning.Planning(settings).run()
    return found


def test_a_workload_is_what_its_parameters_say(planning: ModuleType) -> None:
    diverse = planning.Workload(5_000, 50, 1, 1.0, 4, diverse=True)
    windows = diverse.windows()
    assert sum(windows.values()) == 5_000
    slides = {window.slide // planning.SECOND for window in windows}
    assert slides == {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47}
    assert {window.range // window.slide for window in windows} == {1, 2, 3, 4}
    assert all(window.range % window.slide == 0 for window in windows)
    popular = max(
        slides, key=lambda slide: sum(n for w, n in windows.items() if w.slide == slide * planning.SECOND)
    )
    assert popular == 47
    assert windows == diverse.windows()
    assert windows != diverse.windows(seed=1)


def test_every_point_of_every_experiment_is_measured(report: dict[str, Any]) -> None:
    measured = {name: [p["value"] for p in e["points"]] for name, e in report["experiments"].items()}
    assert measured == {
        "1": [30], "1, λ × 10": [30], "2": [20, 60], "3": [100], "4": [0, 100], "5": [100, 1]
    }  # fmt: skip
    for experiment in report["experiments"].values():
        for point in experiment["points"]:
            counting = point["counting"]
            assert counting["seconds"] > 0
            assert 0 < counting["f1"]["sets"] <= counting["sets"]
            bits = counting["bit_set"]
            assert 0 < bits["measured"]["sets"] <= bits["in_memory_here"]["sets"]
            assert (
                bits["in_memory_here"]["sets"] <= bits["in_memory_of_the_paper"]["sets"] <= counting["sets"]
            )
    smallest = report["experiments"]["2"]["points"][0]
    assert smallest["full_search"]["cost"] == pytest.approx(smallest["cost"], rel=0.01)


def test_the_bit_set_s_limit_is_shown(report: dict[str, Any]) -> None:
    *measured, last = report["bit_set"]["curve"]
    assert all(point["seconds"] > 0 for point in measured)
    assert last["seconds"] is None
    assert last["instants"] > report["bit_set"]["limit_bytes"]


def test_a_mean_ends_where_the_bit_set_stops(planning: ModuleType) -> None:
    def point(sets: int, ratio: float) -> dict[str, Any]:
        return {"counting": {"sets": 5, "bit_set": {"in_memory_here": {"sets": sets, "ratio": ratio}}}}

    assert planning.mean_ratio([point(5, 10), point(4, 20), point(5, 1_000)], "in_memory_here") == 15


def test_the_bars_and_the_figure_come_from_the_report(
    planning: ModuleType, report: dict[str, Any], tmp_path: Path
) -> None:
    names = [bar["name"] for bar in report["bars"]]
    assert "WeaveShare, 200 queries: seconds, the slowest plan" in names
    assert "cost of WeaveShare / of the full pairwise search, the worst" in names
    assert "bit set in 96 GB / our counter, experiment 5, mean" in names
    assert len(names) == 9
    planning.publish("planning", report, planning.draw, quick=True, directory=tmp_path)
    assert json.loads((tmp_path / "planning.quick.json").read_text())["bars"] == report["bars"]
    assert (tmp_path / "planning.quick.png").stat().st_size > 10_000

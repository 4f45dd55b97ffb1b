"""The benchmark `placement` in two settings: it runs, judges, and reports what the docs need."""

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


@pytest.fixture(scope="module")
def placement() -> Iterator[ModuleType]:
    """The module, found as it is when run as a script: beside its private modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield import_module("placement")


@pytest.fixture(scope="module")
def placing(placement: ModuleType) -> Any:
    return placement.Placing(placement.Settings((10,), (30,), (3,), (12,), (0,), (10,), (False, True)))


@pytest.fixture(scope="module")
def report(placing: Any) -> dict[str, Any]:
    return placing.run()


def test_every_setting_is_placed_by_all_thirteen(placing, report):
    assert report["settings"] == 2
    assert len(placing.placements) == len(report["winners"]) == 4
    for row in placing.placements:
        placed = {name: costs for name, costs in row.items() if isinstance(costs, dict)}
        assert len(placed) == 13
        for costs in placed.values():
            assert 0 < costs["total"] / row["nodes"] <= costs["maximum"] * (1 + 1e-6)
            assert costs["maximum"] <= costs["total"]


def test_somebody_wins_and_the_scale_is_from_best_to_worst(report):
    for way in ("together", "alone"):
        for measure in ("maximum", "total"):
            judged = report[way][measure]
            assert sum(found["best_in"] for found in judged.values()) >= 100
            assert all(-1e-6 <= found["quality"] <= 100 + 1e-6 for found in judged.values())
    assert all(bar["value"] is not None for bar in report["bars"])


def test_the_report_can_be_written_and_drawn(placement, report, tmp_path):
    import_module("_harness").publish("placement", report, placement.draw, quick=True, directory=tmp_path)
    assert json.loads((tmp_path / "placement.quick.json").read_text())["bars"] == report["bars"]
    assert (tmp_path / "placement.quick.png").stat().st_size > 10_000

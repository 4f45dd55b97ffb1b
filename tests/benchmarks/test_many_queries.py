"""The benchmark `many_queries` at a tiny size: it runs, and reports what the docs need."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TECHNIQUES = ("no_share", "max_share", "weave_share", "tri_weave")
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def report(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        many = import_module("many_queries")
        sizes = many.measure_sharing.Sizes(20_000, 10, 1)
        settings = many.Settings(20_000, 1, (1, 6), 1, 1.5, 10_000, 8, (2, 2), 1, 10_000, (3,), 1, sizes)
        made: dict[str, Any] = many.ManyQueries(spark, settings, tmp_path_factory.mktemp("many")).run()
        many.draw(made, tmp_path_factory.mktemp("figure") / "many.png")
    return made


def test_it_measures_ways_and_counts(report):
    measured = {(run["queries"], run["way"]) for run in report["measurements"]}
    assert {(1, "planned"), (6, "planned"), (6, "max_share"), (6, "tri_weave")} <= measured
    assert all(run["results"] > 0 and run["epochs"] > 0 < run["estimated"] for run in report["measurements"])
    together = next(run for run in report["measurements"] if run["way"] == "max_share")
    assert (together["trees"], together["passes"]) == (1, 1)


def test_it_reports_the_peer_the_classes_and_the_bars(report):
    assert report["native"]["queries"] >= 1
    assert (report["classes"]["queries"], report["classes"]["classes"]) == (8, 4)
    assert report["classes"]["together"]["passes"] == 1
    assert len(report["bars"]) == 4
    assert report["deviation"] >= 0
    json.dumps(report, allow_nan=False)


def test_it_compares_estimates_with_what_was_executed(report):
    runs = report["estimates"]["measurements"]
    assert {"max_share", "tri_weave"} <= {run["way"] for run in runs} <= {*TECHNIQUES}
    assert all(run["epochs"] > 0 for run in runs)
    # By the rate that the stream had: at the one that is assumed before, it would be 7,200 times as much.
    most = 10 * 10_000 * sum(report["constants_nanoseconds"].values()) * 1e-9
    assert all(0 < run["estimated"] < most for run in runs)
    assert report["constants_nanoseconds"].keys() == {"row", "partial", "operation", "result"}
    off = report["estimates"]["deviations"]
    assert off["all"]["runs"] == len(runs)
    assert off["max_share"] == {"runs": 1, "scaled": 0.0, "absolute": off["max_share"]["absolute"]}


def test_deviations_by_hand():
    """Largest executed: 10 s, estimated 5: doubled, the estimates are 10, 4 and 1 s."""
    ways = [("no_share", 10, 5), ("no_share", 2, 2), ("max_share", 1, 0.5)]
    runs = [{"way": way, "epochs": epochs, "estimated": estimated} for way, epochs, estimated in ways]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        off = import_module("_estimates").deviations(runs)
    assert off == {
        "no_share": {"runs": 2, "scaled": 0.5, "absolute": 0.25},
        "max_share": {"runs": 1, "scaled": 0.0, "absolute": 0.5},
        "all": {"runs": 3, "scaled": 0.333, "absolute": 0.333},
    }

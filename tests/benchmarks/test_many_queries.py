"""The benchmark `many_queries` at a tiny size: it runs, and reports what the docs need."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def report(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        many = import_module("many_queries")
        settings = many.Settings(20_000, 1, (1, 6), 1, 1.5, 10_000, 8, (2, 2), 1)
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

"""The benchmark `aggregates` at a tiny size: it runs, and reports what the docs need."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from pyspark.sql import SparkSession

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MEASURED = ("SUM", "COUNT DISTINCT", "MEDIAN", "APPROX_COUNT_DISTINCT", "APPROX_PERCENTILE", "FREQUENT_ITEMS")


@pytest.fixture(scope="module")
def aggregates() -> Iterator[ModuleType]:
    """The module, found as it is when run as a script: beside its private modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        module = import_module("aggregates")
        patch.setattr(module, "KINDS", {name: module.KINDS[name] for name in MEASURED})
        yield module


@pytest.fixture(scope="module")
def report(
    aggregates: ModuleType, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    trial = replace(aggregates.TRACES["packets"].small(), slices=(20,), ks=(7,))
    settings = replace(
        aggregates.QUICK,
        size=aggregates.Size(slides=5, rows_a_slide=300, keys=(3,), overlap=4),
        trials={"packets": trial},
    )
    found: dict[str, Any] = aggregates.Aggregates(
        spark, settings, tmp_path_factory.mktemp("aggregates")
    ).run()
    return found


def test_every_kind_is_measured(report: dict[str, Any]) -> None:
    assert {(m["name"], m["keys"]) for m in report["measurements"]} == {(n, 3) for n in MEASURED}
    for measured in report["measurements"]:
        assert measured["ms_per_slide"] > 0
        assert measured["bytes_per_window"] > 0
        assert measured["duckdb_files_ms"] > 0


def test_frequent_items_are_compared_with_the_truth(report: dict[str, Any]) -> None:
    (point,) = report["frequent_items"]["packets"]["points"]
    assert (point["slice"], point["k"]) == (20, 7)
    assert 0 < point["delta"] < 1
    assert 0 < point["reported"] <= point["over"]
    assert 0 <= point["relative_error"] < 0.5


def test_the_bars_and_the_figure_come_from_the_report(
    aggregates: ModuleType, report: dict[str, Any], tmp_path: Path
) -> None:
    names = [bar["name"] for bar in report["bars"]]
    assert "DuckDB / Windrow, MEDIAN, 3 keys" in names
    assert "APPROX_PERCENTILE / SUM, 3 keys" in names
    aggregates.publish("aggregates", report, aggregates.draw, quick=True, directory=tmp_path)
    assert json.loads((tmp_path / "aggregates.quick.json").read_text())["bars"] == report["bars"]
    assert (tmp_path / "aggregates.quick.png").stat().st_size > 10_000

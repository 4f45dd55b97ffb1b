"""The benchmark `joins` at a tiny size: everybody finds the same pairs, evaluations and sources, and is judged."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from pyspark.sql import SparkSession

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
WINDOWS, RESULTS = (100, 200), (10,)


@pytest.fixture(scope="module")
def joins() -> Iterator[ModuleType]:
    """The module, found as it is when run as a script: beside its private modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield import_module("joins")


@pytest.fixture(scope="module")
def tiny(joins: ModuleType) -> Any:
    return joins.Settings(
        WINDOWS,
        RESULTS,
        size=joins.Size(files=2, a_file=200, rate=100),
        state=joins.Size(files=3, a_file=100, rate=100),
        compared={100: 1, 200: 2},
        evaluated=joins.Size(files=2, a_file=800, rate=10),
        asked=2,
        repeats=1,
        budget=60,
        state_stores=("default",),
    )


@pytest.fixture(scope="module")
def report(
    joins: ModuleType, tiny: Any, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    report: dict[str, Any] = joins.Joins(spark, tiny, tmp_path_factory.mktemp("joins")).run()
    return report


def test_both_join_every_case_alike(joins: ModuleType, report: dict[str, Any]) -> None:
    found = {(m["window"], m["results"], m["way"]): (m["answers"], m["checksum"]) for m in report["compared"]}
    cases = [(window, results) for window in WINDOWS for results in RESULTS]
    ways = (joins.WINDROW, f"{joins.SPARK}, default")
    assert set(found) == {(*case, way) for case in cases for way in ways}
    assert all(found[*case, ways[0]] == found[*case, ways[1]] for case in cases)
    assert all(count > 0 for count, _ in found.values())


def test_what_a_row_costs_does_not_grow_with_the_window(report: dict[str, Any]) -> None:
    for measured in report["alone"]:
        assert measured["touched_each"] <= 3
    small, large = (measured["state_bytes_an_epoch"] for measured in report["alone"])
    assert small > 0
    assert large <= 1.1 * small


def test_duckdb_recomputes_the_same_evaluations(joins: ModuleType, report: dict[str, Any]) -> None:
    (one,) = report["evaluations"]
    assert (one["window"], one["results"], one["compared"]) == (600, 10, 2)
    assert one["pairs"] == pytest.approx(600 * 10, rel=0.2)
    assert one[joins.WINDROW] > 0 < one[joins.DUCKDB]


def test_distinct_holds_at_most_two_rows_a_source(report: dict[str, Any]) -> None:
    held = report["distinct"]
    assert held["window"] == 200
    assert 0 < held["sources"] <= held["entries"] < held["window"]


def test_links_are_cut_into_files_and_can_be_shortened(joins: ModuleType, tmp_path: Path) -> None:
    size = joins.Size(files=3, a_file=10, rate=100, first=40)
    links = joins.make_links(size, tmp_path / "links", keys=5)
    for shortened, rows in ((links, [40, 10, 10]), (links.first(2, tmp_path / "first"), [40, 10])):
        assert shortened.size.rows == sum(rows)
        for link in ("a", "b"):
            files = [pq.read_table(file) for file in sorted(shortened.files_of(link).iterdir())]
            assert [len(file) for file in files] == rows
            assert set(np.concatenate([file["k"] for file in files]).tolist()) <= set(range(5))


def test_pairs_that_differ_are_noticed(
    joins: ModuleType, tiny: Any, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = joins.make_links(joins.Size(files=1, a_file=200, rate=100), tmp_path / "links", keys=100)
    benchmark, case = joins.Joins(spark, tiny, tmp_path), joins.Case(100, 1)
    theirs = joins.Joined(1.0, import_module("_joins_ways").Answers(1, 2))
    monkeypatch.setattr(joins, "run_spark", lambda *_, **__: theirs)
    with pytest.raises(import_module("_ways").WrongAnswer, match=r"count=1, checksum=2"):
        benchmark.compare(links, case)


def test_the_report_is_published_with_its_bars(
    joins: ModuleType, report: dict[str, Any], tmp_path: Path
) -> None:
    import_module("_harness").publish("joins", report, joins.draw, quick=True, directory=tmp_path)
    written = json.loads((tmp_path / "joins.quick.json").read_text(encoding="utf-8"))
    assert [bar["name"] for bar in written["bars"]] == [
        "Spark's interval join / Windrow, 100 rows, 10 results a row",
        "Spark's interval join / Windrow, 200 rows, 10 results a row",
        "DuckDB / Windrow, an evaluation at overlap 60, 10 results a row",
        "rows touched for a row and result, at most",
        "time a row and result, most / least of all windows, 10 results a row",
        "state an epoch writes, most / least of all windows, 10 results a row",
        "rows / held for DISTINCT, 200 rows",
    ]
    assert (tmp_path / "joins.quick.png").stat().st_size > 10_000

"""The benchmark `selections` at a tiny size: everybody selects the same rows, and is judged and drawn."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from pyspark.sql import SparkSession

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def selections() -> Iterator[ModuleType]:
    """The module, found as it is when run as a script: beside its private modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield import_module("selections")


@pytest.fixture(scope="module")
def tiny(selections: ModuleType) -> Any:
    size = import_module("_ways").Size(keys=4, seconds=25, files=1)
    return selections.Settings(size, wanted=(0.01, 1.0), queries=(1, 2), repeats=1)


@pytest.fixture(scope="module")
def report(
    selections: ModuleType, tiny: Any, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    report: dict[str, Any] = selections.Selections(spark, tiny, tmp_path_factory.mktemp("selections")).run()
    return report


def test_both_answer_every_case(selections: ModuleType, report: dict[str, Any]) -> None:
    cells = {(m["way"], m["queries"], m["wanted"], m["bits"]) for m in report["measurements"]}
    cases = ((1, 0.01, 96), (1, 1.0, 96), (1, 0.01, 64), (1, 1.0, 64), (2, 0.01, 96))
    assert cells == {(way, *case) for way in (selections.WINDROW, selections.NATIVE) for case in cases}


def test_queries_want_different_rows(selections: ModuleType) -> None:
    assert selections.Case(3, 0.25).conditions == [(0.0, 0.25), (0.25, 0.5), (0.5, 0.75)]
    assert selections.select(*selections.Case(1, 1.0).conditions[0]).endswith("FROM readings")
    assert selections.select(0.25, 0.5).endswith("WHERE v >= 0.25 AND v < 0.5")


def test_rows_that_are_missing_are_noticed(
    selections: ModuleType, tiny: Any, spark: SparkSession, tmp_path: Path
) -> None:
    data = import_module("_ways").make_data(spark, tiny.size, tmp_path / "readings")
    benchmark, case = selections.Selections(spark, tiny, tmp_path), selections.Case(1, 1.0)
    rows = tiny.size.rows

    def answering(count: int) -> Any:
        def run(*_: object) -> tuple[float, int]:
            return 0.5, count

        return run

    assert benchmark.timed(answering(rows), data, case) == 0.5
    with pytest.raises(import_module("_ways").WrongAnswer, match=f"{rows - 1:,} rows instead of {rows:,}"):
        benchmark.timed(answering(rows - 1), data, case)


def test_the_report_is_published_with_its_bars(
    selections: ModuleType, report: dict[str, Any], tmp_path: Path
) -> None:
    import_module("_harness").publish("selections", report, selections.draw, quick=True, directory=tmp_path)
    written = json.loads((tmp_path / "selections.quick.json").read_text(encoding="utf-8"))
    assert [bar["name"] for bar in written["bars"]] == [
        "Windrow / Spark, 1 query, 1 % of the rows each, timestamps of 96 bits",
        "Windrow / Spark, 1 query, 100 % of the rows each, timestamps of 96 bits",
        "Windrow / Spark, 1 query, 1 % of the rows each, timestamps of 64 bits",
        "Windrow / Spark, 1 query, 100 % of the rows each, timestamps of 64 bits",
        "Spark / Windrow, 2 queries, 1 % of the rows each, timestamps of 96 bits",
        "Windrow, 2 queries / one",
    ]
    assert (tmp_path / "selections.quick.png").stat().st_size > 10_000

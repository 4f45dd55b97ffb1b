"""The benchmark `overlap` at a tiny size: it runs, compares answers, and reports what the docs need."""

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
def overlap() -> Iterator[ModuleType]:
    """The module, found as it is when run as a script: beside its private modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield import_module("overlap")


@pytest.fixture(scope="module")
def report(
    overlap: ModuleType, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    ways = import_module("_ways")
    settings = overlap.Settings(
        {
            "comparable": ways.Size(keys=2, seconds=25, files=1),
            "large": ways.Size(keys=3, seconds=25, files=1),
        },
        (ways.Window(1, 1), ways.Window(60, 2)),
        repeats=1,
        budget=600,
        state_stores=("default",),
    )
    report: dict[str, Any] = overlap.Overlap(spark, settings, tmp_path_factory.mktemp("overlap")).run(
        warm_up=False
    )
    return report


def test_everybody_is_measured_at_every_size_and_window(report: dict[str, Any]) -> None:
    cells = {(m["size"], m["way"], m["range"], m["slide"]) for m in report["measurements"]}
    ways = ("floor", "Windrow", "native batch", "native streaming")
    windows = ((1, 1), (60, 2))
    assert cells == {(s, w, *window) for s in ("comparable", "large") for w in ways for window in windows}
    for measured in report["measurements"]:
        assert measured["status"] == "finished"
        assert len(measured["seconds"]) == 1
        assert measured["median"] == measured["seconds"][0]


def test_answers_are_compared_with_both_of_sparks(report: dict[str, Any]) -> None:
    compared = {(c["range"], c["slide"], c["with"]): c for c in report["answers_compared"]}
    assert set(compared) == {
        (r, s, w) for r, s in ((1, 1), (60, 2)) for w in ("native batch", "native streaming")
    }
    assert all(c["equal"] for c in compared.values())
    # 25 seconds of data, the last row just before the 25th: evaluations at 1 … 24, and at 2, 4 … 24.
    assert compared[1, 1, "native batch"]["rows"] == 24 * 2
    assert compared[60, 2, "native batch"]["rows"] == 12 * 2


def test_the_report_is_published_with_its_bars(
    overlap: ModuleType, report: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    harness = import_module("_harness")
    harness.publish("overlap", report, overlap.draw, quick=True, directory=tmp_path)
    written = json.loads((tmp_path / "overlap.quick.json").read_text(encoding="utf-8"))
    assert {"machine", "sizes", "measurements", "answers_compared", "state_store", "bars"} <= written.keys()
    for bar in written["bars"]:
        assert bar.keys() == {"name", "value", "bound", "ok"}
    names = [bar["name"] for bar in written["bars"]]
    assert "Windrow / floor, RANGE 60 s SLIDE 2 s" in names
    assert "native streaming / Windrow, RANGE 60 s SLIDE 2 s, 750 rows" in names
    assert (tmp_path / "overlap.quick.png").stat().st_size > 0
    assert not (tmp_path / "overlap.json").exists()


def test_a_different_answer_is_an_error(overlap: ModuleType, spark: SparkSession) -> None:
    ways = import_module("_ways")
    columns = "window_start TIMESTAMP, window_end TIMESTAMP, k INT, total DOUBLE, highest DOUBLE"
    window = ways.Window(1, 1)

    def answers(total: float, highest: float) -> Any:
        row = f"SELECT timestamp_seconds(0), timestamp_seconds(1), 7, {total}D, {highest}D"
        return spark.sql(row).toDF(*(column.split()[0] for column in columns.split(", ")))

    right = answers(3.0, 2.0)
    assert ways.compare("Windrow", answers(3.0 + 1e-12, 2.0), right, window)["equal"]
    with pytest.raises(ways.WrongAnswer, match="sums differ"):
        ways.compare("Windrow", answers(3.00001, 2.0), right, window)
    with pytest.raises(ways.WrongAnswer, match="highest"):
        ways.compare("Windrow", answers(3.0, 2.0 + 1e-12), right, window)
    doubled = ways.Outcome(1.0, right.union(right))
    with pytest.raises(ways.WrongAnswer, match="2 result rows"):
        ways.check_count("Windrow", doubled, ways.Size(keys=1, seconds=2, files=1), window)


def test_what_exceeds_its_budget_is_stopped(overlap: ModuleType, spark: SparkSession, tmp_path: Path) -> None:
    ways = import_module("_ways")
    data = ways.make_data(spark, ways.Size(keys=200, seconds=100, files=1), tmp_path / "data")
    window = ways.Window(300, 1)
    batch = ways.run_native_batch(spark, data, window, tmp_path / "batch", budget=1)
    streaming = ways.run_native_streaming(spark, data, window, tmp_path / "streaming", 1, "default")
    assert batch.seconds is None
    assert streaming.seconds is None

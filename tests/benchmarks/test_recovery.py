"""The pieces of the benchmark `recovery`: homes that an engine goes on with, checkpoints, what is judged."""

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
WINDOW, KEYS = (10, 2), 3


@pytest.fixture(scope="module")
def recovery() -> Iterator[ModuleType]:
    """The module, found as it is when run as a script: beside its private modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield import_module("recovery")


@pytest.fixture(scope="module")
def homes(recovery: ModuleType) -> ModuleType:
    return import_module("_recovery_homes")


@pytest.fixture(scope="module")
def made(
    homes: ModuleType, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any]]:
    """A home of twenty epochs."""
    directory: Path = tmp_path_factory.mktemp("recovery")
    history = homes.History(homes.Window(*WINDOW), epochs=20, keys=KEYS)
    return directory, homes.make_home(spark, history, directory)


@pytest.mark.parametrize("epochs", [2, 10, 1_000, 10_000])
def test_a_history_fills_its_window_and_ends_at_the_restart(homes: ModuleType, epochs: int) -> None:
    history = homes.History(homes.Window(3_600, 10), epochs, keys=1)
    slices = 1 + (epochs - 1) * history.slices_an_epoch
    assert slices > history.window.slices
    assert history.begin + slices * history.window.slide == homes.RESTART


def test_a_made_home_is_full_and_compacted(made: tuple[Path, dict[str, Any]]) -> None:
    _, facts = made
    # Five closed slices, and the one that is still open.
    assert facts["entries"] == (5 + 1) * KEYS
    assert 0 < facts["slice_files"] < 16
    assert facts["slice_bytes"] < facts["home_bytes"]


def test_a_real_engine_goes_on_with_a_made_home(
    homes: ModuleType, spark: SparkSession, made: tuple[Path, dict[str, Any]]
) -> None:
    """Windows across the restart hold the made slices and the real rows, as plain recomputation has them."""
    from windrow import Engine

    directory, _ = made
    homes.write_rows(
        directory / "input" / "00001.parquet", begin=homes.RESTART, seconds=6, keys=KEYS, order=1
    )
    with Engine(directory / "home", spark) as engine:
        reports: list[Any] = []
        engine.on_epoch = reports.append
        engine.run(seal=False)
        answers = engine.results(homes.QUERY).toPandas()
    (report,) = reports
    assert (report.epoch, report.batch, report.rows) == (20, 20, 6 * KEYS * homes.PER_SECOND)
    assert report.answers == {homes.QUERY: 3 * KEYS}  # at the restart, and 2 and 4 seconds after it

    first, new = (
        spark.read.parquet(str(directory / "input" / f"{number:05d}.parquet")).toPandas() for number in (0, 1)
    )
    ends = answers["window_end"].astype("datetime64[us]").astype("int64") // homes.SECOND - homes.RESTART
    for end, made_slices in ((0, 5), (2, 4), (4, 3)):
        seconds = new["ts"].astype("datetime64[us]").astype("int64") // homes.SECOND - homes.RESTART
        for key in range(KEYS):
            repeated = first.loc[first["k"] == key, "v"]
            rows = new.loc[(new["k"] == key) & (seconds < end), "v"]
            (answer,) = answers[(ends == end) & (answers["k"] == key)].to_dict("records")
            assert answer["total"] == pytest.approx(made_slices * repeated.sum() + rows.sum(), rel=1e-12)
            assert answer["highest"] == max([repeated.max(), *rows])


def test_spark_takes_the_log_for_its_own(
    homes: ModuleType, spark: SparkSession, made: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    """With a log of a hundred files, the one that it names is not read again, and the next batch is 100."""
    import shutil

    directory, _ = made
    source = tmp_path / "input"
    homes.write_rows(source / "00000.parquet", begin=0, seconds=1, keys=1, order=0)
    checkpoint = tmp_path / "checkpoint"
    shutil.copytree(directory / "checkpoint", checkpoint)
    entries = checkpoint / "sources" / "0" / "0"
    entries.write_text(entries.read_text().replace(str(directory / "input"), str(source)))
    (entries.parent / ".0.crc").unlink(missing_ok=True)
    short = homes.log_size(checkpoint)
    homes.move_checkpoint_on(checkpoint, batches=100, files=100)
    assert homes.log_size(checkpoint) > 50 * short
    homes.write_rows(source / "00001.parquet", begin=1, seconds=2, keys=1, order=1)

    batches: dict[int, int] = {}
    rows = spark.readStream.schema(homes.SCHEMA).parquet(str(source))
    writer = rows.writeStream.foreachBatch(lambda batch, number: batches.update({number: batch.count()}))
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    writer.start().awaitTermination()
    assert batches == {100: 2 * homes.PER_SECOND}


def _epoch(commit: float, answers: float, seconds: float = 10.0) -> dict[str, float]:
    parts = dict.fromkeys(import_module("_recovery_bars").PARTS, 0.1)
    return parts | {
        "rows": 1_000, "answers": 7, "seconds": seconds, "commit_seconds": commit, "writing answers": answers
    }  # fmt: skip


def test_a_commit_is_summed_up_by_medians(recovery: ModuleType) -> None:
    epochs = [_epoch(1.0, 0.5), _epoch(2.0, 0.5), _epoch(9.0, 0.5)]
    summary = recovery.commit_summary(1_000, epochs)
    assert (summary["share"], summary["share_with_answers"], summary["epochs"]) == (0.2, 0.25, 3)


@pytest.fixture
def report(recovery: ModuleType) -> dict[str, Any]:
    """What a run would report, with made-up seconds."""
    window = {"range": 3_600, "slide": 1}

    def recovered(epochs: int, median: float) -> dict[str, Any]:
        home = {"entries": 1_000}
        return {**window, "label": f"RANGE 1 hour SLIDE 1 s, {epochs} epochs", "epochs": epochs, "home": home,
                "seconds": [median], "median": median, "spread": 0.0, "steady": 1.0}  # fmt: skip

    settings = recovery.QUICK
    plain = {"session": 4.0, "seconds": [8.0], "median": 8.0, "spread": 0.0}
    recoveries = [recovered(10, 9.0), recovered(100, 12.0)]
    commits = [recovery.commit_summary(rows, [_epoch(share, 0.5)]) for rows, share in ((10, 3.0), (100, 1.0))]
    return {
        "settings": recovery.asdict(settings),
        "spark_start": plain,
        "spark_start_aggregated": plain,
        "spark_start_archived": plain,
        "recoveries": recoveries,
        "spark_log": [{"files": 1_000, "log_bytes": 9, **plain}],
        "commits": commits,
        "bars": [bar.row() for bar in recovery.bars(settings, plain, recoveries, commits)],
    }


def test_the_bars(report: dict[str, Any]) -> None:
    judged = {bar["name"]: (bar["value"], bar["ok"]) for bar in report["bars"]}
    assert judged == {
        "recovery / (Spark's own start + 2 epochs), RANGE 1 hour SLIDE 1 s, 10 epochs": (0.9, True),
        "recovery / (Spark's own start + 2 epochs), RANGE 1 hour SLIDE 1 s, 100 epochs": (1.2, False),
        "recovery after 100 epochs / after 10": (1.333, False),
        "commit's part of an epoch of 100 rows": (0.1, True),
    }


def test_the_report_is_published(recovery: ModuleType, report: dict[str, Any], tmp_path: Path) -> None:
    import_module("_harness").publish("recovery", report, recovery.draw, quick=True, directory=tmp_path)
    written = json.loads((tmp_path / "recovery.quick.json").read_text(encoding="utf-8"))
    assert written["bars"] == report["bars"]
    assert (tmp_path / "recovery.quick.png").stat().st_size > 0

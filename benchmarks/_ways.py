"""Four ways to answer one sliding-window query over the same Parquet files, each timed.

- the floor: Spark's JVM aggregates every micro-batch into tumbling windows of one SLIDE and the driver
  collects them as Arrow. Nothing that keeps its state outside the JVM can be faster.
- Windrow: the engine with a new home; results in Parquet, state and epochs committed.
- native batch: `groupBy(window(ts, RANGE, SLIDE), k)` over all files at once, written as Parquet.
- native streaming: the same over the same micro-batches, append mode, Parquet sink.

Everybody is told the schema, reads the same files in the same order, and answers the windows that end
within the data: the engine by stopping at the watermark, Spark by a filter.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from windrow import Engine

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

SCHEMA = "ts TIMESTAMP, k INT, v DOUBLE"
PER_SECOND = 10
"""Rows a key and second."""
FIRST = 1_704_067_200
"""The first second of the data; a multiple of every SLIDE in use."""
ROW_GROUP_BYTES = 1 << 21
"""Several row groups a file, so that all cores can work on a micro-batch of one file."""

STATE_STORES = {
    "default": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
    "RocksDB": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
}


@dataclass(frozen=True)
class Window:
    """A sliding window, in seconds."""

    range: int
    slide: int

    @property
    def overlap(self) -> int:
        """How many windows a row is part of."""
        return self.range // self.slide

    @property
    def label(self) -> str:
        return f"RANGE {self.range:,} s SLIDE {self.slide} s"


@dataclass(frozen=True)
class Size:
    """How much data: every key has PER_SECOND rows in every second. A file is a micro-batch."""

    keys: int
    seconds: int
    files: int

    @property
    def rows(self) -> int:
        return self.keys * self.seconds * PER_SECOND

    @property
    def last(self) -> int:
        """Microseconds of the last row: the watermark in the end."""
        return (FIRST + self.seconds) * 1_000_000 - 1_000_000 // PER_SECOND

    def results(self, window: Window) -> int:
        """How many result rows the windows that end within the data have."""
        return (self.last // 1_000_000 - FIRST) // window.slide * self.keys


@dataclass(frozen=True)
class Data:
    """Generated files."""

    size: Size
    path: Path


@dataclass(frozen=True)
class Outcome:
    """How long a run took (None: stopped at its budget), and its answers, if it makes any."""

    seconds: float | None
    answers: DataFrame | None = None


class WrongAnswer(Exception):
    """Two ways disagree about the same query; no timing of them means anything."""


def make_data(spark: SparkSession, size: Size, path: Path) -> Data:
    """Write the files, in event-time order, and give them modification times in that order."""
    a_second = size.keys * PER_SECOND
    rows = spark.range(0, size.rows, 1, size.files).select(
        F.expr(
            f"timestamp_micros({FIRST * 1_000_000} + id div {size.keys} * {1_000_000 // PER_SECOND})"
        ).alias("ts"),
        F.expr(f"int(id % {size.keys})").alias("k"),
        F.rand(seed=a_second).alias("v"),
    )
    rows.write.option("parquet.block.size", ROW_GROUP_BYTES).parquet(str(path))
    files = sorted(path.glob("part-*.parquet"))
    if len(files) != size.files:
        raise RuntimeError(f"{len(files)} files instead of {size.files} in {path}")
    earliest = time.time() - 10 * len(files)
    for number, file in enumerate(files):
        os.utime(file, (earliest + 10 * number,) * 2)
    return Data(size, path)


# the ways


def run_floor(spark: SparkSession, data: Data, window: Window, scratch: Path) -> Outcome:
    """Tumbling partials, collected, and nothing else."""
    part = F.expr(f"unix_micros(ts) div {window.slide * 1_000_000}")

    def collect(batch: DataFrame, _: int) -> None:
        batch.groupBy(part, "k").agg(F.sum("v"), F.max("v")).toArrow()

    started = time.perf_counter()
    writer = _micro_batches(spark, data).writeStream.foreachBatch(collect)
    query = (
        writer.option("checkpointLocation", str(scratch / "checkpoint")).trigger(availableNow=True).start()
    )
    query.awaitTermination()
    return Outcome(time.perf_counter() - started)


def run_windrow(spark: SparkSession, data: Data, window: Window, scratch: Path) -> Outcome:
    """The engine, from its construction to its last commit."""
    started = time.perf_counter()
    engine = Engine(home=scratch / "home", spark=spark)
    engine.stream("readings", data.path, "ts", schema=SCHEMA, options={"maxFilesPerTrigger": "1"})
    engine.query(
        "answers",
        "SELECT k, SUM(v) AS total, MAX(v) AS highest "
        f"FROM readings [RANGE {window.range} SECONDS SLIDE {window.slide} SECONDS] GROUP BY k",
    )
    engine.run(seal=False)
    seconds = time.perf_counter() - started
    answers = engine.results("answers")
    engine.close()
    return Outcome(seconds, answers)


def run_native_batch(spark: SparkSession, data: Data, window: Window, scratch: Path, budget: int) -> Outcome:
    """Spark's own window() over all files at once."""
    output = str(scratch / "answers")
    started = time.perf_counter()
    answers = _native(spark.read.schema(SCHEMA).parquet(str(data.path)), data.size, window)
    finished = within(spark, budget, lambda: answers.write.parquet(output))
    seconds = time.perf_counter() - started
    return Outcome(seconds, spark.read.parquet(output)) if finished else Outcome(None)


def run_native_streaming(
    spark: SparkSession, data: Data, window: Window, scratch: Path, budget: int, state_store: str
) -> Outcome:
    """Spark's own window() over the micro-batches; `state_store` is a name in STATE_STORES."""
    provider = "spark.sql.streaming.stateStore.providerClass"
    output = str(scratch / "answers")
    spark.conf.set(provider, STATE_STORES[state_store])
    try:
        started = time.perf_counter()
        answers = _native(_micro_batches(spark, data).withWatermark("ts", "0 seconds"), data.size, window)
        writer = answers.writeStream.format("parquet").outputMode("append").option("path", output)
        query = (
            writer.option("checkpointLocation", str(scratch / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        finished = finishes(spark, query, budget)
        seconds = time.perf_counter() - started
    finally:
        spark.conf.unset(provider)
    return Outcome(seconds, spark.read.parquet(output)) if finished else Outcome(None)


def _micro_batches(spark: SparkSession, data: Data) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(data.path))


def _native(rows: DataFrame, size: Size, window: Window) -> DataFrame:
    spans = F.window("ts", f"{window.range} seconds", f"{window.slide} seconds")
    return (
        rows.groupBy(spans, "k")
        .agg(F.sum("v").alias("total"), F.max("v").alias("highest"))
        .where(F.col("window.end") <= F.timestamp_micros(F.lit(size.last)))
        .select(
            F.col("window.start").alias("window_start"), F.col("window.end").alias("window_end"),
            "k", "total", "highest",
        )
    )  # fmt: skip


# stopping what does not finish


def within(spark: SparkSession, budget: int, work: Callable[[], object]) -> bool:
    """Do some Spark work, cancelled once the budget is spent; whether it came to its end."""
    context = spark.sparkContext
    group = uuid.uuid4().hex
    over, cancelled = threading.Event(), threading.Event()

    def cancel_when_spent() -> None:
        if over.wait(budget):
            return
        cancelled.set()
        with _silenced(spark):
            context.cancelJobGroup(group)
            while not over.wait(1):  # between two jobs there was nothing to cancel
                context.cancelJobGroup(group)

    context.setJobGroup(group, "within a budget", interruptOnCancel=True)
    watch = threading.Thread(target=cancel_when_spent, daemon=True)
    watch.start()
    try:
        work()
    except Exception:
        if not cancelled.is_set():
            raise
        _wait_until_idle(spark)
        return False
    finally:
        over.set()
        watch.join()
        context._jsc.clearJobGroup()
    return True


def finishes(spark: SparkSession, query: StreamingQuery, budget: int) -> bool:
    """Whether a streaming query comes to its end within the budget; it is stopped if it does not."""
    finished = bool(query.awaitTermination(budget))
    if not finished:
        with _silenced(spark):
            query.stop()
        _wait_until_idle(spark)
    return finished


@contextmanager
def _silenced(spark: SparkSession) -> Iterator[None]:
    """Without the stack traces of the jobs that are being cancelled."""
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield
    finally:
        spark.sparkContext.setLogLevel(spark.sparkContext.getConf().get("spark.log.level", "WARN") or "WARN")


def _wait_until_idle(spark: SparkSession) -> None:
    """A cancelled job is gone before its last tasks are; they must not disturb the next measurement."""
    tracker: Any = spark.sparkContext._jsc.sc().statusTracker()
    while any(executor.numRunningTasks() for executor in tracker.getExecutorInfos()):
        time.sleep(0.1)


# comparing answers


def check_count(way: str, outcome: Outcome, size: Size, window: Window) -> None:
    """Raise unless there is a result row for every evaluation and key."""
    if outcome.answers is not None:
        found, expected = outcome.answers.count(), size.results(window)
        if found != expected:
            raise WrongAnswer(f"{way}, {window.label}: {found:,} result rows instead of {expected:,}")


def compare(way: str, answers: DataFrame, expected: DataFrame, window: Window) -> dict[str, Any]:
    """Raise unless the answers are equal: windows, keys and max identical, sums to 1e-9."""
    ours, theirs = _columns(answers), _columns(expected)
    for name in ("window_start", "window_end", "k", "highest"):
        if not np.array_equal(ours[name], theirs[name]):
            raise WrongAnswer(f"{way}, {window.label}: column {name} is not Spark's")
    # All values are positive, so the sum is the sum of the absolute values too.
    difference = float(np.max(np.abs(ours["total"] - theirs["total"]) / theirs["total"], initial=0.0))
    if not difference <= 1e-9:
        raise WrongAnswer(f"{way}, {window.label}: sums differ from Spark's by {difference:.2g}")
    return {"rows": len(ours["k"]), "equal": True, "largest_difference_of_sums": difference}


def _columns(answers: DataFrame) -> dict[str, np.ndarray[Any, Any]]:
    times = [F.unix_micros(name).alias(name) for name in ("window_start", "window_end")]
    table = (
        answers.select(*times, "k", "total", "highest")
        .toArrow()
        .sort_by([("window_end", "ascending"), ("k", "ascending")])
    )
    return {name: table[name].to_numpy() for name in table.column_names}

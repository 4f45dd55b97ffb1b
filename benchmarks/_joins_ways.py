"""The ways to join two links: the engine, and Spark's own stream-stream interval join.

Two INTERNAL windows of length r pair rows that come less than r apart. Spark is told that by a condition on the
event times, and has watermarks on both streams, by which it forgets rows. It gets the rows in the same files,
one of each link a batch, and writes the pairs to Parquet with a checkpoint, as the engine writes them into a home.
Spark is not made to run a last batch without rows, in which it could only forget.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from _joins_links import LINKS, SCHEMA
from _ways import STATE_STORES, finishes
from pyspark.sql import functions as F

from windrow import Engine
from windrow.runtime.home.catalog import Catalog

if TYPE_CHECKING:
    from pathlib import Path

    from _joins_links import Links
    from pyspark.sql import DataFrame, SparkSession

    from windrow.api.engine import EpochReport

QUERY = "pairs"
PROVIDER, NO_DATA = "spark.sql.streaming.stateStore.providerClass", "spark.sql.streaming.noDataMicroBatches.enabled"


@dataclass(frozen=True)
class Answers:
    """How many results there are, and a sum of their hashes: what two ways that agree have in common."""

    count: int
    checksum: int


@dataclass(frozen=True)
class Epoch:
    """What an epoch was about, and what it left."""

    at: float
    """When it was over, by a clock of no particular begin."""
    stream: str
    batch: int | None
    rows: int
    answers: int
    state_bytes: int
    """What it wrote of the state of operators."""
    entries: int
    """What the query held after it, rows that wait included."""


@dataclass(frozen=True)
class Outcome:
    """How long a run took (None: it was stopped at its budget), and its answers."""

    seconds: float | None
    answers: Answers | None = None
    epochs: tuple[Epoch, ...] = ()


@dataclass
class Watcher:
    """Notes each epoch of an engine, for the parts of a run that are looked at by themselves."""

    engine: Engine
    home: Path
    epochs: list[Epoch] = field(default_factory=list)

    def note(self, report: EpochReport) -> None:
        """Called after every epoch."""
        at = time.perf_counter()
        catalog = Catalog(self.home / "catalog.db")
        files = catalog.files("slices")
        catalog.close()
        written = sum(f.bytes or 0 for f in files if f.first_epoch == f.last_epoch == report.epoch)
        (query,) = self.engine.status().queries
        if query.quarantined is not None:
            raise RuntimeError(f"{query.sql}: {query.quarantined}")
        told = (report.stream, report.batch, report.rows, sum(report.answers.values()))
        self.epochs.append(Epoch(at, *told, written, query.entries))


def run_engine(
    spark: SparkSession, links: Links, statement: str, scratch: Path, streams: tuple[str, ...] = LINKS
) -> tuple[float, tuple[Epoch, ...], DataFrame]:
    """A query over some links in a new home, to its last answer: the seconds, the epochs and the answers.

    Everything is sealed in the end, so that the last rows are answered too, as Spark does.
    """
    home = scratch / "home"
    begun = time.perf_counter()
    with Engine(home, spark=spark) as engine:
        watcher = Watcher(engine, home)
        engine.on_epoch = watcher.note
        for link in streams:
            options = {"maxFilesPerTrigger": "1"}
            engine.stream(link, links.files_of(link), "ts", schema=SCHEMA, options=options)
        engine.query(QUERY, statement)
        engine.run(seal=True)
        return time.perf_counter() - begun, tuple(watcher.epochs), engine.results(QUERY)


def join_statement(seconds: int) -> str:
    """Windrow's join of two links in windows of a length."""
    window = f"[RANGE {seconds} SECONDS INTERNAL]"
    return f"SELECT a.k, a.v, b.v AS w FROM a {window}, b {window} WHERE a.k = b.k"


def run_windrow(spark: SparkSession, links: Links, seconds: int, scratch: Path) -> Outcome:
    """The engine, from its construction to its last commit."""
    took, epochs, pairs = run_engine(spark, links, join_statement(seconds), scratch)
    return Outcome(took, _answers(pairs), epochs)


def run_spark(
    spark: SparkSession, links: Links, seconds: int, scratch: Path, store: str, budget: float
) -> Outcome:
    """Spark's interval join with one of its state stores, stopped if it takes longer than the budget."""
    output = str(scratch / "pairs")
    settings = {PROVIDER: STATE_STORES[store], NO_DATA: "false"}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        begun = time.perf_counter()
        for link in LINKS:
            rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(links.files_of(link)))
            rows.withWatermark("ts", "0 seconds").createOrReplaceTempView(link)
        pairs = spark.sql(
            "SELECT a.k, a.v, b.v AS w FROM a JOIN b ON a.k = b.k "
            f"AND a.ts - INTERVAL {seconds} SECONDS < b.ts AND b.ts - INTERVAL {seconds} SECONDS < a.ts"
        )
        writer = pairs.writeStream.format("parquet").option("path", output)
        query = writer.option("checkpointLocation", str(scratch / "checkpoint")).trigger(availableNow=True).start()
        finished = finishes(spark, query, budget)
        took = time.perf_counter() - begun
    finally:
        for name in settings:
            spark.conf.unset(name)
    return Outcome(took, _answers(spark.read.parquet(output))) if finished else Outcome(None)


def _answers(pairs: DataFrame) -> Answers:
    found = pairs.agg(F.count("*"), F.sum(F.hash("k", "v", "w").cast("long"))).first()
    assert found is not None
    return Answers(found[0], found[1] or 0)

"""A join of two links by the engine and by Spark's own stream-stream interval join, over the same files.

Two INTERNAL windows of length r pair rows that come less than r apart. Spark is told that by a condition on
the event times, and has watermarks on both streams, by which it forgets rows. It gets the rows in the same
files, one of each link a batch, and writes the pairs to Parquet with a checkpoint, as the engine writes them
into a home. It is not made to run a last batch without rows, in which it could only forget.

Spark keeps all rows of a batch at once, and a row meets all of these that have its key before their times are
looked at. So what a row costs there grows with the rows of a file over those of a window.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from _joins_engine import run_engine
from _joins_links import LINKS, SCHEMA
from _ways import STATE_STORES, finishes
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pathlib import Path

    from _joins_engine import Epochs
    from _joins_links import Links
    from pyspark.sql import DataFrame, SparkSession

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
LAST_BATCH = "spark.sql.streaming.noDataMicroBatches.enabled"


@dataclass(frozen=True)
class Answers:
    """How many results there are, and the sum of their hashes: equal, if two ways agree."""

    count: int
    checksum: int


@dataclass(frozen=True)
class Joined:
    """A join that came to its end."""

    seconds: float
    answers: Answers


@dataclass(frozen=True)
class JoinedInEpochs(Joined):
    """A join by the engine."""

    epochs: Epochs


def run_windrow(spark: SparkSession, links: Links, window: int, scratch: Path) -> JoinedInEpochs:
    """Join two links in windows of so many seconds by the engine."""
    length = f"[RANGE {window} SECONDS INTERNAL]"
    statement = f"SELECT a.k, a.v, b.v AS w FROM a {length}, b {length} WHERE a.k = b.k"
    seconds, epochs, pairs = run_engine(spark, links, statement, scratch)
    return JoinedInEpochs(seconds, _answers(pairs), epochs)


def run_spark(
    spark: SparkSession, links: Links, window: int, scratch: Path, store: str, budget: int
) -> Joined | None:
    """Join two links by Spark with one of its state stores; None if it took longer than the budget."""
    output = str(scratch / "pairs")
    settings = {PROVIDER: STATE_STORES[store], LAST_BATCH: "false"}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        begun = time.perf_counter()
        for link in LINKS:
            files = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
            rows = files.parquet(str(links.files_of(link)))
            rows.withWatermark("ts", "0 seconds").createOrReplaceTempView(link)
        pairs = spark.sql(
            "SELECT a.k, a.v, b.v AS w FROM a JOIN b ON a.k = b.k AND "
            f"a.ts - INTERVAL {window} SECONDS < b.ts AND b.ts - INTERVAL {window} SECONDS < a.ts"
        )
        writer = pairs.writeStream.format("parquet").option("path", output).trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(scratch / "checkpoint")).start()
        finished = finishes(spark, query, budget)
        seconds = time.perf_counter() - begun
    finally:
        for name in settings:
            spark.conf.unset(name)
    return Joined(seconds, _answers(spark.read.parquet(output))) if finished else None


def _answers(pairs: DataFrame) -> Answers:
    found = pairs.agg(F.count("*"), F.sum(F.hash("k", "v", "w").cast("long"))).first()
    assert found is not None
    return Answers(found[0], found[1] or 0)

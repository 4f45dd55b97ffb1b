"""Streams that tests feed: directories that receive files, the engines on them, and their answers."""

from __future__ import annotations

import os
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import windrow
from tests.oracle import assert_same_answers, recomputed, weights
from windrow.slicing import Window

SECOND = 1_000_000
SQL = "SELECT k, SUM(v) AS total, MAX(v) AS most, COUNT(*) AS n FROM events [RANGE 30 SECONDS SLIDE 7 SECONDS] GROUP BY k"
AGGS = {"total": "SUM(v)", "most": "MAX(v)", "n": "COUNT(*)"}
WINDOW = Window(30 * SECOND, 7 * SECOND)


def events(spark, first, last):
    """One row every 100 ms from second `first` to `last`, five keys, values from -1 to 1."""
    return spark.range(first * 10, last * 10).selectExpr(
        "timestamp_millis(id * 100) AS ts",
        "id % 5 AS k",
        "id * 7919 % 10007 / 5003.5D - 1 AS v",
        "'unused' AS x",
    )


def same_events(first, last):
    """The rows of `events`, to the bit, as a table: a file is there in a millisecond, without a job of Spark's."""
    row = np.arange(first * 10, last * 10)
    return pa.table(
        {
            "ts": pa.array(row * 100_000).cast(pa.timestamp("us", "UTC")),
            "k": row % 5,
            "v": row * 7919 % 10007 / 5003.5 - 1,
            "x": ["unused"] * len(row),
        }
    )


class Files:
    """A directory that receives Parquet files, each newer than the one before."""

    def __init__(self, spark, path):
        self.spark, self.path, self.count = spark, path, 0
        path.mkdir()

    def add(self, first, last):
        staged = self.path.parent / f"staging-{self.path.name}"
        pq.write_table(same_events(first, last), staged)
        self.receive(staged)

    def receive(self, staged):
        """Take a file in, whole, as the newest."""
        self.count += 1
        os.utime(staged, (1_600_000_000 + self.count, 1_600_000_000 + self.count))
        staged.rename(self.path / f"{self.count:03d}.parquet")


def engine_on(files, home, sql=SQL, clock=time.time, nodes=None, **options):
    engine = windrow.Engine(home, spark=files.spark, clock=clock, nodes=nodes)
    engine.stream("events", files.path, timestamp="ts", options={"maxFilesPerTrigger": "1"}, **options)
    engine.query("q", sql)
    return engine


def assert_answers(engine, rows):
    """The answers to `SQL` are those over a table of rows."""
    expected = recomputed(rows, WINDOW, ["k"], AGGS | weights("v"))
    assert_same_answers(engine.results("q"), expected, ["k"], {"total": "_abs_v"})


SUM = "SELECT SUM(v) AS total, COUNT(*) AS n FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE]"


class Lines:
    """A directory that receives text files, each newer than the one before."""

    def __init__(self, path):
        self.path, self.count = path, 0
        path.mkdir()

    def add(self, text, encoding="utf-8"):
        self.count += 1
        path = self.path.parent / f"{self.count:03d}.txt"
        path.write_bytes(text.encode(encoding))
        os.utime(path, (1_600_000_000 + self.count,) * 2)
        return path.rename(self.path / path.name)


def text_engine(spark, lines, home, format="csv", **options):
    engine = windrow.Engine(home, spark=spark)
    schema = options.pop("schema", "ts TIMESTAMP, v INT, unused DOUBLE")
    files = {"maxFilesPerTrigger": "1"} | options.pop("options", {})
    engine.stream("s", lines.path, timestamp="ts", format=format, schema=schema, options=files, **options)
    engine.query("q", SUM)
    return engine


def answers(engine):
    return sorted((row.window_end.minute, row.total, row.n) for row in engine.results("q").collect())

"""Errors of Spark's that say what to do: files that Spark does not read, workers that have no Windrow."""

from __future__ import annotations

import logging
import sys

import pandas as pd
import pytest

import windrow
from tests.streams import Files, engine_on

SUM = "SELECT SUM(v) AS total FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE]"


@pytest.mark.parametrize(
    ("columns", "zone"),
    [(None, None), ("ts TIMESTAMP, v BIGINT", "UTC")],
)
def test_timestamps_as_pandas_writes_them(spark, tmp_path, columns, zone):
    """Refused when they are declared or when they are read; what the error advises, helps."""
    (tmp_path / "in").mkdir()
    times = pd.to_datetime(["2020-01-01 00:00:00", "2020-01-01 00:00:01"]).tz_localize(zone)
    rows = pd.DataFrame({"ts": times, "v": [1, 2]})
    rows.to_parquet(tmp_path / "in" / "1.parquet")

    def run():
        engine = windrow.Engine(spark=spark)
        engine.stream("s", tmp_path / "in", timestamp="ts", schema=columns)
        engine.query("q", SUM)
        engine.run(seal=True)
        return engine.results("q").collect()

    with pytest.raises(
        windrow.SourceError, match=r'nanoseconds.* df\.to_parquet\(path, coerce_timestamps="us"\)'
    ):
        run()
    rows.to_parquet(tmp_path / "in" / "1.parquet", coerce_timestamps="us")
    assert [row.total for row in run()] == [3]


@pytest.fixture
def bare_workers(spark, tmp_path, monkeypatch):
    """Python workers that find nothing that was installed."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))


TOLD = f"set PYSPARK_PYTHON (or spark.pyspark.python) to one that has, on every machine; here that is {sys.executable}"


def test_sliding_on_workers_without_windrow(spark, bare_workers):
    rows = spark.sql("SELECT timestamp_seconds(id) AS ts, id AS v FROM range(10)")
    slid = windrow.sliding(rows, "ts", windows=[("1 minute", "1 minute")], aggs={"total": ("sum", "v")})
    with pytest.raises(Exception, match="workers run a Python that has no Windrow") as raised:
        slid.collect()
    assert TOLD in str(raised.value)


def test_trees_on_workers_without_windrow_come_home(spark, tmp_path, bare_workers, caplog):
    files = Files(spark, tmp_path / "in")
    files.add(0, 90)
    engine = engine_on(files, tmp_path / "home", nodes=2)
    engine.query("other", "SELECT SUM(v) AS total FROM events [RANGE 20 SECONDS SLIDE 5 SECONDS]")
    with caplog.at_level(logging.WARNING, "windrow"):
        engine.run(seal=True)
    (said,) = [record.getMessage() for record in caplog.records if "Spark tasks" in record.getMessage()]
    assert TOLD in said
    assert engine.results("other").count() > 0

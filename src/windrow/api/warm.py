"""A quicker start: rehearses an engine once, and keeps what Spark's JVM had to load for it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.runtime.spark.class_archive import archive_path as archive_path
from windrow.runtime.spark.class_archive import write_archive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = (
    "SELECT timestamp_seconds(id) AS ts, CAST(id % 3 AS STRING) AS k, CAST(id AS DOUBLE) AS v "
    "FROM range({}, {}, 1, 1)"
)
QUERY = (
    "SELECT k, SUM(v) AS total, AVG(v) AS mean, MAX(v) AS most, COUNT(*) AS n "
    "FROM {} [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY k"
)


def warm_start(archive: Path | None = None) -> Path:
    """Archive the classes that a local session loads, for all that start after this; where they are."""
    archive = archive or archive_path()
    write_archive(archive, ["-c", "from windrow.api.warm import rehearse; rehearse()"])
    return archive


def rehearse() -> None:
    """Do once what engines do, and end the JVM."""
    from windrow.runtime.spark.session import start

    spark = start("windrow-rehearsal")
    with tempfile.TemporaryDirectory(prefix="windrow-") as directory:
        _run(spark, Path(directory))
    gateway: Any = spark.sparkContext._gateway
    spark.stop()
    gateway.proc.stdin.close()
    gateway.proc.wait()


def _run(spark: SparkSession, directory: Path) -> None:
    from windrow.api.engine import Engine

    for number in range(2):
        minutes = spark.sql(ROWS.format(3600 * number, 3600 * number + 4000))  # the later file has late rows
        minutes.write.mode("append").parquet(str(directory / "parquet"))
        minutes.selectExpr("ts", "k", "CAST(v AS STRING) AS v").unionAll(
            spark.sql("SELECT NULL, 'k', 'no number'")
        ).write.mode("append").csv(str(directory / "csv"))
    for _ in range(2):  # the second engine goes on where the first was
        with Engine(directory / "home", spark) as engine:
            for name, schema in (("parquet", None), ("csv", "ts TIMESTAMP, k STRING, v DOUBLE")):
                engine.stream(name, directory / name, "ts", format=name, schema=schema)
                engine.query(f"{name}_totals", QUERY.format(name))
            engine.run(seal=False)
            for name in ("parquet", "csv"):
                engine.results(f"{name}_totals").toArrow()
                engine.late(name).toArrow()
                engine.dead(name).toArrow()

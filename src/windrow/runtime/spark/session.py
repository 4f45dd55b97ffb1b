"""The Spark session: a local one with settings that suit micro-batches, or the caller's as it is."""

from __future__ import annotations

import os
import sys
from threading import Thread
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from windrow.errors import WindrowError
from windrow.runtime.logs import LOG
from windrow.runtime.spark.class_archive import archive_path, launching, options_with

if TYPE_CHECKING:
    from collections.abc import Callable

ARROW_ROWS = 1 << 20
OBJECT_GROUPS = 1 << 16
"""Above so many groups in a task Spark sorts rows before it makes sketches. Its own limit is 128; measured
with 2 M rows in 60,000 groups, HLL takes 5 s instead of 10 to 20 without the sort, KLL 3 s instead of 9.
A group takes up to some KB of memory."""
CHECKPOINT_FILES = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
"""How Spark writes the files of its checkpoints: under another name, and then renamed, as its usual manager
does. That one asks for links first, and Hadoop starts a process, `readlink`, for each question.
Measured with both in turns on a busy machine, 12 batches of 100 rows take 5.4 s instead of 7.4."""


def local_session(app: str = "windrow", meanwhile: Callable[[], object] | None = None) -> SparkSession:
    """The running session, or a new local one on all cores.

    Starting the JVM takes seconds, in which Python has nothing to do: a thread does `meanwhile`, such as to
    import what the caller needs next.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return checked(active)
    if meanwhile is not None:
        Thread(target=meanwhile, daemon=True).start()
    archive = archive_path()
    if not archive.exists():
        return checked(start(app))
    try:
        with launching(options_with(archive)):
            return checked(start(app))
    except PySparkRuntimeError:  # a damaged archive can bring Java down
        spark = start(app)
        archive.unlink(missing_ok=True)
        LOG.warning(
            "Spark did not start with the classes in %s, so they are gone; `windrow warm` makes them again",
            archive,
        )
        return checked(spark)


def start(app: str) -> SparkSession:
    """A new local session, in a JVM that loads all its classes itself."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    cores = os.cpu_count() or 1
    return (
        SparkSession.builder.master(f"local[{cores}]")
        .appName(app)
        .config("spark.sql.shuffle.partitions", cores)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", os.environ.get("WINDROW_DRIVER_MEMORY", "4g"))
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", ARROW_ROWS)
        .config("spark.sql.objectHashAggregate.sortBased.fallbackThreshold", OBJECT_GROUPS)
        .config("spark.sql.streaming.checkpointFileManagerClass", CHECKPOINT_FILES)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )


def checked(spark: SparkSession) -> SparkSession:
    """The session, unless it is one that Windrow cannot run on."""
    if not hasattr(spark, "_jsparkSession"):
        raise WindrowError(
            "Spark Connect sessions are not supported: foreachBatch would run on the server, away from the "
            "window state; use a classic session (SparkSession.builder.master(…) without a remote)"
        )
    return spark


ZONE = "spark.sql.session.timeZone"


def zone_of(spark: SparkSession) -> str:
    """The time zone of a session."""
    return str(spark.conf.get(ZONE))


def same_zone(spark: SparkSession, one: str, other: str) -> bool:
    """Whether two names of time zones mean the same, as UTC and Etc/UTC do."""
    java: Any = spark._jvm
    known = java.org.apache.spark.sql.catalyst.util.DateTimeUtils
    return one == other or bool(known.getZoneId(one).getRules().equals(known.getZoneId(other).getRules()))


def in_zone(spark: SparkSession, zone: str | None) -> SparkSession:
    """The session, or one that differs from it in nothing but its time zone.

    A session of its own, because others may be using this one: whatever they compute meanwhile is theirs.
    """
    if zone is None or same_zone(spark, zone, zone_of(spark)):
        return spark
    clone = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    clone.conf.set(ZONE, zone)
    return clone

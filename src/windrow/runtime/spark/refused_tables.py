"""The tables of a stream's late rows and of its dead letters: written with the epoch, kept for a while.

Spark writes them, so that a batch that is late as a whole needs no memory here.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from pyspark.sql import functions as F

from windrow.columns import EPOCH, LATE_BY, QUERY, REASON, REFUSED_FILE, REFUSED_POSITION, REFUSED_RAW
from windrow.runtime.home.folder_names import folder_name
from windrow.runtime.home.records import DataFile
from windrow.runtime.spark.analysis import arrow_schema
from windrow.runtime.spark.committed import address, read_committed
from windrow.runtime.spark.refused import apart, dead_rows, late_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from windrow.logical import Stream
    from windrow.planner import Bounds, Tally
    from windrow.runtime.home.home import Home
    from windrow.runtime.spark.headers import Header
    from windrow.runtime.spark.sources import FileSource

ORIGIN = pa.schema([(REFUSED_FILE, pa.string()), (REFUSED_POSITION, pa.int64()), (EPOCH, pa.int64())])


class Behind(NamedTuple):
    """The rows of a batch that are late for one query alone: it reads several streams, of which theirs was
    idle, and has been answered further than that."""

    query: str
    after: int
    """Rows up to here are from before the query came."""
    until: int
    """Up to where the query has been answered."""
    rows: int


def write_refused(
    home: Home,
    stream: Stream,
    batch: DataFrame,
    bounds: Bounds,
    source: FileSource | None,
    headers: Sequence[Header],
    tally: Tally,
    epoch: int,
    behind: Iterable[Behind] = (),
) -> list[DataFile]:
    """Write the late and the dead rows of a batch, if it has any, and those that are behind a query. The
    commit dates the files."""
    refused: list[tuple[str, int, DataFrame]] = []
    if tally.late:
        refused.append(("late", tally.late, late_rows(stream, batch, bounds)))
    for late in behind:
        refused.append(
            ("late", late.rows, late_rows(stream, batch, bounds, late.query, late.after, late.until))
        )
    if tally.dead:
        refused.append(("dead", tally.dead, dead_rows(stream, batch, bounds, source, headers)))
    files = []
    for kind, count, rows in refused:
        path = home.new_path(f"{kind}/{folder_name(stream.name)}", epoch, "parquet")
        _write(rows.withColumn(EPOCH, F.lit(epoch).cast("bigint")), path)
        files.append(DataFile(home.name_of(path), kind, stream.name, epoch, epoch, count))
    return files


def _write(frame: DataFrame, path: Path) -> None:
    """One Parquet file with the rows of a frame."""
    folder = path.with_suffix("")
    frame.repartition(1).write.parquet(f"file://{folder}")
    (written,) = folder.glob("part-*.parquet")
    written.rename(path)
    shutil.rmtree(folder)


def read_late(spark: SparkSession, home: Home, stream: str, columns: pa.Schema | None) -> DataFrame:
    """The late rows of a stream: its columns as far as they were in use, how late, and where from."""
    files = home.catalog.files("late", stream)
    if columns is None:  # a stream that this engine has not been told of: what the files say
        columns = (
            arrow_schema(spark.read.parquet(address(home, files[-1])).schema) if files else pa.schema([])
        )
        columns = pa.schema([field for field in columns if field.name not in (*ORIGIN.names, LATE_BY, QUERY)])
    columns = pa.schema([field.with_name(apart(field.name)) for field in columns])
    fields = [*columns, pa.field(LATE_BY, pa.duration("us")), pa.field(QUERY, pa.string()), *ORIGIN]
    return read_committed(spark, home, files, pa.schema(fields))


def read_dead(spark: SparkSession, home: Home, stream: str) -> DataFrame:
    """The dead letters of a stream: why, the text, and where from."""
    fields = [pa.field(REASON, pa.string()), pa.field(REFUSED_RAW, pa.string()), *ORIGIN]
    return read_committed(spark, home, home.catalog.files("dead", stream), pa.schema(fields))

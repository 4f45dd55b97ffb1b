"""The answers of a query as a DataFrame: from committed result files, which it shares with others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from windrow.columns import EPOCH, EXPIRES, QUERY
from windrow.runtime.home.declarations import declared_kind
from windrow.runtime.home.results import time_column
from windrow.runtime.home.views import parsed_instant, view
from windrow.runtime.spark.arrow_frames import frame_of
from windrow.runtime.spark.committed import read_committed
from windrow.runtime.spark.session import ZONE

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession

    from windrow.runtime.home.home import Home
    from windrow.runtime.home.records import StoredQuery


def read_results(
    spark: SparkSession, home: Home, query: StoredQuery, last: int | None = None, *, epochs: bool = False
) -> DataFrame:
    """The committed answers of a query: all, or those of the last microseconds.

    Of changes that RETAIN has let go those stay that are of rows which live on, so that the answer can be put
    together from what there is.
    """
    earliest, kind = query.retained_from, declared_kind(query.schema)
    lives_on = kind is not None and kind.can_end
    if last is not None and query.latest_end is not None:
        recent = query.latest_end - last
        lives_on &= earliest is not None and recent <= earliest
        earliest = recent if earliest is None else max(recent, earliest)
    files = [
        file
        for file in home.catalog.files("results", query.schema_id)
        if earliest is None or file.latest is None or file.latest > earliest or lives_on
    ]
    schema = query.schema.append(pa.field(QUERY, pa.int32())).append(pa.field(EPOCH, pa.int64()))
    frame = read_committed(spark, home, files, schema)
    frame = frame.where(F.col(QUERY) == query.id)
    if earliest is not None:
        time = time_column(query.schema)
        bound = pa.scalar(earliest).cast(query.schema.field(time).type).as_py()
        wanted = F.col(time) > F.lit(bound)
        if lives_on:
            wanted = wanted | F.col(EXPIRES).isNull() | (F.col(EXPIRES) > F.lit(bound))
        frame = frame.where(wanted)
    return frame.drop(*([QUERY] if epochs else [QUERY, EPOCH]))


def read_view(
    spark: SparkSession, home: Home, query: StoredQuery, at: str | datetime | None = None
) -> DataFrame:
    """The answer of a query at an instant; one that names no time zone is in the session's."""
    instant = None if at is None else parsed_instant(at, str(spark.conf.get(ZONE)))
    answer = view(home.path, home.catalog, query, instant).answer
    return frame_of(spark, answer)

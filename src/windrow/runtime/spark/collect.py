"""The JVM half of an epoch: one pass over a batch, partials collected as Arrow, and a tally of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.planner import tally_sql
from windrow.planner.passes.base import counted_groups
from windrow.runtime.spark.analysis import quiet, select
from windrow.runtime.spark.blame import ENGINE_ERRORS, failure

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from windrow.logical import Stream
    from windrow.planner import BatchPass, Bounds, Tally


def collect(
    shared: BatchPass, batch: DataFrame, bounds: Bounds, tables: Mapping[str, DataFrame]
) -> tuple[pa.Table, Tally | None]:
    """The partials (or rows) of a pass and, from a pass that sees every row, the tally of the batch.

    Raises whose fault it is if that fails: a QueryFailed or a MachineFailed.
    """
    frames = {shared.demand.stream.name: batch} | {
        e.table: tables[e.table] for e in shared.demand.enrichments
    }
    try:
        with quiet():
            collected = select(batch.sparkSession, shared.sql(bounds), frames).toArrow()
    except ENGINE_ERRORS as error:
        raise failure(error) from error
    collected = collected.rename_columns(shared.columns)
    return shared.counted(collected) if shared.sees_every_row else (collected, None)


def tally_batch(stream: Stream, batch: DataFrame, bounds: Bounds) -> Tally:
    """Count the rows of a batch in a pass of its own."""
    try:
        with quiet():
            counted = select(batch.sparkSession, tally_sql(stream, bounds), {stream.name: batch}).toArrow()
    except ENGINE_ERRORS as error:
        raise failure(error) from error
    return counted_groups(counted)


def read_table(frame: DataFrame) -> None:
    """Read a table whole, for nothing but to see that it can be read."""
    try:
        with quiet():
            frame.write.format("noop").mode("overwrite").save()
    except ENGINE_ERRORS as error:
        raise failure(error) from error

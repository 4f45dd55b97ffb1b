"""The JVM half of an epoch: one pass over a batch, partials collected as Arrow, and a tally of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from windrow.operators.aggregate.window_aggregate import SLICE
from windrow.planner import LiftedPass, Pass, RowPass, WovenPass, tally_sql
from windrow.planner.passes.bounds import DEAD, LATE, LATEST, ROWS
from windrow.planner.passes.woven import COPY
from windrow.runtime.spark.analysis import quiet, select
from windrow.runtime.spark.blame import ENGINE_ERRORS, failure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from windrow.logical import AggregateQuery, Stream
    from windrow.planner import Bounds

    AnyPass = Pass | RowPass | LiftedPass | WovenPass


@dataclass(frozen=True)
class Tally:
    """What a batch held: its latest instant (None: no usable one), and how many rows of each fate."""

    latest: int | None
    rows: int
    late: int
    dead: int


def collect(
    shared: AnyPass, batch: DataFrame, bounds: Bounds, tables: Mapping[str, DataFrame]
) -> tuple[pa.Table, Tally | None]:
    """The partials (or rows) of a pass and, from a pass that sees every row, the tally of the batch.

    Raises whose fault it is if that fails: a QueryFailed or a MachineFailed.
    """
    frames = {shared.query.stream.name: batch} | {e.table: tables[e.table] for e in shared.query.enrichments}
    try:
        with quiet():
            collected = select(batch.sparkSession, shared.sql(bounds), frames).toArrow()
    except ENGINE_ERRORS as error:
        raise failure(error) from error
    collected = collected.rename_columns(shared.columns)
    if not isinstance(shared, WovenPass):
        collected = with_key_types(collected, shared.query)
    if not shared.sees_every_row:
        return collected, None
    if isinstance(shared, RowPass | LiftedPass):
        tally = _tally_rows(collected)
    else:
        counted = collected if isinstance(shared, Pass) else collected.filter(pc.equal(collected[COPY], 0))
        tally = _tally(counted)
        collected = collected.drop_columns([LATEST, ROWS])
    if tally.late or tally.dead:
        collected = collected.filter(pc.greater(collected[SLICE], LATE))
    return collected, tally


def by_query(shared: AnyPass, collected: pa.Table) -> dict[str, pa.Table]:
    """What a pass has collected for each of its queries; those of one class get the same table."""
    if not isinstance(shared, WovenPass):
        return dict.fromkeys(shared.queries, collected)
    tables: dict[str, pa.Table] = {}
    for strand, table in shared.tables(collected):
        tables |= dict.fromkeys(strand.queries, with_key_types(table, strand.query))
    return tables


def tally_batch(stream: Stream, batch: DataFrame, bounds: Bounds) -> Tally:
    """Count the rows of a batch in a pass of its own."""
    try:
        with quiet():
            counted = select(batch.sparkSession, tally_sql(stream, bounds), {stream.name: batch}).toArrow()
    except ENGINE_ERRORS as error:
        raise failure(error) from error
    return _tally(counted)


def read_table(frame: DataFrame) -> None:
    """Read a table whole, for nothing but to see that it can be read."""
    try:
        with quiet():
            frame.write.format("noop").mode("overwrite").save()
    except ENGINE_ERRORS as error:
        raise failure(error) from error


def _tally(collected: pa.Table) -> Tally:
    def rows(condition: pc.Expression | None = None) -> int:
        counted = collected if condition is None else collected.filter(condition)
        return pc.sum(counted[ROWS]).as_py() or 0

    return Tally(
        pc.max(collected[LATEST]).as_py(),
        rows(),
        rows(pc.field(SLICE) == LATE),
        rows(pc.field(SLICE) == DEAD),
    )


def _tally_rows(collected: pa.Table) -> Tally:
    """The same from rows as they are: one that counts has its instant in place of a slice."""
    late, dead = (pc.sum(pc.equal(collected[SLICE], fate)).as_py() or 0 for fate in (LATE, DEAD))
    counting = len(collected) - late - dead
    return Tally(pc.max(collected[SLICE]).as_py() if counting else None, len(collected), late, dead)


def with_key_types(collected: pa.Table, query: AggregateQuery) -> pa.Table:
    """Key columns of the types that were planned: Spark's Arrow carries the session's time zone."""
    for name, of_type in zip(query.keys, query.key_types, strict=True):
        place = collected.schema.get_field_index(name)
        if collected.schema.field(place).type != of_type:
            collected = collected.set_column(place, name, collected.column(place).cast(of_type))
    return collected

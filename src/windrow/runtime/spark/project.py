"""The SELECT list and HAVING over answers: a renaming where that is all, Spark where it computes.

Spark evaluates what it would evaluate in its own query, so that ROUND, CASE and the rest mean what
they mean there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.columns import QUERY
from windrow.logical import ANSWERS, view_name
from windrow.runtime.home.results import result_schema
from windrow.runtime.spark.analysis import quiet, select
from windrow.runtime.spark.arrow_frames import frame_of
from windrow.runtime.spark.blame import ENGINE_ERRORS, failure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from windrow.logical import BoundQuery


def renamed(query: BoundQuery, answers: pa.Table) -> pa.Table:
    """The result rows of a query that computes nothing from its answers."""
    schema = _schema(query)
    names = [*query.time_columns, *(o.answer for o in query.outputs), QUERY]
    return pa.table([answers[name] for name in names], names=schema.names).cast(schema)


def project(spark: SparkSession, query: BoundQuery, answers: pa.Table) -> pa.Table:
    """The result rows of a query, from its answers; `_query` stays as it is."""
    if not query.needs_projection:
        return renamed(query, answers)
    schema = _schema(query)
    items = ", ".join(
        [*query.time_columns, *(f"{o.expression} AS _{i}" for i, o in enumerate(query.outputs)), QUERY]
    )
    having = f" WHERE {query.having}" if query.having else ""
    sql = f"SELECT {items} FROM {view_name(ANSWERS)}{having}"
    try:
        with quiet():
            frame = select(spark, sql, {ANSWERS: frame_of(spark, answers)})
            return frame.toArrow().rename_columns(schema.names).cast(schema)
    except ENGINE_ERRORS as error:
        raise failure(error) from error


def _schema(query: BoundQuery) -> pa.Schema:
    return result_schema(query).append(pa.field(QUERY, pa.int32()))

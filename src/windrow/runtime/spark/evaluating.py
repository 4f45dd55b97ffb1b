"""Expressions over the rows of an edge between two operators, computed by Spark: what a pass over one stream
cannot compute means what it means in Spark, too.

Cost: a Spark job, some tenths of a second; nothing for no rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.columns import POSITION, quoted
from windrow.logical import ANSWERS, view_name
from windrow.runtime.spark.analysis import quiet, select
from windrow.runtime.spark.arrow_frames import frame_of
from windrow.runtime.spark.blame import ENGINE_ERRORS, failure
from windrow.runtime.spark.session import in_zone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession


class SparkEvaluator:
    """Computes expressions in the time zone of a stream."""

    def __init__(self, spark: SparkSession, zone: str | None) -> None:
        self._spark = spark
        self._zone = zone
        self._zoned: SparkSession | None = None

    def __call__(self, rows: pa.Table, expressions: Sequence[str]) -> list[pa.Array]:
        """The values of expressions, Spark SQL over the columns, for each row, in their order."""
        if self._zoned is None or self._zoned is self._spark:  # the user's own session may change its zone
            self._zoned = in_zone(self._spark, self._zone)
        given = rows.append_column(POSITION, pa.array(np.arange(len(rows))))
        items = ", ".join([quoted(POSITION), *(f"{sql} AS _{i}" for i, sql in enumerate(expressions))])
        sql = f"SELECT {items} FROM {view_name(ANSWERS)}"
        try:
            with quiet():
                found = select(self._zoned, sql, {ANSWERS: frame_of(self._zoned, given)}).toArrow()
        except ENGINE_ERRORS as error:
            raise failure(error) from error
        places = found[POSITION].to_numpy()
        if not np.all(places[:-1] <= places[1:]):
            found = found.take(pa.array(np.argsort(places)))
        return [found[f"_{i}"].combine_chunks() for i in range(len(expressions))]

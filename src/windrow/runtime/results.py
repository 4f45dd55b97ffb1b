"""Results on disk: one Parquet file a result schema and epoch, the query's number as a column.

Thousands of queries with the same result schema add one file an epoch, not thousands. A file exists
once the home says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pat
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from windrow.runtime.home import DataFile

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from windrow.logical import AggregateQuery
    from windrow.runtime.home import Home, StoredQuery

QUERY = "_query"


def result_schema(query: AggregateQuery) -> pa.Schema:
    """The columns of a query's results: the window, then the SELECT list."""
    times = [(name, query.stream.time_type) for name in ("window_start", "window_end")]
    return pa.schema([*times, *((output.name, output.type) for output in query.outputs)])


class ResultWriter:
    """Writes the answers of one epoch, a file a schema."""

    def __init__(self, home: Home, epoch: int) -> None:
        self._home = home
        self._epoch = epoch
        self._writers: dict[str, tuple[Path, pq.ParquetWriter, int]] = {}

    def write(self, query: StoredQuery, answers: pa.Table) -> None:
        """Add answers of one query."""
        numbers = pa.array(np.full(len(answers), query.id, np.int32))
        answers = answers.append_column(QUERY, numbers)
        if query.schema_id not in self._writers:
            path = self._home.new_path(f"results/{query.schema_id}", self._epoch, "parquet")
            names = [f.name for f in answers.schema if _repeats(f.type) or f.name == QUERY]
            # Dictionaries pay for keys and window times; for floats they only cost time.
            writer = pq.ParquetWriter(path, answers.schema, compression="lz4", use_dictionary=names)
            self._writers[query.schema_id] = (path, writer, 0)
        path, writer, rows = self._writers[query.schema_id]
        writer.write_table(answers)
        self._writers[query.schema_id] = (path, writer, rows + len(answers))

    def close(self) -> list[DataFile]:
        """Finish the files; they exist when the home has committed them."""
        files = []
        for schema, (path, writer, rows) in self._writers.items():
            writer.close()
            files.append(DataFile(str(path.relative_to(self._home.path)), "results", schema, rows))
        return files

    def abandon(self) -> None:
        """Close after a failure; the files are swept away later."""
        for _, writer, _ in self._writers.values():
            writer.close()


def read_results(spark: SparkSession, home: Home, query: StoredQuery) -> DataFrame:
    """All committed answers of a query."""
    files = [f"file://{path}" for path in home.files("results", query.schema_id)]
    spark_schema = from_arrow_schema(query.schema.append(pa.field(QUERY, pa.int32())))
    if not files:
        return spark.createDataFrame([], spark_schema).drop(QUERY)
    frame = spark.read.schema(spark_schema).parquet(*files)
    return frame.where(F.col(QUERY) == query.id).drop(QUERY)


def _repeats(of_type: pa.DataType) -> bool:
    return bool(
        pat.is_string(of_type)
        or pat.is_large_string(of_type)
        or pat.is_timestamp(of_type)
        or pat.is_date(of_type)
    )

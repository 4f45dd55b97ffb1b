"""Arrow tables as DataFrames.

Spark takes a table that begins with two chunks without rows for one without rows (4.3); so a table goes there
in one chunk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.pandas.types import from_arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """The rows of a table."""
    return spark.createDataFrame(table.combine_chunks(), from_arrow_schema(table.schema))

"""Committed Parquet files of a home as DataFrames: results, late rows, dead letters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.pandas.types import from_arrow_schema

from windrow.runtime.home.durable import check
from windrow.runtime.spark.file_patterns import as_itself

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from windrow.runtime.home.home import Home
    from windrow.runtime.home.records import DataFile


def read_committed(
    spark: SparkSession, home: Home, files: Iterable[DataFile], schema: pa.Schema
) -> DataFrame:
    """The rows of files of a home, with the columns of a schema; those that a file lacks are NULL."""
    files = list(files)
    for file in files:
        check(home.path / file.path, file.bytes, None)
    columns = from_arrow_schema(schema)
    if not files:
        return spark.createDataFrame([], columns)
    return spark.read.schema(columns).parquet(*(address(home, file) for file in files))


def address(home: Home, file: DataFile) -> str:
    """Where a file of a home is, in such a way that Spark reads that file and no other.

    A home called `h[1]` would be sought at `h1`. Paths that Spark writes to, its checkpoints among them, it
    takes as they are.
    """
    return f"file://{as_itself(str(home.path / file.path))}"

"""Committed Parquet files of a home as DataFrames: results, late rows, dead letters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.sql.pandas.types import from_arrow_schema

from windrow.runtime.durable import check

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from windrow.runtime.catalog import DataFile
    from windrow.runtime.home import Home


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

    Spark takes the paths that it is to read for patterns, so a home called `h[1]` would be sought at `h1`.
    (Its option that turns patterns off, `__globPaths__`, reads each of n files n times if their paths have
    such letters.) Paths that it writes to, its checkpoints among them, it takes as they are.
    """
    path = re.sub(r"([\\*?\[\]{}])", r"\\\1", str(home.path / file.path))
    return f"file://{path}"

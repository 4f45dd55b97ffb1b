"""Where rows come from: files that Spark reads as a stream or at once, or the caller's DataFrame."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.errors import SourceError
from windrow.runtime.analysis import SPARK_ERRORS, reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

FORMATS = ("parquet", "csv", "json")


@dataclass(frozen=True)
class FileSource:
    """A directory or file; `columns` is a Spark DDL schema, and may be left out for Parquet."""

    path: str
    format: str = "parquet"
    columns: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # A relative path means the current directory, now: the JVM stays where it was started, and a home
        # may be opened from elsewhere later.
        if ":" not in self.path:
            object.__setattr__(self, "path", str(Path(self.path).absolute()))

    def definition(self) -> dict[str, Any]:
        """As the home remembers it."""
        options = dict(self.options)
        return {"path": self.path, "format": self.format, "columns": self.columns, "options": options}

    def read(self, spark: SparkSession) -> DataFrame:
        """All rows that are there now."""
        return self._load(spark, spark.read)

    def read_stream(self, spark: SparkSession) -> DataFrame:
        """The rows that are there and those that come."""
        schema = self.read(spark).schema if self.columns is None else None
        reader = spark.readStream.schema(schema) if schema is not None else spark.readStream
        return self._load(spark, reader)

    def _load(self, spark: SparkSession, reader: Any) -> DataFrame:
        if self.columns is not None:
            reader = reader.schema(self.columns)
        elif self.format == "csv":
            reader = reader.option("inferSchema", "true")
        # Until bad rows have a table of their own, a broken line stops the stream instead of turning
        # into NULLs; OPTIONS (mode '…') decides otherwise.
        modes = {} if self.format == "parquet" else {"mode": "FAILFAST"}
        # Not the cluster's default file system: the path was checked here.
        path = f"file://{self.path}" if self.path.startswith("/") else self.path
        try:
            frame: DataFrame = reader.format(self.format).options(**{**modes, **self.options}).load(path)
        except SPARK_ERRORS as error:
            raise SourceError(f"cannot read {self.format} from '{self.path}': {reason(error)}") from error
        return frame


def check_path(path: str) -> None:
    """A local path must exist; others are Spark's to judge."""
    if "://" not in path and not any(letter in path for letter in "*?[{") and not Path(path).exists():
        raise SourceError(f"there is no '{path}'; a stream's directory must exist, even if it is empty")

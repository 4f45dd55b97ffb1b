"""Where rows come from: files that Spark reads as a stream or at once, or the caller's DataFrame."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.types import StructType

from windrow.errors import SourceError
from windrow.logical import quoted
from windrow.optimizer.bounds import RAW
from windrow.runtime.analysis import SPARK_ERRORS, reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

FORMATS = ("parquet", "csv", "json")
BOUNDS = ("maxfilespertrigger", "maxbytespertrigger")
BATCH_BYTES = 1 << 30
"""How much of what is waiting becomes one batch. A larger file is a batch of its own, whole."""


@dataclass(frozen=True)
class FileSource:
    """A directory or file; `columns` is a Spark DDL schema, and may be left out for Parquet."""

    path: str
    format: str = "parquet"
    columns: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Here, since definitions come from homes too: Spark would load any class that is given as a format.
        if self.format not in FORMATS:
            raise SourceError(f"unknown format '{self.format}'; there are {', '.join(FORMATS)}")
        # A relative path means the current directory, now: the JVM stays where it was started, and a home
        # may be opened from elsewhere later.
        if ":" not in self.path:
            object.__setattr__(self, "path", str(Path(self.path).absolute()))

    def definition(self) -> dict[str, Any]:
        """As the home remembers it."""
        options = dict(self.options)
        return {"path": self.path, "format": self.format, "columns": self.columns, "options": options}

    @property
    def is_text(self) -> bool:
        """Whether rows are lines that may be unreadable."""
        return self.format != "parquet"

    def read(self, spark: SparkSession) -> DataFrame:
        """All rows that are there now. A line that cannot be read is an error, unless OPTIONS (mode '…')
        says otherwise."""
        reader = spark.read
        if self.columns is not None:
            reader = reader.schema(self.columns)
        elif self.format == "csv":
            reader = reader.option("inferSchema", "true")
        return self._load(reader, {"mode": "FAILFAST"} if self.is_text else {})

    def schema(self, spark: SparkSession) -> StructType:
        """The columns: as they are declared, or as the files have them."""
        if self.columns is None:
            return self.read(spark).schema
        try:
            return cast("StructType", StructType.fromDDL(self.columns))
        except SPARK_ERRORS as error:
            raise SourceError(f"cannot read {self.format} from '{self.path}': {reason(error)}") from error

    def read_stream(self, spark: SparkSession) -> DataFrame:
        """The rows that are there and those that come; of text, with RAW: the line that could not be read."""
        defaults = {} if self._chooses(*BOUNDS) else {"maxBytesPerTrigger": str(BATCH_BYTES)}
        declared = self.columns or self.read(spark).schema
        if not self.is_text:
            # Without the position of a row: with `_metadata.row_index`, a pass over 20 M rows was measured
            # to take 16 % longer (median of 7 pairs of runs, 10 to 25 % in all but one).
            return self._load(spark.readStream.schema(declared), defaults)
        defaults |= {"mode": "PERMISSIVE"}
        if self._mode == "PERMISSIVE" or self._chooses("columnnameofcorruptrecord"):
            # The user's own way with unreadable lines: NULLs, or a column for them. None is a dead letter.
            frame = self._load(spark.readStream.schema(declared), defaults)
            return frame.selectExpr("*", f"CAST(NULL AS STRING) AS {RAW}")
        schema = f"{declared}, {RAW} STRING" if isinstance(declared, str) else declared.add(RAW, "string")
        frame = self._load(spark.readStream.schema(schema), defaults, columnNameOfCorruptRecord=RAW)
        return _with_raw(frame)

    @property
    def _mode(self) -> str | None:
        """What the user wants done with unreadable lines."""
        return next((value.upper() for name, value in self.options.items() if name.lower() == "mode"), None)

    def _chooses(self, *names: str) -> bool:
        """Whether the user has set one of these options; their names have no case."""
        return any(name.lower() in names for name in self.options)

    def _load(self, reader: Any, defaults: Mapping[str, str], **ours: str) -> DataFrame:
        # Not the cluster's default file system: the path was checked here.
        path = f"file://{self.path}" if self.path.startswith("/") else self.path
        options = {**defaults, **self.options, **ours}
        try:
            frame: DataFrame = reader.format(self.format).options(**options).load(path)
        except SPARK_ERRORS as error:
            raise SourceError(f"cannot read {self.format} from '{self.path}': {reason(error)}") from error
        taken = [
            name
            for name in frame.columns
            if name.lower().startswith("_windrow_") and name not in ours.values()
        ]
        if taken:
            raise SourceError(
                f"'{self.path}' has a column '{taken[0]}': names that begin with _windrow_ are Windrow's own"
            )
        return frame


def _with_raw(frame: DataFrame) -> DataFrame:
    """Every column read for every row, so that a row is good or bad for every query alike.

    Spark parses only the columns that something refers to (`columnPruning` is about finding the values
    in a line, not about converting them). So RAW refers to all of them, in a way that the optimizer
    does not see through: a substring from 0 and one from 1 are the same.
    """
    columns = [quoted(column) for column in frame.columns if column != RAW]
    missing = ", ".join(f"{column} IS NULL" for column in columns)
    raw = f"substring({RAW}, IF(array_contains(array({missing}), true), 1, 0))"
    return frame.selectExpr(*columns, f"{raw} AS {RAW}")


def check_path(path: str) -> None:
    """A local path must exist; others are Spark's to judge."""
    if "://" not in path and not any(letter in path for letter in "*?[{") and not Path(path).exists():
        raise SourceError(f"there is no '{path}'; a stream's directory must exist, even if it is empty")

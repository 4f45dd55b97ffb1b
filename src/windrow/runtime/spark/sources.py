"""Where rows come from: files that Spark reads as a stream or at once, or the caller's DataFrame."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.types import StringType, StructField, StructType

from windrow.columns import RAW, quoted
from windrow.errors import SourceError
from windrow.runtime.spark.analysis import SPARK_ERRORS, reason
from windrow.runtime.spark.file_patterns import as_itself, is_pattern
from windrow.runtime.spark.headers import IGNORED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
    by_name: bool = False
    """Whether the columns of a CSV file are found by the names in its header; otherwise by their places."""
    zone: str | None = None
    """The time zone of timestamps in text that do not say theirs; None: that of the session."""

    def __post_init__(self) -> None:
        # Here, since definitions come from homes too: Spark would load any class that is given as a format.
        if self.format not in FORMATS:
            raise SourceError(f"unknown format '{self.format}'; there are {', '.join(FORMATS)}")
        # A relative path means the current directory, now: the JVM stays where it was started, and a home
        # may be opened from elsewhere later.
        if ":" not in self.path:
            object.__setattr__(self, "path", str(Path(self.path).absolute()))

    def definition(self) -> dict[str, Any]:
        """As the home remembers it. A definition without `by_name` is of a source whose columns go by their
        places, and one without `zone` of a source that goes by the session, as all did before format 5."""
        options = dict(self.options)
        known: dict[str, Any] = {"path": self.path, "format": self.format, "columns": self.columns}
        settled = ({"by_name": True} if self.by_name else {}) | ({"zone": self.zone} if self.zone else {})
        return known | {"options": options} | settled

    @property
    def has_names(self) -> bool:
        """Whether files have headers, and the user has not said that these are to be ignored."""
        ignores = self._is_on("enforceschema") or self._is_on("singlevariantcolumn")
        return self.format == "csv" and self._is_on("header") and not ignores

    @property
    def is_text(self) -> bool:
        """Whether rows are lines that may be unreadable."""
        return self.format != "parquet"

    def read(
        self, spark: SparkSession, columns: StructType | None = None, files: Sequence[str] | None = None
    ) -> DataFrame:
        """All rows that are there now, or those of some files, by the places of the columns: those declared,
        or others. A line that cannot be read is an error, unless OPTIONS (mode '…') says otherwise."""
        reader = spark.read
        declared = self.columns if columns is None else columns
        if declared is not None:
            reader = reader.schema(declared)
        elif self.format == "csv":
            reader = reader.option("inferSchema", "true")
        return self._load(reader, {"mode": "FAILFAST"} if self.is_text else {}, files)

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
        if self.lets_lines_die:
            schema = f"{declared}, {RAW} STRING" if isinstance(declared, str) else declared.add(RAW, "string")
            return self._lines(spark.readStream.schema(schema), defaults)
        return self._lines(spark.readStream.schema(declared), defaults)

    def read_lines(
        self, spark: SparkSession, columns: Iterable[StructField], files: Sequence[str]
    ) -> DataFrame:
        """The rows of some files of text, as `read_stream` gives them, with their columns in this order."""
        raw = [StructField(RAW, StringType())] if self.lets_lines_die else []
        return self._lines(spark.read.schema(StructType([*columns, *raw])), {}, files)

    def read_files(
        self, spark: SparkSession, columns: Iterable[StructField], files: Sequence[str]
    ) -> DataFrame:
        """The rows of some files, as `read_stream` gives them, with these columns."""
        if self.is_text:
            return self.read_lines(spark, columns, files)
        return self.read(spark, StructType(list(columns)), files)

    def _lines(
        self, reader: Any, defaults: Mapping[str, str], files: Sequence[str] | None = None
    ) -> DataFrame:
        """Rows of text, with RAW."""
        defaults = {**defaults, "mode": "PERMISSIVE"}
        if self.lets_lines_die:
            return _with_raw(self._load(reader, defaults, files, columnNameOfCorruptRecord=RAW))
        return self._load(reader, defaults, files).selectExpr("*", f"CAST(NULL AS STRING) AS {RAW}")

    @property
    def lets_lines_die(self) -> bool:
        """Whether a line that cannot be read is a dead letter, unless a mode drops it or stops. Otherwise
        the user has a way of their own with such lines, NULLs or a column for them."""
        return self.mode != "PERMISSIVE" and not self._chooses("columnnameofcorruptrecord")

    @property
    def mode(self) -> str | None:
        """What the user wants done with unreadable lines."""
        chosen = self.option("mode")
        return None if chosen is None else chosen.upper()

    def option(self, name: str) -> str | None:
        """What the user has set an option to; names of options have no case."""
        return next((str(value) for known, value in self.options.items() if known.lower() == name), None)

    def _is_on(self, name: str) -> bool:
        return (self.option(name) or "").lower() == "true"

    def _chooses(self, *names: str) -> bool:
        """Whether the user has set one of these options."""
        return any(name.lower() in names for name in self.options)

    @property
    def address(self) -> str:
        """The path for Spark. Not in the cluster's default file system: it was checked on this machine."""
        return f"file://{self.path}" if self.path.startswith("/") else self.path

    def _load(
        self,
        reader: Any,
        defaults: Mapping[str, str],
        files: Sequence[str] | None = None,
        **ours: str,
    ) -> DataFrame:
        options = {**defaults, **self.options, **ours}
        if self.is_text and self.zone is not None and not self._chooses("timezone"):
            options["timeZone"] = self.zone
        if self.by_name:
            # Spark would compare headers with the columns by their places. Those that differ are read apart.
            options = {name: value for name, value in options.items() if name.lower() != "enforceschema"}
        try:
            if files is not None:
                # Below the path, the names of directories may be columns.
                is_file = len(files) == 1 and files[0].rpartition("/")[2] == self.address.rpartition("/")[2]
                base = {} if is_pattern(self.path) or is_file else {"basePath": self.address}
                reader = reader.format(self.format).options(**base, **options)
                opened: DataFrame = reader.load([as_itself(file) for file in files])
                return opened
            frame: DataFrame = reader.format(self.format).options(**options).load(self.address)
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
    columns = [column for column in frame.columns if column != RAW]
    missing = ", ".join(f"{quoted(column)} IS NULL" for column in columns)
    raw = f"substring({RAW}, IF(array_contains(array({missing}), true), 1, 0))"
    declared = (quoted(column) for column in columns if not column.startswith(IGNORED))
    return frame.selectExpr(*declared, f"{raw} AS {RAW}")


def check_path(path: str) -> None:
    """A local path must exist; others are Spark's to judge."""
    if "://" not in path and not is_pattern(path) and not Path(path).exists():
        raise SourceError(f"there is no '{path}'; a stream's directory must exist, even if it is empty")

"""CSV files with headers, read by the names of their columns.

Spark's reader takes the declared columns for those of a file, in their order, and skips the header unread.
So headers are looked at before a batch is staged or a table is read:

1. The header of each file is read (`headers.py`).
2. If all of them name the declared columns, in their order, Spark's rows are taken as they are.
3. Otherwise the files are read again, those of one header together, with the columns in its order, and the
   rows are put together by name. Columns that nobody declared are left out. A column HEADER says which
   header a row was read by, for sentences about lines that could not be read.
4. The lines of a file whose header lacks a declared column are dead letters, each as it is.

The same files give the same rows, so that a batch which comes again is the same batch. The header of a local
file takes 0.03 ms; that of one which is compressed or elsewhere takes some calls to Java, 6 ms together.
Files that are read in step 3 have not been read before.
"""

from __future__ import annotations

import re
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from windrow.columns import HEADER, RAW, quoted
from windrow.errors import SourceError
from windrow.runtime.logs import LOG
from windrow.runtime.spark.analysis import SPARK_ERRORS
from windrow.runtime.spark.file_patterns import is_pattern
from windrow.runtime.spark.headers import HeaderLines, addresses, headers_of, local_path
from windrow.runtime.spark.sources import FileSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession

    from windrow.runtime.spark.headers import Header


class ColumnsByName:
    """Reads the files of one stream or table by the names in their headers."""

    def __init__(self, name: str, source: FileSource, spark: SparkSession) -> None:
        self._name = name
        self._source = source
        self._spark = spark
        self._lines = HeaderLines(spark, source.options)
        self._said: set[str] = set()

    def check_first(self, columns: Iterable[str]) -> None:
        """Raise a SourceError if there are files and the first, by the time of its change, lacks a column."""
        file = self._oldest()
        if file is not None:
            declared = [column for column in columns if column.lower() not in self._elsewhere([file])]
            headers = headers_of(self._lines, [file], declared)
            for header in headers or ():
                self._check(header, file, declared)

    def batch(
        self, batch: DataFrame, files: Sequence[str], *, first: bool
    ) -> tuple[DataFrame, tuple[Header, ...]]:
        """The rows of a batch of a stream, and the headers that HEADER numbers; none if all are as declared.

        `first` says that no batch has been committed: then a header that lacks a column is an error if it is
        that of the first file, since it is rather the declaration that is wrong than a file. Where a home
        goes by the places of columns, rows stay as they are, and a header that differs is warned of.
        """
        columns = [field for field in batch.schema if not field.name.startswith("_windrow_")]
        elsewhere = self._elsewhere(files)
        declared = [field for field in columns if field.name.lower() not in elsewhere]
        names = [field.name for field in declared]
        headers = headers_of(self._lines, files, names)
        if headers is not None and not self._source.by_name:
            self._say_by_places(headers, names)
        if headers is None or not self._source.by_name:
            return batch, ()
        if first:
            header, of_header = next(iter(headers.items()))
            self._check(header, of_header[0], names)
        self._say_ignored(headers, names)
        besides = [field for field in columns if field.name.lower() in elsewhere]
        frames = [
            self._rows(batch.sparkSession, header, of_header, declared, besides)
            .select(*map(quoted, batch.columns))
            .withColumn(HEADER, F.lit(number))
            for number, (header, of_header) in enumerate(headers.items())
        ]
        return reduce(DataFrame.union, frames), tuple(headers)

    def table(self) -> DataFrame:
        """All rows of a table. A header that lacks a declared column is an error."""
        frame = self._source.read(self._spark)
        files = addresses(sorted(frame.inputFiles()))
        elsewhere = self._elsewhere(files)

        def in_files(of: DataFrame) -> list[StructField]:
            return [field for field in of.schema if field.name.lower() not in elsewhere]

        headers = headers_of(self._lines, files, [field.name for field in in_files(frame)])
        if headers is None or (self._source.columns is None and len(headers) == 1):
            return frame
        if self._source.columns is None:
            # Inferred by places, from files in which these are not the same. So: from those like the first.
            frame = self._source.read(self._spark, files=next(iter(headers.values())))
        declared = in_files(frame)
        names = [field.name for field in declared]
        for header, of_header in headers.items():
            self._check(header, of_header[0], names)
        self._say_ignored(headers, names)
        besides = [field for field in frame.schema if field.name.lower() in elsewhere]
        frames = [
            self._source.read(self._spark, StructType([*header.fields(declared), *besides]), of_header)
            for header, of_header in headers.items()
        ]
        return reduce(DataFrame.union, (rows.select(*map(quoted, frame.columns)) for rows in frames))

    def _rows(
        self,
        spark: SparkSession,
        header: Header,
        files: list[str],
        declared: list[StructField],
        besides: list[StructField],
    ) -> DataFrame:
        """The rows of files with one header, with RAW."""
        source, mode = self._source, self._source.mode
        if header.complaint and mode == "FAILFAST":
            self._check(header, files[0], [field.name for field in declared])
        if header.complaint and mode is None and source.lets_lines_die:
            return self._dead(spark, files, [*declared, *besides])
        rows = source.read_lines(spark, [*header.fields(declared), *besides], files)
        missing = [field for field in declared if header.place(field.name) is None]
        # What cannot be read is NULL, or the row is dropped: as the user has chosen.
        rows = rows.withColumns({field.name: F.lit(None).cast(field.dataType) for field in missing})
        return rows.where("false") if missing and mode == "DROPMALFORMED" else rows

    def _dead(self, spark: SparkSession, files: list[str], columns: list[StructField]) -> DataFrame:
        """The lines of files as unreadable ones. Read as lines of one value: a line of several is not one."""
        lines = self._source.read_lines(spark, [StructField("line", StringType())], files)
        nothing = (F.lit(None).cast(field.dataType).alias(field.name) for field in columns)
        return lines.select(*nothing, F.coalesce(RAW, "line", F.lit("")).alias(RAW))

    def _check(self, header: Header, file: str, columns: Sequence[str]) -> None:
        if header.complaint:
            remedy = (
                "declare the columns as the header names them, or correct the header; if the files have no "
                "header, leave out header 'true'. With OPTIONS (enforceSchema 'true') the first line is "
                "skipped, and columns go by their places"
            )
            if len(header.names) == 1 < len(columns):
                remedy = f"the header is one column, '{header}': is the separator (sep) right?"
            raise SourceError(
                f"the columns of '{local_path(file) or file}' are not as declared: {header.complaint}\n"
                f"  declared: {', '.join(columns)}\n"
                f"  header:   {header}\n{remedy}"
            )

    def _say_ignored(self, headers: Iterable[Header], columns: Sequence[str]) -> None:
        ignored = dict.fromkeys(
            name for header in headers if not header.complaint for name in header.ignored(columns)
        )
        new = [name for name in ignored if name not in self._said]
        if new:
            self._said.update(new)
            LOG.warning(
                "'%s' has columns that are not declared, and they are ignored: %s", self._name, ", ".join(new)
            )

    def _say_by_places(self, headers: Iterable[Header], columns: Sequence[str]) -> None:
        other = next(header for header in headers if not header.is_of(columns))
        if not self._said:
            self._said.update(other.names)
            LOG.warning(
                "the columns of '%s' go by their places, as they did when this home was made, and a header "
                "names them otherwise: declared %s; header %s. To find them by name, use another home",
                *(self._name, ", ".join(columns), other),
            )

    def _elsewhere(self, files: Iterable[str]) -> set[str]:
        """Names, in lower case, of columns that are no part of a file: they are in the names of its
        directories, as in day=2024-05-01, or hold lines that could not be read."""
        base = self._source.address.rstrip("/")
        below = [] if is_pattern(base) else [file.removeprefix(base) for file in files]
        found = {name.lower() for path in below for name in re.findall("/([^/=]+)=(?=[^/]*/)", path)}
        if not self._source.lets_lines_die:
            chosen = self._source.option("columnnameofcorruptrecord")
            found.add((chosen or self._spark.conf.get("spark.sql.columnNameOfCorruptRecord") or "").lower())
        return found

    def _oldest(self) -> str | None:
        """The file that changed first, which is the one that Spark takes first; None if there is none."""
        try:
            files = self._spark.read.format("binaryFile").options(**self._source.options)
            found = (
                files.load(self._source.address).orderBy("modificationTime", "path").select("path").first()
            )
        except SPARK_ERRORS:  # a pattern that nothing matches yet
            return None
        return None if found is None else re.sub("^file:/+", "file:///", found.path)

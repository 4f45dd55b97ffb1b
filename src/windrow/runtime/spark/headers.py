"""The headers of CSV files, read as Spark's own reader would read them, if it did not skip them.

The first line that says something is found here, and taken apart by Spark's parser, by the options that the
files are read with. A line that has been seen before is not parsed again.
"""

from __future__ import annotations

import re
from codecs import lookup
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pyspark.sql.types import StringType, StructField

from windrow.errors import SourceError
from windrow.runtime.spark.analysis import SPARK_ERRORS, reason
from windrow.runtime.spark.blame import ENGINE_ERRORS, failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

CHUNK = 1 << 16
REMEMBERED = 1_000
"""Headers that are not parsed again. There are few, unless files have none and begin with their rows."""
SHOWN = 200
"""Characters of a header in a sentence about it: it may be a line of anything."""
IGNORED = "_windrow_ignored_"
"""With the number of a column: one that nobody declared."""


@dataclass(frozen=True)
class Header:
    """The names in the first line of a CSV file, in their order."""

    names: tuple[str, ...]
    complaint: str = ""
    """What is wrong with it, if declared columns cannot be found by it."""

    def place(self, column: str) -> int | None:
        """Where a column stands: by its name as it is written, else in any case; None unless that is clear.

        >>> Header(("ts", "V", "v", "K")).place("v"), Header(("ts", "V", "v", "K")).place("k")
        (2, 3)
        >>> Header(("ts", "v", "V")).place("TS"), Header(("v", "v")).place("v"), Header(("ts",)).place("v")
        (0, None, None)
        """
        exact = [place for place, name in enumerate(self.names) if name == column]
        found = exact or [place for place, name in enumerate(self.names) if name.lower() == column.lower()]
        return found[0] if len(found) == 1 else None

    def lacks(self, columns: Iterable[str]) -> list[str]:
        """The columns that it does not name, or that it names more than once."""
        return [column for column in columns if self.place(column) is None]

    def ignored(self, columns: Iterable[str]) -> list[str]:
        """The names that are none of these columns."""
        used = {self.place(column) for column in columns}
        return [name for place, name in enumerate(self.names) if place not in used]

    def is_of(self, columns: Sequence[str]) -> bool:
        """Whether it names these columns and no other, in their order."""
        return [self.place(column) for column in columns] == list(range(len(self.names)))

    def fields(self, declared: Iterable[StructField]) -> list[StructField]:
        """Its columns, with the types that were declared; one that nobody declared is text."""
        found = {self.place(field.name): field for field in declared}
        ignored = [StructField(f"{IGNORED}{place}", StringType()) for place in range(len(self.names))]
        return [found.get(place, ignored[place]) for place in range(len(self.names))]

    def judged(self, columns: Sequence[str]) -> Header:
        """The header with what is to be said of it if these columns are declared.

        >>> Header(("ts", "w", "W")).judged(["ts", "v", "w"]).complaint
        'the header has no v'
        >>> Header(("ts", "V", "V")).judged(["ts", "v"]).complaint
        'the header has v twice'
        >>> Header(("w", "ts", "v")).judged(["ts", "v"]).complaint
        ''
        """
        lacking = self.lacks(columns)
        named = {name.lower() for name in self.names}
        absent = [column for column in lacking if column.lower() not in named]
        if absent:
            return replace(self, complaint=f"the header has no {', '.join(absent)}")
        return replace(self, complaint=f"the header has {lacking[0]} twice") if lacking else self

    def __str__(self) -> str:
        shown = ", ".join(name if name == name.strip() != "" else repr(name) for name in self.names)
        return shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}…"


def ignores_corrupt_files(spark: SparkSession, options: Mapping[str, str]) -> bool:
    """Whether Spark is to go on without files that it cannot read, by the options of a source or its own."""
    setting = "ignoreCorruptFiles"
    given = {name.lower(): value for name, value in options.items()}
    ignores = given.get(setting.lower(), spark.conf.get(f"spark.sql.files.{setting}", "false"))
    return str(ignores).lower() == "true"


class HeaderLines:
    """Reads the headers of CSV files as Spark would, by the options that they are read with."""

    def __init__(self, spark: SparkSession, options: Mapping[str, str]) -> None:
        java: Any = spark._jvm
        self._java = java
        texts = {name: str(value) for name, value in options.items()}
        try:
            self._options = java.org.apache.spark.sql.catalyst.csv.CSVOptions(
                java.PythonUtils.toScalaMap(texts), False, "UTC"
            )
        except SPARK_ERRORS as error:
            raise SourceError(f"CSV cannot be read with these options: {reason(error)}") from error
        given = {name.lower(): value for name, value in texts.items()}
        self._charset: str = self._options.charset()
        try:
            lookup(self._charset)
        except LookupError as error:  # Spark takes it only by a setting that is for old programs
            raise SourceError(
                f"the headers of files in {self._charset} cannot be read; convert the files to UTF-8, or let "
                "columns go by their places: OPTIONS (enforceSchema 'true')"
            ) from error
        self._multi_line: bool = self._options.multiLine()
        self.may_be_corrupt = ignores_corrupt_files(spark, texts)
        self._comment: str | None = given.get("comment") or None
        separator = given.get("linesep")
        self._line_ends = re.compile(
            rb"\r\n|\r|\n" if separator is None else re.escape(separator.encode(self._charset))
        )
        self._hadoop: Any = spark._jsparkSession.sessionState().newHadoopConf()
        self._codecs = java.org.apache.hadoop.io.compress.CompressionCodecFactory(self._hadoop)
        self._compressed: dict[str, bool] = {}
        self._parsed: dict[str, Header] = {}

    def header(self, file: str) -> Header | None:
        """The header of a file, by its address; None if nothing is in it."""
        if self._multi_line:
            return self._first_record(file)
        line = self._first_line(self._chunks(file))
        if line is None:
            return None
        if line not in self._parsed:
            if len(self._parsed) >= REMEMBERED:
                self._parsed.clear()
            self._parsed[line] = self._names(self._parser().parseLine(line))
        return self._parsed[line]

    def _first_line(self, chunks: Iterator[bytes]) -> str | None:
        """The first line that is neither blank nor a comment."""
        text = b""
        for chunk in chain(chunks, [None]):
            text += chunk or b""
            lines = self._line_ends.split(text)
            # The last one is whole only at the end of the file.
            for line in lines if chunk is None else lines[:-1]:
                said = line.decode(self._charset, "replace").removeprefix("\ufeff")
                comment = self._comment is not None and said.strip().startswith(self._comment)
                if said.strip() and not comment:
                    return said
        return None

    def _first_record(self, file: str) -> Header | None:
        """The header of a file whose values may have line breaks in them: only the parser knows its end."""
        stream, parser = self._opened(file), self._parser()
        try:
            parser.beginParsing(stream, self._charset)
            record = parser.parseNext()
            parser.stopParsing()
        finally:
            stream.close()
        return None if record is None else self._names(record)

    def _chunks(self, file: str) -> Iterator[bytes]:
        local = local_path(file)
        if local is not None and not self._is_compressed(local):
            with Path(local).open("rb") as content:
                while chunk := content.read(CHUNK):
                    yield chunk
            return
        stream = self._opened(file)
        try:
            while chunk := bytes(stream.readNBytes(CHUNK)):
                yield chunk
        finally:
            stream.close()

    def _opened(self, file: str) -> Any:
        """A stream of Java's, of what a file holds when it is unpacked."""
        path = self._java.org.apache.hadoop.fs.Path(file)
        if not path.getFileSystem(self._hadoop).exists(path):
            raise FileNotFoundError(file)
        streams = self._java.org.apache.spark.sql.execution.datasources.CodecStreams
        return streams.createInputStream(self._hadoop, path)

    def _is_compressed(self, path: str) -> bool:
        """Whether Hadoop unpacks a file, which it knows by the end of its name."""
        ending = path.rpartition(".")[2]
        if ending not in self._compressed:
            named = self._java.org.apache.hadoop.fs.Path(f"file.{ending.rpartition('/')[2] or 'none'}")
            self._compressed[ending] = self._codecs.getCodec(named) is not None
        return self._compressed[ending]

    def _parser(self) -> Any:
        return self._java.com.univocity.parsers.csv.CsvParser(self._options.asParserSettings())

    def _names(self, record: Any) -> Header:
        return Header(tuple("" if name is None else name for name in record or ()))


def addresses(urls: Iterable[str]) -> list[str]:
    """Files as Hadoop knows them, from what Spark calls them: spaces and brackets are themselves."""
    return [unquote(url) for url in urls]


def local_path(file: str) -> str | None:
    """The path of a file of this machine, by its address."""
    return re.sub("^file:/+", "/", file) if file.startswith("file:/") else None


def is_there(spark: SparkSession, file: str) -> bool:
    """Whether there is a file at an address."""
    local = local_path(file)
    if local is not None:
        return Path(local).exists()
    java: Any = spark._jvm
    path = java.org.apache.hadoop.fs.Path(file)
    return bool(path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()).exists(path))


def headers_of(
    lines: HeaderLines, files: Sequence[str], columns: Sequence[str]
) -> dict[Header, list[str]] | None:
    """The files of each header, in their order; None if all of them name the columns as they are declared.

    A file with nothing in it is left out, and so is one that is gone: Spark leaves it out, too. Where the
    user wants files ignored that cannot be read, Spark is left to do that. Any other file whose header cannot
    be read raises whose fault it is: to take its columns for those declared would be a guess.
    """
    declared = Header(tuple(columns))
    found: dict[Header, list[str]] = {}
    for file in files:
        try:
            header = lines.header(file)
        except FileNotFoundError:
            continue
        except (OSError, *ENGINE_ERRORS) as error:
            if not lines.may_be_corrupt:
                raise failure(error) from error
            header = declared
        if header is not None:
            judged = declared if header.is_of(columns) else header.judged(columns)
            found.setdefault(judged, []).append(file)
    return None if not found.keys() - {declared} else found

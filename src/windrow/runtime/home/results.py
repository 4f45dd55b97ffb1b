"""Results on disk: one Parquet file a result schema and epoch, the query's number as a column.

Thousands of queries with the same result schema add one file an epoch, not thousands. A file exists
once the home says so.
"""

from __future__ import annotations

from contextlib import suppress
from operator import itemgetter
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pat

from windrow.columns import EPOCH, QUERY, TIME, WINDOW_END
from windrow.errors import HomeError
from windrow.runtime.home.declarations import declaring_kind, kind_of, without_kind
from windrow.runtime.home.durable import new_path, reading
from windrow.runtime.home.records import DataFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from windrow.logical import BoundQuery
    from windrow.runtime.home.home import Home
    from windrow.runtime.home.records import StoredQuery


LAST_ROWS = 100
"""So many of the answers that have a time each are the last ones."""
DECLARATION = b"windrow_time_column"
"""The entry in the metadata of a result schema that says which column is the time of the results."""


def result_schema(query: BoundQuery) -> pa.Schema:
    """The columns of a query's results: what they say of their time, then the SELECT list. It declares their
    time column, and what they are."""
    times = query.time_columns.items()
    columns = pa.schema([*times, *((output.name, output.type) for output in query.outputs)])
    return declaring_kind(declaring(columns, query.time_column), kind_of(query))


def declaring(columns: pa.Schema, time: str) -> pa.Schema:
    """A result schema that declares which column says when results are of.

    The declaration is metadata of the schema, so that the catalog has it with the query, and every table and
    file of results has it, too. Queries that declare another column have another schema, and other files.

    >>> columns = pa.schema([("_ts", pa.timestamp("us")), ("window_end", pa.timestamp("us"))])
    >>> time_column(declaring(columns, "window_end"))
    'window_end'
    """
    return columns.with_metadata({DECLARATION: time})


def time_column(schema: pa.Schema) -> str:
    """The column that says when results are of, by which they are kept and read, as their schema declares."""
    declared: bytes | None = (schema.metadata or {}).get(DECLARATION)
    if declared is not None:
        return declared.decode()
    # Homes have queries and files that were written when no schema declared anything. There were only
    # evaluations of windows then, and rows that are answered as they are.
    return TIME if TIME in schema.names else WINDOW_END


def have_a_time_each(schema: pa.Schema) -> bool:
    """Whether each result has a time of its own; otherwise those of an evaluation have its time in common."""
    return time_column(schema) == TIME


class ResultWriter:
    """Writes the answers of one epoch, a file a schema."""

    def __init__(self, home: Path, epoch: int) -> None:
        self._home = home
        self._epoch = epoch
        self._files: dict[str, _ResultFile] = {}
        self.seconds = 0.0
        """How long writing has taken."""

    def write(self, schema: str, answers: pa.Table) -> None:
        """Add answers of queries whose results have this schema; `_query` says whose they are."""
        begun = perf_counter()
        epoch = np.full(len(answers), self._epoch, np.int64)
        answers = answers.append_column(EPOCH, pa.array(epoch))
        if schema not in self._files:
            path = new_path(self._home, f"results/{schema}", self._epoch, "parquet")
            self._files[schema] = _ResultFile(path, answers.schema)
        self._files[schema].write(answers)
        self.seconds += perf_counter() - begun

    def close(self) -> list[DataFile]:
        """Finish the files; they exist when the home has committed them."""
        begun = perf_counter()
        for file in self._files.values():
            file.writer.close()
        self.seconds += perf_counter() - begun
        return [
            DataFile(
                str(file.path.relative_to(self._home)), "results", schema, self._epoch, self._epoch,
                file.rows, file.earliest, file.latest,
            )
            for schema, file in self._files.items()
        ]  # fmt: skip

    def abandon(self) -> None:
        """Close after a failure."""
        for file in self._files.values():
            with suppress(OSError):
                file.writer.close()


class _ResultFile:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.writer = results_writer(path, schema)
        self.rows = 0
        self.earliest: int | None = None
        self.latest: int | None = None

    def write(self, answers: pa.Table) -> None:
        self.writer.write_table(answers)
        self.rows += len(answers)
        span = times(answers)
        if span is not None:
            self.earliest = span[0] if self.earliest is None else min(self.earliest, span[0])
            self.latest = span[1] if self.latest is None else max(self.latest, span[1])


def results_writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """A writer of result files. Dictionaries pay for keys and times; for floats they only cost time."""
    names = [field.name for field in schema if _repeats(field.type) or field.name in (QUERY, EPOCH)]
    return pq.ParquetWriter(path, without_kind(schema), compression="zstd", use_dictionary=names)


def times(answers: pa.Table) -> tuple[int, int] | None:
    """The earliest and the latest time of answers, in microseconds."""
    if not len(answers):
        return None
    span = pc.min_max(answers[time_column(answers.schema)].cast(pa.int64()))
    return span["min"].as_py(), span["max"].as_py()


def latest_answers(home: Home, name: str) -> pa.Table | None:
    """The last evaluation of a query, as committed; None where there are no answers yet. Needs no Spark.

    Of a query whose answers have a time each, the latest of them.
    """
    query = home.catalog.query(name)
    if query is None or query.latest_end is None:
        return None
    wanted = pc.field(QUERY) == query.id
    since = None
    if not have_a_time_each(query.schema):
        time = time_column(query.schema)
        since = query.latest_end
        wanted &= pc.field(time) == pa.scalar(since).cast(query.schema.field(time).type)
    found: list[pa.Table] = []
    for file in reversed(home.catalog.files("results", query.schema_id)):
        if since is None or file.latest is None or file.latest >= since:
            with reading(home.path / file.path):
                rows = pq.read_table(home.path / file.path, filters=wanted)
            found.append(rows.select(query.schema.names).cast(query.schema))
        if since is None and sum(map(len, found)) >= LAST_ROWS:
            break
    return last_answers(pa.concat_tables(found[::-1])) if found else None


def last_answers(answers: pa.Table) -> pa.Table:
    """The last evaluation among answers; where these have a time each, the latest of them, in its order."""
    time = time_column(answers.schema)
    if not have_a_time_each(answers.schema):
        return answers.filter(pc.equal(answers[time], pc.max(answers[time])))
    order = pc.array_sort_indices(answers[time].combine_chunks(), order="ascending")
    return answers.take(order[max(len(order) - LAST_ROWS, 0) :])


def answers_since(home: Home, query: StoredQuery, epoch: int) -> Iterator[tuple[int, pa.Table]]:
    """The committed answers of a query in the epochs after one: each epoch once, whole, in order."""
    given = epoch
    while True:
        files = [file for file in home.catalog.files("results", query.schema_id) if file.last_epoch > given]
        try:
            for number, answers in _by_epoch(home, files, query, given):
                yield number, answers
                given = number
            return
        except HomeError:
            # Whoever takes the answers may have taken longer than replaced files stay: on with what took
            # their place.
            listed = {file.path for file in home.catalog.files("results", query.schema_id)}
            if listed.issuperset(file.path for file in files):
                raise


def _by_epoch(
    home: Home, files: list[DataFile], query: StoredQuery, after: int
) -> Iterator[tuple[int, pa.Table]]:
    """The answers of a query in some files, epoch by epoch.

    An epoch's answers may be in several files (a query that moves from one Spark task to another answers
    into those of both), and compaction may have merged some of these with files of other epochs. So row
    groups are read in the order of their earliest epochs, and an epoch is given when no group that is left
    can have more of it. In memory are the answers of the epochs that are not yet whole.
    """
    pieces: dict[int, list[pa.Table]] = {}
    groups = [found for file in files for found in _row_groups(home, file, query.id, after)]
    for earliest, path, group in sorted(groups, key=itemgetter(0)):
        for epoch in sorted(epoch for epoch in pieces if epoch < earliest):
            yield epoch, pa.concat_tables(pieces.pop(epoch))
        with reading(path), pq.ParquetFile(path) as file:
            rows = file.read_row_group(group)
        rows = rows.filter((pc.field(QUERY) == query.id) & (pc.field(EPOCH) > after))
        for epoch in pc.unique(rows[EPOCH]).to_pylist():
            own = rows.filter(pc.field(EPOCH) == epoch).drop_columns([QUERY, EPOCH])
            pieces.setdefault(epoch, []).append(own.cast(query.schema))
    for epoch in sorted(pieces):
        yield epoch, pa.concat_tables(pieces.pop(epoch))


def _row_groups(home: Home, file: DataFile, query: int, after: int) -> Iterator[tuple[int, Path, int]]:
    """The row groups of a file that may have answers of a query in the epochs after one: the earliest of
    these, the file, and which group it is."""
    path = home.path / file.path
    with reading(path), pq.ParquetFile(path) as parquet:
        column = {parquet.schema.column(place).path: place for place in range(len(parquet.schema))}
        for group in range(parquet.num_row_groups):
            found = parquet.metadata.row_group(group)
            whose, when = (found.column(column[name]).statistics for name in (QUERY, EPOCH))
            earliest, latest = file.first_epoch, file.last_epoch
            if when is not None and when.has_min_max:
                earliest, latest = when.min, when.max
            has_query = whose is None or not whose.has_min_max or whose.min <= query <= whose.max
            if has_query and latest > after:
                yield earliest, path, group


def _repeats(of_type: pa.DataType) -> bool:
    return bool(
        pat.is_string(of_type)
        or pat.is_large_string(of_type)
        or pat.is_timestamp(of_type)
        or pat.is_date(of_type)
    )

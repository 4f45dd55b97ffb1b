"""The engine: streams, tables and queries by name, run over what is there or over what comes.

eng = windrow.Engine(home="./flights-home")
eng.stream("flights", "flights/", timestamp="ts", delay="10 minutes")
eng.query("delays", "SELECT origin, AVG(dep_delay) AS delay "
                    "FROM flights [RANGE 6 HOURS SLIDE 5 MINUTES] GROUP BY origin")
eng.run()
eng.results("delays").show()
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

import pyarrow.types as pat
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from windrow.api.live import Live, await_stream
from windrow.cql import CreateStream, CreateTable, Query, parse, parse_duration
from windrow.errors import SourceError, StatementError, TimestampError, WindrowError, suggestion
from windrow.logical import Stream, Table, bind
from windrow.optimizer import explain
from windrow.runtime.analysis import SparkAnalyst, arrow_schema, reason
from windrow.runtime.epoch import EpochReport as EpochReport
from windrow.runtime.epoch import RunningQuery, StreamRunner
from windrow.runtime.home import Home
from windrow.runtime.results import read_results, result_schema
from windrow.runtime.session import checked, local_session
from windrow.runtime.sources import FORMATS, FileSource, check_path

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from windrow.logical import Relation
    from windrow.runtime.home import Progress

    Source = DataFrame | FileSource


class Engine:
    """Sliding-window queries over streams, with everything they need to remember in one directory.

    `home` is that directory; without one, a temporary home goes away with the engine. `spark` is your
    session; without one, a local session is started.
    """

    def __init__(self, home: str | os.PathLike[str] | None = None, spark: SparkSession | None = None) -> None:
        self.spark = checked(spark) if spark is not None else local_session()
        self._temporary = tempfile.TemporaryDirectory(prefix="windrow-") if home is None else None
        self._home = Home(self._temporary.name if self._temporary is not None else home or "")
        self._analyst = SparkAnalyst(self.spark)
        self._relations: dict[str, Relation] = {}
        self._sources: dict[str, Source] = {}
        self._queries: dict[str, RunningQuery] = {}
        self._unnamed: list[str] = []
        self._runners: dict[str, StreamRunner] = {}
        self._epoch = self._home.last_epoch()
        self._counting = Lock()
        self._failures: dict[str, Exception] = {}
        self._defined: list[str] = []  # relations that are new in the home, in case they are taken back
        self._table_frames: dict[str, DataFrame] = {}
        self._reading: dict[str, list[str]] = {}  # while live, the columns that each stream's reader reads
        self.on_epoch: Callable[[EpochReport], None] | None = None
        """Called after every epoch, for progress displays."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the home (and remove a temporary one). Spark goes on."""
        self._home.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    # what there is

    def stream(
        self,
        name: str,
        source: DataFrame | str | os.PathLike[str],
        timestamp: str,
        delay: str = "0 seconds",
        *,
        skew: str | None = None,
        format: str = "parquet",
        schema: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        """Declare a stream: a directory of files, a streaming DataFrame, or a static one (then bounded).

        `timestamp` names the event-time column. Rows may come up to `delay` out of order; later ones are
        late and enter no window. A row ahead of the clock by more than `skew` is not believed. CSV and
        JSON need a `schema`, such as "ts TIMESTAMP, sensor STRING, value DOUBLE".
        """
        wait = parse_duration(delay)
        ahead = None if skew is None else parse_duration(skew)
        self._declare_stream(
            name, self._source(name, source, format, schema, options), timestamp, wait, ahead
        )

    def table(
        self,
        name: str,
        source: DataFrame | str | os.PathLike[str],
        *,
        format: str = "parquet",
        schema: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        """Declare a table, to join streams with. It is taken to be unchanging."""
        self._declare_table(name, self._source(name, source, format, schema, options))

    def query(self, name: str, sql: str, sink: Callable[[int, pa.Table], None] | None = None) -> None:
        """Register a continuous query. `sink(epoch, answers)` also gets its answers, at least once each."""
        statements = parse(sql)
        if len(statements) != 1 or not isinstance(statements[0], Query):
            raise StatementError(
                "a query is one SELECT", sql, 0, len(sql), "for several statements: eng.execute(…)"
            )
        self._add_query(name, statements[0], sink)

    def execute(self, statements: str) -> list[str]:
        """Run CQL statements (CREATE STREAM, CREATE TABLE, CREATE QUERY, SELECT); returns the queries' names.

        A bare SELECT gets a name of its own (query_1, query_2, …). Nothing is kept if one of them fails.
        """
        before = dict(self._relations), dict(self._sources), dict(self._queries)
        remembered = {query.id for query in self._home.queries()}
        self._defined.clear()
        names: list[str] = []
        unnamed: list[str] = []
        try:
            for statement in parse(statements):
                if isinstance(statement, Query):
                    name = statement.name or self._free_name()
                    self._add_query(name, statement, None)
                    names.append(name)
                    if statement.name is None:
                        unnamed.append(name)
                else:
                    self._declare(statement)
        except WindrowError:
            for added in self._queries.keys() - before[2].keys():
                if self._queries[added].stored.id not in remembered:
                    self._home.drop_query(self._queries[added].stored)
            for relation in self._defined:
                self._home.undefine(relation)
            self._relations, self._sources, self._queries = before
            raise
        self._unnamed += unnamed
        return names

    def drop(self, name: str) -> None:
        """Forget a query. Its results stay readable on disk only."""
        spelled = self._spelled(name)
        self._home.drop_query(self._queries.pop(spelled).stored)
        self._unnamed = self.unnamed_queries

    def sink(self, name: str, sink: Callable[[int, pa.Table], None]) -> None:
        """Let `sink(epoch, answers)` also get the answers of a registered query, at least once each."""
        self._running(name).sink = sink

    # what it says

    def explain(self, *, sql: bool = False) -> str:
        """The plan of all queries: passes, slices, algorithms; `sql` adds the statements that Spark runs."""
        return explain({name: query.plan for name, query in self._queries.items()}, sql=sql)

    def results(self, name: str) -> DataFrame:
        """The committed answers of a query: window_start, window_end, then its columns.

        Also of a query that an earlier engine left in this home.
        """
        stored = self._home.query(name)
        return read_results(self.spark, self._home, stored or self._running(name).stored)

    def progress(self, stream: str) -> Progress:
        """How far a stream has been read: watermark, rows, late rows, dead rows."""
        return self._home.progress(self._stream(stream).name)

    @property
    def queries(self) -> list[str]:
        """The names of the registered queries."""
        return list(self._queries)

    @property
    def unnamed_queries(self) -> list[str]:
        """The names of those that came as a bare SELECT."""
        return [name for name in self._unnamed if name in self._queries]

    # running

    def run(self, *, seal: bool = True) -> None:
        """Process what is there and return. `seal` also answers the windows that are still open.

        With seal=False the run stops at the watermark and a later one goes on from there; after a seal,
        whatever comes is late.
        """
        self._check_ready()
        with self._home.running():
            self._epoch = self._home.last_epoch()
            for name in self._streams_in_use():
                source = self._sources[name]
                runner = self._runner(name)
                if isinstance(source, DataFrame) and not source.isStreaming:
                    frame = source.select(*self._columns_in_use(name))
                    queries = self._queries_of(name)
                    self._report(runner.run_frame(frame, queries, self._tables(), seal=seal))
                    continue
                query = self._writer(name, live=False).trigger(availableNow=True).start()
                await_stream(query, partial(self._failures.pop, name, None))
                if seal:
                    self._report(runner.seal(self._queries_of(name)))

    def start(self, trigger: str = "1 second") -> Live:
        """Run until `stop()`: rows are processed as they come, a batch every `trigger`."""
        self._check_ready()
        every = f"{parse_duration(trigger)} microseconds"
        bounded = [n for n in self._streams_in_use() if not self._is_unbounded(n)]
        if bounded:
            raise SourceError(
                f"'{bounded[0]}' is a static DataFrame, so there is nothing to wait for; use run()"
            )
        held = ExitStack()
        held.enter_context(self._home.running())
        self._reading = {name: self._columns_in_use(name) for name in self._streams_in_use()}
        held.callback(self._reading.clear)
        self._epoch = self._home.last_epoch()
        try:
            started = [
                self._writer(name, live=True).trigger(processingTime=every).start()
                for name in self._streams_in_use()
            ]
        except BaseException:
            held.close()
            raise
        return Live(started, held, lambda: next(iter(self._failures.values()), None))

    def _writer(self, name: str, *, live: bool) -> Any:
        source = self._sources[name]
        frame = source if isinstance(source, DataFrame) else source.read_stream(self.spark)
        runner = self._runner(name)
        runner.progress = self._home.progress(name)

        def process(batch: DataFrame, batch_id: int) -> None:
            try:
                queries, tables = self._queries_of(name), self._tables()
                self._report(runner.run_batch(batch, batch_id, queries, tables, live=live))
            except Exception as error:
                self._failures[name] = error  # Spark would hand it on as text
                raise

        return (
            frame.select(*self._columns_in_use(name))
            .writeStream.foreachBatch(process)
            .queryName(f"windrow-{name}")
            .option("checkpointLocation", str(self._home.path / "streams" / name))
        )

    def _report(self, report: EpochReport | None) -> None:
        if report is not None and self.on_epoch is not None:
            self.on_epoch(report)

    def _next_epoch(self) -> int:
        with self._counting:
            self._epoch = max(self._epoch, self._home.last_epoch()) + 1
            return self._epoch

    def _runner(self, name: str) -> StreamRunner:
        stream = self._stream(name)
        if name not in self._runners:
            source = self._sources[name]
            parquet = isinstance(source, FileSource) and source.format == "parquet"
            self._runners[name] = StreamRunner(
                self.spark, self._home, stream, self._next_epoch, rereads_cheaply=parquet
            )
        return self._runners[name]

    def _check_ready(self) -> None:
        if not self._queries:
            raise WindrowError("there are no queries to run; register one with eng.query(name, sql)")

    def _streams_in_use(self) -> list[str]:
        return list(dict.fromkeys(query.plan.stream.name for query in self._queries.values()))

    def _is_unbounded(self, name: str) -> bool:
        source = self._sources[name]
        return not isinstance(source, DataFrame) or source.isStreaming

    def _columns_in_use(self, name: str) -> list[str]:
        used = {column for query in self._queries_of(name) for column in query.plan.scan.columns}
        return [f"`{column}`" for column in self._relations[name].columns if column in used]

    def _queries_of(self, name: str) -> list[RunningQuery]:
        return [query for query in list(self._queries.values()) if query.plan.stream.name == name]

    def _tables(self) -> dict[str, DataFrame]:
        used = {e.table for query in list(self._queries.values()) for e in query.plan.enrichments}
        for name in used - self._table_frames.keys():
            source = self._sources[name]
            self._table_frames[name] = source if isinstance(source, DataFrame) else source.read(self.spark)
        return self._table_frames

    # declaring

    def _source(
        self,
        name: str,
        source: DataFrame | str | os.PathLike[str],
        format: str,
        schema: str | None,
        options: Mapping[str, str] | None,
    ) -> Source:
        if isinstance(source, DataFrame):
            return source
        if not hasattr(source, "__fspath__") and not isinstance(source, str):
            raise SourceError(
                f"'{name}': a source is a Spark DataFrame or a path, not {type(source).__name__}"
            )
        if format not in FORMATS:
            raise SourceError(f"'{name}': unknown format '{format}'; there are {', '.join(FORMATS)}")
        return FileSource(str(source), format, schema, dict(options or {}))

    def _declare(self, statement: CreateStream | CreateTable) -> None:
        columns = ", ".join(f"`{name}` {of_type}" for name, of_type in statement.columns or ()) or None
        source = FileSource(statement.path, statement.format, columns, statement.options)
        try:
            if isinstance(statement, CreateTable):
                self._declare_table(statement.name, source)
                return
            self._declare_stream(statement.name, source, statement.timestamp, statement.delay, statement.skew)
        except SourceError as error:
            raise StatementError(str(error), statement.text, *statement.path_span) from error
        except TimestampError as error:
            assert isinstance(statement, CreateStream)
            place = statement.timestamp_span
            raise StatementError(error.problem, statement.text, *place, error.hint) from error

    def _declare_stream(
        self, name: str, source: Source, timestamp: str, delay: int, skew: int | None
    ) -> None:
        self._check_free(name)
        columns = self._columns(source)
        spelled = next((column for column in columns if column.lower() == timestamp.lower()), None)
        if spelled is None:
            hint = suggestion(timestamp, columns) or f"the columns are {', '.join(columns)}"
            raise TimestampError(f"stream '{name}' has no column '{timestamp}' for its event time", hint)
        if not pat.is_timestamp(columns[spelled]):
            raise TimestampError(
                f"column '{spelled}' of '{name}' is {columns[spelled]}; event time must be a TIMESTAMP",
                "convert it, for example with to_timestamp() or timestamp_seconds()",
            )
        if isinstance(source, FileSource):
            extra = {"timestamp": spelled, "delay": delay, "skew": skew}
            self._define(name, "stream", source.definition() | extra)
        self._relations[name] = Stream(name, columns, spelled, delay, skew)
        self._sources[name] = source

    def _declare_table(self, name: str, source: Source) -> None:
        self._check_free(name)
        if isinstance(source, DataFrame) and source.isStreaming:
            raise SourceError(f"table '{name}' cannot come from a streaming DataFrame; declare a stream")
        columns = self._columns(source)
        if isinstance(source, FileSource):
            self._define(name, "table", source.definition())
        self._relations[name] = Table(name, columns)
        self._sources[name] = source

    def _define(self, name: str, kind: str, definition: dict[str, Any]) -> None:
        if self._home.define(name, kind, definition):
            self._defined.append(name)

    def _columns(self, source: Source) -> dict[str, pa.DataType]:
        if isinstance(source, FileSource):
            check_path(source.path)
        try:
            frame = source if isinstance(source, DataFrame) else source.read(self.spark)
            schema = arrow_schema(frame.schema)
        except PySparkException as error:
            raise SourceError(reason(error)) from error
        return dict(zip(schema.names, schema.types, strict=True))

    def _check_free(self, name: str) -> None:
        taken = next((known for known in self._relations if known.lower() == name.lower()), None)
        if taken is not None:
            kind = "stream" if isinstance(self._relations[taken], Stream) else "table"
            raise WindrowError(f"there is a {kind} called '{taken}' already; use another name")

    def _add_query(self, name: str, statement: Query, sink: Callable[[int, pa.Table], None] | None) -> None:
        taken = next((known for known in self._queries if known.lower() == name.lower()), None)
        if taken is not None:
            place = statement.name_span
            raise StatementError(
                f"there is a query called '{taken}' already",
                statement.text,
                *place,
                "use another name, or drop it",
            )
        plan = bind(statement, self._relations, self._analyst)
        progress = self._home.progress(plan.stream.name)
        known = {query.name.lower() for query in self._home.queries()}
        if progress.sealed and name.lower() not in known and self._is_unbounded(plan.stream.name):
            raise WindrowError(
                f"stream '{plan.stream.name}' is sealed in this home: a new query would see no rows; "
                "use another home, or run(seal=False) next time"
            )
        if plan.stream.name in self._reading:
            unread = {f"`{column}`" for column in plan.scan.columns} - set(self._reading[plan.stream.name])
            if unread:
                raise WindrowError(
                    f"query '{name}' needs {', '.join(sorted(unread))}, which the running engine does not "
                    "read; stop it, add the query, and start it again"
                )
        stored = self._home.add_query(name, statement.select_sql, plan.stream.name, result_schema(plan))
        self._queries[name] = RunningQuery(stored, plan, sink)

    def _free_name(self) -> str:
        number = 1
        while f"query_{number}" in self._queries:
            number += 1
        return f"query_{number}"

    def _stream(self, name: str) -> Stream:
        relation = next((r for n, r in self._relations.items() if n.lower() == name.lower()), None)
        if not isinstance(relation, Stream):
            streams = [n for n, r in self._relations.items() if isinstance(r, Stream)]
            raise WindrowError(
                f"there is no stream '{name}'; {suggestion(name, streams) or f'there are {streams}'}"
            )
        return relation

    def _running(self, name: str) -> RunningQuery:
        return self._queries[self._spelled(name)]

    def _spelled(self, name: str) -> str:
        spelled = next((known for known in self._queries if known.lower() == name.lower()), None)
        if spelled is None:
            known = ", ".join(self._queries) or "none"
            raise WindrowError(
                f"there is no query '{name}'; {suggestion(name, self._queries) or f'registered: {known}'}"
            )
        return spelled

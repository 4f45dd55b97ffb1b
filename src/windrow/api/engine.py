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
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from sqlglot import exp

from windrow.api.live import Live, await_stream
from windrow.api.relations import Relations, open_source
from windrow.cql import Query, parse, parse_duration
from windrow.errors import HomeError, SourceError, StatementError, WindrowError, suggestion
from windrow.logical import bind, quoted
from windrow.optimizer import explain
from windrow.runtime.analysis import SparkAnalyst
from windrow.runtime.epoch import LOG, RunningQuery, StreamRunner
from windrow.runtime.epoch import EpochReport as EpochReport
from windrow.runtime.home import Home
from windrow.runtime.results import read_results, result_schema
from windrow.runtime.session import checked, local_session

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from windrow.runtime.home import Progress


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
        self._relations = Relations(self.spark, self._home)
        self._queries: dict[str, RunningQuery] = {}
        self._unnamed: list[str] = []
        self._runners: dict[str, StreamRunner] = {}
        self._epoch = self._home.last_epoch()
        self._counting = Lock()
        self._failures: dict[str, Exception] = {}
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
        if format in ("csv", "json") and schema is None and not hasattr(source, "sparkSession"):
            raise SourceError(
                f"stream '{name}': {format.upper()} files do not say what their columns are; "
                'pass schema="ts TIMESTAMP, sensor STRING, value DOUBLE"'
            )
        wait = parse_duration(delay)
        ahead = None if skew is None else parse_duration(skew)
        rows = open_source(name, source, format, schema, options)
        self._relations.declare_stream(name, rows, timestamp, wait, ahead)

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
        self._relations.declare_table(name, open_source(name, source, format, schema, options))

    def query(self, name: str, sql: str, sink: Callable[[int, pa.Table], None] | None = None) -> None:
        """Register a continuous query. `sink(epoch, answers)` also gets its answers, at least once each."""
        if not isinstance(sql, str):
            raise WindrowError(f"query '{name}': the second argument is SQL text, not {type(sql).__name__}")
        if sink is not None and not callable(sink):
            raise WindrowError(
                f"query '{name}': a sink is a function of (epoch, answers), not {sink!r}; "
                "for Parquet, write eng.results(name)"
            )
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
        before = dict(self._queries)
        remembered = {query.id for query in self._home.queries()}
        mark = self._relations.mark()
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
                    self._relations.declare(statement)
        except WindrowError:
            for added in self._queries.keys() - before.keys():
                if self._queries[added].stored.id not in remembered:
                    self._home.drop_query(self._queries[added].stored)
            self._queries = before
            self._relations.take_back(mark)
            raise
        self._unnamed += unnamed
        return names

    def drop(self, name: str) -> None:
        """Forget a query. Its results stay readable on disk only."""
        stored = self._home.query(name)
        if stored is None:
            stored = self._running(name).stored  # says what there is
        self._home.drop_query(stored)
        self._queries = {n: query for n, query in self._queries.items() if query.stored.id != stored.id}
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
        if self._home.definition(stream) is None:
            stream = self._relations.stream(stream).name  # says what there is
        return self._home.progress(stream)

    @property
    def queries(self) -> list[str]:
        """The names of the queries: those registered, and those that the home has from earlier engines."""
        names = [*self._queries, *(query.name for query in self._home.queries())]
        return list({name.lower(): name for name in reversed(names)}.values())[::-1]

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
        with self._running_home():
            for name in self._streams_in_use():
                runner = self._runner(name)
                if not self._relations.is_unbounded(name):
                    frame = self._relations.frame(name).select(*self._columns_in_use(name))
                    queries = self._queries_of(name)
                    self._report(runner.run_frame(frame, queries, self._tables(), seal=seal))
                    continue
                self._warn_if_sealed(name)
                query = self._writer(name, live=False).trigger(availableNow=True).start()
                await_stream(query, partial(self._failures.pop, name, None))
                if seal:
                    self._report(runner.seal(self._queries_of(name)))

    def start(self, trigger: str = "1 second") -> Live:
        """Run until `stop()`: rows are processed as they come, a batch every `trigger`."""
        self._check_ready()
        every = f"{parse_duration(trigger)} microseconds"
        bounded = [n for n in self._streams_in_use() if not self._relations.is_unbounded(n)]
        if bounded:
            raise SourceError(
                f"'{bounded[0]}' is a static DataFrame, so there is nothing to wait for; use run()"
            )
        held = ExitStack()
        held.enter_context(self._running_home())
        self._reading = {name: self._columns_in_use(name) for name in self._streams_in_use()}
        held.callback(self._reading.clear)
        live = Live([], held, lambda: next(iter(self._failures.values()), None))
        try:
            for name in self._streams_in_use():
                self._warn_if_sealed(name)
                live.add(self._writer(name, live=True).trigger(processingTime=every).start())
        except BaseException:
            live.stop()
            raise
        return live

    @contextmanager
    def _running_home(self) -> Iterator[None]:
        """Hold the home; what another engine did to it since we last ran is read back first."""
        with self._home.running():
            self._failures.clear()
            if self._home.last_epoch() != self._epoch:
                self._epoch = self._home.last_epoch()
                self._runners.clear()
                for query in self._queries.values():
                    query.state = None
                    query.stored = self._home.query(query.stored.name) or query.stored
            yield

    def _writer(self, name: str, *, live: bool) -> Any:
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
            self._relations.read_stream(name)
            .select(*self._columns_in_use(name))
            .writeStream.foreachBatch(process)
            .queryName(f"windrow {name} in {self._home.path}")
            .option("checkpointLocation", f"file://{self._home.path}/streams/{name.lower()}")
        )

    def _warn_if_sealed(self, name: str) -> None:
        if self._home.progress(name).sealed:
            LOG.warning(
                "stream '%s' was sealed in this home by an earlier run: whatever comes now is late. To go on "
                "after a run, use run(seal=False), or `windrow run --no-seal`; for this home it is too late",
                name,
            )

    def _report(self, report: EpochReport | None) -> None:
        if report is not None and self.on_epoch is not None:
            self.on_epoch(report)

    def _next_epoch(self) -> int:
        with self._counting:
            self._epoch = max(self._epoch, self._home.last_epoch()) + 1
            return self._epoch

    def _runner(self, name: str) -> StreamRunner:
        if name not in self._runners:
            self._runners[name] = StreamRunner(
                self.spark,
                self._home,
                self._relations.stream(name),
                self._next_epoch,
                rereads_cheaply=self._relations.rereads_cheaply(name),
            )
        return self._runners[name]

    def _resume(self) -> None:
        """Take up the queries that the home has and this engine has not been told of.

        A query stays until it is dropped: if its stream went on without it, its answers would have a hole.
        """
        for stored in self._home.queries():
            if stored.sealed or any(known.lower() == stored.name.lower() for known in self._queries):
                continue
            try:
                (statement,) = parse(stored.sql)
                assert isinstance(statement, Query)
                for table in statement.select.find_all(exp.Table):
                    self._relations.recall(table.name)
                if not self._relations.is_unbounded(stored.stream):
                    continue  # a frame that can be read again, or one that this engine does not have
                self._add_query(stored.name, statement, None)
            except WindrowError as error:
                raise HomeError(
                    f"this home also has query '{stored.name}', which cannot go on: {error}\n"
                    f"declare what it needs, or drop it with eng.drop('{stored.name}')"
                ) from error

    def _check_ready(self) -> None:
        self._resume()
        if not self._queries:
            raise WindrowError("there are no queries to run; register one with eng.query(name, sql)")

    def _streams_in_use(self) -> list[str]:
        return list(dict.fromkeys(query.plan.stream.name for query in self._queries.values()))

    def _columns_in_use(self, name: str) -> list[str]:
        used = {column for query in self._queries_of(name) for column in query.plan.scan.columns}
        return [quoted(column) for column in self._relations.stream(name).columns if column in used]

    def _queries_of(self, name: str) -> list[RunningQuery]:
        return [query for query in list(self._queries.values()) if query.plan.stream.name == name]

    def _tables(self) -> dict[str, DataFrame]:
        used = {e.table for query in list(self._queries.values()) for e in query.plan.enrichments}
        return {name: self._relations.frame(name) for name in used}

    # queries

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
        plan = bind(statement, self._relations.known, self._analyst)
        progress = self._home.progress(plan.stream.name)
        known = {query.name.lower() for query in self._home.queries()}
        if progress.sealed and name.lower() not in known and self._relations.is_unbounded(plan.stream.name):
            raise WindrowError(
                f"stream '{plan.stream.name}' is sealed in this home: a new query would see no rows; "
                "use another home, or run(seal=False) next time"
            )
        if plan.stream.name in self._reading:
            unread = {quoted(column) for column in plan.scan.columns} - set(self._reading[plan.stream.name])
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

    def _running(self, name: str) -> RunningQuery:
        spelled = next((known for known in self._queries if known.lower() == name.lower()), None)
        if spelled is None:
            known = ", ".join(self.queries) or "none"
            raise WindrowError(
                f"there is no query '{name}'; {suggestion(name, self.queries) or f'registered: {known}'}"
            )
        return self._queries[spelled]

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
import time
import weakref
from functools import partial
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from windrow.api.executing import Executing
from windrow.api.explaining import explain_all
from windrow.api.homes import back_up_home
from windrow.api.names import Names
from windrow.api.own_functions import OwnFunctions
from windrow.api.registry import Registry
from windrow.api.relations import Relations, open_source
from windrow.api.running import Running
from windrow.api.watching import Watch, Watches
from windrow.cql import parse_duration, positive_duration
from windrow.errors import SourceError, WindrowError
from windrow.explain import check_ending as check_ending
from windrow.operators.relational.base import MOST_PAIRS
from windrow.planner.settings import MOST_WAITING, Settings, read_prices
from windrow.planner.sharing import PLACEMENTS, checked_hint
from windrow.runtime.epochs.report import EpochReport as EpochReport
from windrow.runtime.home.home import Home
from windrow.runtime.home.results import latest_answers
from windrow.runtime.spark.analysis import SparkAnalyst
from windrow.runtime.spark.refused_tables import read_dead, read_late
from windrow.runtime.spark.result_tables import read_results, read_view
from windrow.runtime.spark.session import checked, local_session
from windrow.runtime.state.current_plan import CurrentPlan
from windrow.runtime.state.queries import RunningQuery
from windrow.runtime.watch.metrics import MetricsServer
from windrow.runtime.watch.status import read_status

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession

    from windrow.aggregates import OwnAggregate
    from windrow.api.live import Live
    from windrow.explain import Explanation
    from windrow.runtime.home.records import Progress
    from windrow.runtime.watch.status import Status
    from windrow.runtime.watch.waiting import OpenStream


class Engine:
    """Sliding-window queries over streams, with everything they need to remember in one directory.

    `home` is that directory; without one, a temporary home goes away with the engine. `spark` is your
    session; without one, a local session is started. `clock` gives the time, in seconds since 1970.
    `optimizer` names the one that plans which queries share their slices (max_share, weave_share, …);
    without one, the cheapest plan that is found is taken. `nodes` is how many Spark tasks hold the windows:
    1 leaves them to the driver; without a number, tasks take over where there is much to do. A query in
    whose join a row meets more than `most_pairs` rows is taken for a mistake and quarantined. Of a stream
    that is ahead of others that a query reads with it, `most_waiting` rows may wait in memory; then it is
    held back.
    """

    def __init__(
        self,
        home: str | os.PathLike[str] | None = None,
        spark: SparkSession | None = None,
        *,
        clock: Callable[[], float] = time.time,
        optimizer: str | None = None,
        nodes: int | None = None,
        most_pairs: int = MOST_PAIRS,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        if optimizer is not None:
            optimizer = checked_hint(optimizer)
        for name, most in (("most_pairs", most_pairs), ("most_waiting", most_waiting)):
            if type(most) is not int or most < 1:
                raise WindrowError(f"{name} is a number of rows, 1 or more, and not {most!r}")
        if nodes is not None and nodes < 1:
            raise WindrowError(f"nodes must be 1 (the driver alone) or more, and is {nodes}")
        # The home first: if it cannot be used, nobody need wait for Spark.
        self._temporary = tempfile.TemporaryDirectory(prefix="windrow-") if home is None else None
        self._home = Home(self._temporary.name if self._temporary is not None else home or "")
        self._metrics: list[MetricsServer] = []
        self._live: weakref.ref[Live] | None = None
        """What was started last: while it runs, its own threads hold it, and then nobody here does."""
        self._watches = Watches()
        try:
            # Read now: found to be broken later, they would look like a query's fault.
            costs, constants = read_prices(self._home.costs_path)
            self.spark = checked(spark) if spark is not None else local_session()
        except BaseException:
            self.close()
            raise
        cores = self.spark.sparkContext.defaultParallelism
        if optimizer in PLACEMENTS and nodes is None:
            nodes = cores
        settings = Settings(
            optimizer,
            nodes,
            cores,
            costs,
            most_pairs=most_pairs,
            most_waiting=most_waiting,
            constants=constants,
        )
        self._plan = CurrentPlan(self._home, settings, lambda: self._queries.values())
        analyst = SparkAnalyst(self.spark, self._home.catalog)
        self._functions = OwnFunctions(analyst)
        self._relations = Relations(self.spark, self._home)
        self._registry = Registry(self._home, self._relations, analyst, self._functions, clock)
        self._executing = Executing(self._registry, self._relations, analyst)
        self._names = Names(self._home, self._registry, self._relations)
        self._clock = clock
        self._running = Running(
            self.spark,
            self._home,
            self._relations,
            lambda: list(self._queries.values()),
            self._registry.answer_requests,
            clock,
            self._plan,
            self._tell,
        )
        self.on_epoch: Callable[[EpochReport], None] | None = None
        """Called after every epoch, for progress displays."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop what is running, and close the home (and remove a temporary one). Spark goes on."""
        try:
            live = self._live() if self._live is not None else None
            if live is not None:
                live.stop()
        finally:
            for server in self._metrics:
                server.stop()
            self._watches.stop()
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
        idle_timeout: str | None = None,
        retain: str | None = None,
        max_dead: int | None = None,
        format: str = "parquet",
        schema: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        """Declare a stream: a directory of files, a streaming DataFrame, or a static one (then bounded).

        `timestamp` names the event-time column. Rows may come up to `delay` out of order; later ones are
        late and enter no window. A row ahead of the clock by more than `skew` is not believed. After
        `idle_timeout` without rows, time goes on with the clock. Late rows and dead letters are kept for
        `retain` (30 days); more than `max_dead` dead letters stop the stream. CSV and JSON need a
        `schema`, such as "ts TIMESTAMP, sensor STRING, value DOUBLE".
        """
        if format in ("csv", "json") and schema is None and not hasattr(source, "sparkSession"):
            raise SourceError(
                f"stream '{name}': {format.upper()} files do not say what their columns are; "
                'pass schema="ts TIMESTAMP, sensor STRING, value DOUBLE"'
            )
        if max_dead is not None and not (type(max_dead) is int and max_dead >= 0):
            raise SourceError(f"stream '{name}': max_dead is a count, not {max_dead!r}")
        rows = open_source(name, source, format, schema, options)
        self._relations.declare_stream(
            name,
            rows,
            timestamp,
            delay=parse_duration(delay),
            skew=None if skew is None else parse_duration(skew),
            idle_timeout=positive_duration("idle_timeout", idle_timeout),
            retain=positive_duration("retain", retain),
            max_dead=max_dead,
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
        self._relations.declare_table(name, open_source(name, source, format, schema, options))

    def aggregate(self, name: str, own: type[OwnAggregate] | OwnAggregate) -> None:
        """Register an aggregate function of your own, for queries to use under this name.

        A class, or an instance of one that has parameters. The home remembers its name with the queries
        that use it, not the code: an engine that opens the home again has to be given it again.
        """
        self._functions.add(name, own)

    def query(
        self,
        name: str,
        sql: str,
        sink: Callable[[int, pa.Table], None] | None = None,
        *,
        retain: str | None = None,
    ) -> None:
        """Register a continuous query. `sink(epoch, answers)` also gets its answers, at least once each.

        With `retain`, answers of a time that much before the latest one (`window_end`, or without a window
        `_ts`) are let go.
        """
        self._executing.add_query(name, sql, sink, retain)

    def execute(self, statements: str) -> list[str]:
        """Run CQL statements (CREATE STREAM, CREATE TABLE, CREATE QUERY, SELECT); returns the queries' names.

        A bare SELECT gets a name of its own (query_1, query_2, …). Nothing is kept if one of them fails.
        """
        return self._executing.execute(statements)

    def drop(self, name: str) -> None:
        """Forget a query. Its results stay readable on disk only."""
        with self._registry.changing:
            self._registry.drop(self._names.stored(name))

    def resume(self, name: str) -> None:
        """Take a query out of quarantine: it runs again from the next epoch on, or from the next run.

        What it missed meanwhile it does not answer: `complete_after` in `status()` says which windows it has
        all rows of. Over a static DataFrame it begins again, without the answers that it gave before. On a
        stream that is sealed it is refused.
        """
        self._registry.end_quarantine([name])

    def sink(self, name: str, sink: Callable[[int, pa.Table], None]) -> None:
        """Let `sink(epoch, answers)` also get the answers of a registered query, at least once each."""
        query = self._names.registered(name)
        query.behind = True  # an earlier sink of the query may have missed answers, which this one gets
        query.sink = sink

    # what it says

    def explain(self, *, sql: bool = False, costs: str | os.PathLike[str] | None = None) -> Explanation:
        """The plan of all queries: classes, trees, passes, algorithms, and what sharing saves.

        A text; its `draw("plan.html")`, `to_html()`, `to_svg()` and `to_dot()` are pictures of it. Trees
        that run are shown as they are, others as they would begin. `sql` adds the statements that Spark
        runs. Algorithms are chosen, and trees priced, by what things cost: as `windrow calibrate` measured
        it for this home, or as shipped, or as a file says that it wrote.
        """
        self._registry.resume()
        return explain_all(self._running.streams, self._plan, costs=costs, sql=sql)

    def results(self, name: str, *, last: str | None = None, epochs: bool = False) -> DataFrame:
        """The committed answers of a query: window_start, window_end (and window_row, where rows are
        counted), or without a window _ts; then its columns. Of a window without SLIDE the changes of its
        answer: _op (1: a row comes, -1: it is taken back), _ts (when), _exp (until when it stays, if that is
        known), then its columns; `view` puts them together.

        Also of a query that an earlier engine left in this home. `last` ("1 hour") gives only the
        answers of that much time before the latest, without looking at older files; `epochs` adds the column
        _epoch. The DataFrame shows what is there now; ask again for what comes.
        """
        stored, length = self._names.stored(name), positive_duration("last", last)
        return read_results(self.spark, self._home, stored, length, epochs=epochs)

    def view(self, name: str, at: str | datetime | None = None) -> DataFrame:
        """The answer of a query at an instant of event time: `eng.view("open", at="2024-01-31 12:00")`.

        Without SLIDE: the rows that have come by then, and have neither ended nor been taken back. With
        SLIDE: the last evaluation so far. By default at the last instant up to which the query is answered;
        after a seal, at the latest event time. An instant that names no time zone is in the session's. One
        that is not final yet is refused, as is one that RETAIN has let go.
        """
        return read_view(self.spark, self._home, self._names.stored(name), at)

    def watch(self, name: str, rows: int = 20) -> Watch:
        """The latest answers of a query, at most so many rows of them: `print(eng.watch("delays"))`.

        As the last line of a notebook's cell, a table that is shown anew after every epoch with answers,
        until its `stop()`, until the engine is closed, or until nobody holds it. Any number of watches may
        be there at once.
        """
        if rows < 1:
            raise WindrowError(f"a watch shows 1 row or more, not {rows}")
        query = self._names.stored(name).name
        watch = Watch(query, rows, partial(latest_answers, self._home, query))
        self._watches.add(watch)
        watch.look()  # after the line above, so that no epoch falls in between
        return watch

    def late(self, stream: str) -> DataFrame:
        """The late rows of a stream: its columns in use, `_late_by`, `_query`, `_file`, `_position`,
        `_epoch`.

        `_query` names the query for which alone a row is late: one over several streams that had been
        answered further, since this stream was idle. Of rows that are late for all it is NULL.
        """
        name, known = self._names.stream(stream)
        columns = pa.schema(list(known.columns.items())) if known is not None else None
        return read_late(self.spark, self._home, name, columns)

    def dead(self, stream: str) -> DataFrame:
        """The dead letters of a stream: `_reason`, `_raw`, `_file`, `_position`, `_epoch`."""
        return read_dead(self.spark, self._home, self._names.stream(stream)[0])

    def progress(self, stream: str) -> Progress:
        """How far a stream has been read: watermark, rows, late rows, dead rows."""
        return self._home.catalog.progress(self._names.stream(stream)[0])

    def status(self) -> Status:
        """Streams, queries, disk: what came, how far it is, what is held, what no longer runs."""
        return read_status(self._home.path, self._home.catalog, self._clock())

    def serve_metrics(self, port: int, address: str = "127.0.0.1") -> MetricsServer:
        """Serve `status()` to Prometheus, at http://address:port/metrics, until the server's `stop()`.

        Port 0 takes a free one; `server.port` says which.
        """
        self._metrics.append(MetricsServer(self.status, port, address))
        return self._metrics[-1]

    def waiting(self) -> list[OpenStream]:
        """What has come and is not answered yet: the open windows of each query, by stream, and what they
        wait for. As text, each stream is a sentence.

        Nothing, once everything is sealed.
        """
        self._registry.resume()
        return self._running.streams.waiting()

    def check(self) -> int:
        """Read every file of the home and compare it with what was written; how many there are."""
        return self._home.check()

    def backup(self, target: str | os.PathLike[str]) -> int:
        """Copy the home, as it is at this moment, to a new directory; how many files it lists.

        Also while an engine runs on it, this one or another.
        """
        return back_up_home(self._home.path, target)

    @property
    def queries(self) -> list[str]:
        """The names of the queries: those registered, and those that the home has from earlier engines."""
        return self._names.queries()

    @property
    def unnamed_queries(self) -> list[str]:
        """The names of those that came as a bare SELECT."""
        return [name for name in self._registry.unnamed if name.lower() in self._queries]

    # running

    def run(self, *, seal: bool | None = None, stop: Callable[[], bool] = lambda: False) -> None:
        """Process what is there and return.

        In a named home, a source that can grow stays open: the run stops at the watermark, and the next one
        goes on from there. With seal=True the windows that are still open are answered too, and the streams
        are sealed: whatever comes later is late. A static DataFrame, and everything in a temporary home,
        cannot go on, so it is sealed unless seal=False. `stop` is asked about once a second: when it says
        True, the run gives up the batch that is under way, whole, and returns; the next one reads it again.
        """
        self._registry.resume()
        growing = self._temporary is not None if seal is None else seal
        self._running.run(seal=growing, seal_frames=seal is not False, stop=stop)

    def start(self, trigger: str = "1 second") -> Live:
        """Run until `stop()`: rows are processed as they come, a batch every `trigger`.

        Queries may come and go meanwhile, from any thread, and from other processes (`windrow query`).
        """
        every = parse_duration(trigger)
        self._registry.resume()
        live = self._running.start(every)
        self._live = weakref.ref(live)
        return live

    def heartbeat(self) -> None:
        """Let time go on for streams with an IDLE TIMEOUT that are silent; `start()` does it by itself."""
        self._registry.resume()
        self._running.heartbeat()

    def _tell(self, report: EpochReport) -> None:
        """Let those who watch know of an epoch; `on_epoch` last, since it may end the run."""
        self._watches.take_in(report)
        if self.on_epoch is not None:
            self.on_epoch(report)

    @property
    def _queries(self) -> dict[str, RunningQuery]:
        return self._registry.queries

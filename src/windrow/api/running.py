"""The running half of an engine: readers of streams, the epochs they feed, heartbeats, housekeeping."""

from __future__ import annotations

import gc
import logging
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING

from windrow.api.live import Live
from windrow.errors import MostlyDead, QueryFailed, SourceError, WindrowError
from windrow.logical import quoted
from windrow.planner.planning import plan
from windrow.runtime.epochs.dead_reasons import COME_AGAIN, RowsOfRun
from windrow.runtime.epochs.epoch import Epochs
from windrow.runtime.epochs.listening import Listening
from windrow.runtime.epochs.reader import Reader, check_dead
from windrow.runtime.epochs.sinks import catch_up
from windrow.runtime.epochs.stage import StreamRunner
from windrow.runtime.home.compaction import Compactor
from windrow.runtime.home.slice_log import SliceLog
from windrow.runtime.logs import LOG, event
from windrow.runtime.state.executor import Executor
from windrow.runtime.watch.waiting import open_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from windrow.api.relations import Relations
    from windrow.planner.plan import PhysicalPlan
    from windrow.planner.settings import Settings
    from windrow.runtime.epochs.dead_reasons import DeadOfRun
    from windrow.runtime.epochs.report import EpochReport
    from windrow.runtime.epochs.stage import Part
    from windrow.runtime.home.home import Home
    from windrow.runtime.state.current_plan import CurrentPlan
    from windrow.runtime.state.queries import RunningQuery
    from windrow.runtime.watch.waiting import OpenStream


LITTER = 100
"""Epochs between two collections of garbage; a reader that has ended counts as ten. What Python is done
with in Java is freed there only when Python's own collector has been, and that comes by rarely: to Python
these are a few small objects."""
LOOK_SECONDS = 1.0
"""How long a request may wait for an engine that has nothing else to do."""
UNSURE = -2
"""In place of the last epoch, after a failure: what is in memory may not be what is committed."""


class Running:
    """Runs the queries of an engine over its streams."""

    def __init__(
        self,
        spark: SparkSession,
        home: Home,
        relations: Relations,
        queries: Callable[[], list[RunningQuery]],
        answer_requests: Callable[[], None],
        clock: Callable[[], float],
        plan: CurrentPlan,
        report: Callable[[EpochReport], None],
    ) -> None:
        self.readers: dict[str, Reader] = {}
        """By stream. Replaced, never changed: the heart, and whoever waits, look at it from their threads."""
        self._columns: dict[str, list[str]] = {}
        """The columns that each reader reads."""
        self._every: int | None = None
        """Microseconds between two batches; None in a run that takes what is there."""
        self._fitting = RLock()
        self._home = home
        self._relations = relations
        self._queries = queries
        self._answer_requests = answer_requests
        self._clock = clock
        self._on_epoch = report
        self._plan = plan
        self._spark = spark
        log = SliceLog(home)
        self._executor = Executor(spark, home, log)
        self._epochs = Epochs(spark, home, plan, self._executor, log)
        self._compactor = Compactor(home, clock)
        self._runners: dict[str, StreamRunner] = {}
        self._last_epoch = home.catalog.last_epoch()
        self._rows = RowsOfRun(self._last_epoch)
        self._litter = 0

    def run(self, *, seal: bool, seal_frames: bool, stop: Callable[[], bool] = lambda: False) -> None:
        """Process what is there and return; `seal` is for sources that can grow, `seal_frames` for others.

        `stop` is asked about once a second, whether to end here and now.
        """
        with self._holding_home():
            for name in self.streams():
                if not self._relations.is_unbounded(name):
                    self._run_frame(name, seal=seal_frames)
            try:
                self._start_readers(None)
                while active := [reader for reader in self.readers.values() if reader.active]:
                    active[0].wait(LOOK_SECONDS)
                    if stop():
                        return
                    self._answer_requests()
                    self.keep_up()
                for reader in self.readers.values():
                    reader.wait()
            finally:
                read = list(self.readers)
                self._stop_readers()
            if seal:
                self._commit([self._runner(name).sealing(self._queries_of(name)) for name in read])
            for waits in self.waiting():
                event(logging.INFO, "stream_open", "%(waits)s", waits=str(waits), stream=waits.name)
            self._say_what_went_wrong()

    def waiting(self) -> list[OpenStream]:
        """What has come and is not answered yet, by stream, and what that waits for."""
        found = [
            open_stream(
                self._relations.stream(name),
                self._home.catalog.progress(name),
                self._queries_of(name),
                grows=self._relations.is_unbounded(name),
            )
            for name in self.streams()
        ]
        return [stream for stream in found if stream is not None]

    def next_plan(self, queries: Sequence[RunningQuery], settings: Settings, *, anew: bool) -> PhysicalPlan:
        """The plan in which queries would run with the next epoch: the one that runs, if nothing changes.

        `anew`: with other algorithms, passes and prices, as the settings say.
        """
        made = self._plan.plan
        if anew:
            operators = {n: replace(o, choices=None, structures=()) for n, o in made.operators.items()}
            made = replace(
                made,
                operators=operators,
                inputs={stream: replace(read, passes=()) for stream, read in made.inputs.items()},
            )
        by_stream: dict[str, list[RunningQuery]] = {}
        for query in queries:
            by_stream.setdefault(query.plan.stream.name, []).append(query)
        for stream, some in by_stream.items():
            asked, observed = [query.asked for query in some], self._runner(stream).observed()
            if stream in made.inputs:  # what has been learned since counts when a query comes or goes
                observed = replace(observed, experience=made.inputs[stream].experience)
            made = plan(stream, asked, observed, settings, made, look=False)
        return made

    def start(self, every: int) -> Live:
        """Process rows as they come, a batch every so many microseconds."""
        held = ExitStack()
        held.enter_context(self._holding_home())
        held.callback(self._warn_of_dead_rows)
        held.callback(self._stop_readers)
        live = Live(held, self, min(every / 1e6, LOOK_SECONDS))
        try:
            bounded = [name for name in self.streams() if not self._relations.is_unbounded(name)]
            if bounded:
                raise SourceError(
                    f"'{bounded[0]}' is a static DataFrame, so there is nothing to wait for; use run()"
                )
            self._start_readers(every)
        except BaseException:
            live.stop()
            raise
        live.begin()
        return live

    def heartbeat(self) -> None:
        """Let time go on for the streams that are silent."""
        if self.readers:
            self.beat()
            return
        with self._holding_home():
            unbounded = [name for name in self.streams() if self._relations.is_unbounded(name)]
            for name in unbounded:
                self._runner(name).check_record()
            self._commit_heartbeat(
                [(self._runner(name), partial(self._queries_of, name)) for name in unbounded]
            )

    def serve(self) -> None:
        """Do what other processes ask for, and let the readers read what is needed then.

        It waits for no batch and no epoch, so that a request does not either.
        """
        self._answer_requests()
        self.keep_up()

    def beat(self) -> None:
        """Let time go on where nothing comes, with the next epoch; streams in the middle of a batch wait."""
        waiting = [reader for reader in self.readers.values() if reader.active and reader.is_waiting]
        self._commit_heartbeat([(reader.runner, reader.queries) for reader in waiting])

    def keep_up(self) -> bool:
        """Let the readers read what the queries need by now: another stream, another column.

        Whether that has to be asked again, because a batch is under way that a reader must finish first.
        """
        unfinished = False
        with self._fitting:
            if not self.readers:
                return False  # stopped
            for name in self.streams():
                if not self._relations.is_unbounded(name):
                    continue  # a frame is read by run()
                before = self.readers.get(name)
                if before is None:
                    self._start_reader(name)
                elif before.active and (
                    before.retired or not self._columns_of(name).issubset(self._columns[name])
                ):
                    unfinished |= not self._replaced(name, before)
        return unfinished

    def _replaced(self, name: str, before: Reader) -> bool:
        """Let another reader take over; if a batch is under way, only make it the last one of this reader."""
        before.retire()
        with before.runner.between_batches() as free:
            if not free:
                return False
            self.readers = self.readers | {name: self._reader(name)}
        before.stop()  # outside, or it would wait for a batch that waits for its turn
        self._begin(self.readers[name])
        return True

    def streams(self) -> list[str]:
        """The streams that queries are over."""
        return list(dict.fromkeys(query.plan.stream.name for query in self._queries()))

    def _columns_of(self, name: str) -> set[str]:
        """The columns of a stream that its queries need."""
        return {column for query in self._queries_of(name) for column in query.plan.scan.columns}

    def columns_in_use(self, name: str) -> list[str]:
        """Those that are read: all of a text, where a line is good or bad as a whole."""
        stream, used = self._relations.stream(name), self._columns_of(name)
        return [column for column in stream.columns if stream.text or column in used]

    def _commit_heartbeat(self, runners: list[tuple[StreamRunner, Callable[[], list[RunningQuery]]]]) -> None:
        with ExitStack() as turns:
            self._commit([turns.enter_context(runner.beating(queries)) for runner, queries in runners])

    def _commit(self, parts: list[Part | None]) -> None:
        present = [part for part in parts if part is not None]
        if present:
            for report in self._epochs.run(*present):
                self._report(report)

    def _run_frame(self, name: str, *, seal: bool) -> None:
        runner, queries = self._runner(name), self._queries_of(name)
        fresh = [query for query in queries if not query.stored.started]
        waiting = [query for query in queries if query.stored.started and query.stored.runs]
        if seal and waiting:
            self._commit([runner.sealing(waiting)])
        if fresh:
            frame = self._relations.frame(name).select(*map(quoted, self.columns_in_use(name)))
            with runner.staged_frame(frame, fresh, self._tables(fresh), seal=seal) as part:
                self._commit([part])
            check_dead(runner)
        elif any(query.stored.sealed for query in queries) and not waiting:
            LOG.warning("stream '%s': all its queries are answered; nothing was read", name)

    def _start_readers(self, every: int | None) -> None:
        self._every = every
        for name in self.streams():
            if self._relations.is_unbounded(name):
                self._start_reader(name)

    def _start_reader(self, name: str) -> None:
        reader = self._reader(name)
        if reader.runner.progress.sealed:
            LOG.warning(
                "stream '%s' was sealed in this home by an earlier run: whatever comes now is late, and a "
                "seal is not taken back. In another home, a run without seal=True (--seal) leaves it open",
                name,
            )
        reader.runner.preload(self._queries_of(name))
        self.readers = self.readers | {name: reader}
        self._begin(reader)

    def _reader(self, name: str) -> Reader:
        """A reader of all that the queries need now, not yet begun."""
        columns, rows = self.columns_in_use(name), self._relations.read_stream(name)
        self._columns[name] = columns
        ours = [column for column in rows.columns if column.startswith("_windrow_")]
        return Reader(
            self._runner(name),
            self._epochs,
            rows.select(*map(quoted, columns), *ours),
            partial(self._queries_of, name, frozenset(columns)),
            self._tables,
            self._report,
        )

    def _begin(self, reader: Reader) -> None:
        every, runner = self._every, reader.runner
        if every is None:
            runner.listening = None
            reader.start(live=False, availableNow=True)
        else:
            looked = reader.looked if self._clock is time.time else None
            runner.listening = Listening(self._clock, every / 1e6, looked)
            reader.start(live=True, processingTime=f"{every} microseconds")

    def _stop_readers(self) -> None:
        with self._fitting:
            for reader in self.readers.values():
                reader.stop()
                if reader.runner.listening is not None:
                    reader.runner.listening.end()
                if reader.failure is not None or reader.gave_up:
                    self._last_epoch = UNSURE
            ended = len(self.readers)
            self.readers = {}
        self._collect_garbage(10 * ended)

    def _collect_garbage(self, litter: int) -> None:
        self._litter += litter
        if self._litter >= LITTER:
            self._litter = 0
            gc.collect()

    @contextmanager
    def _holding_home(self) -> Iterator[None]:
        """Hold the home; what another engine did to it since we last ran is read back first."""
        with self._home.running():
            if self._home.catalog.last_epoch() != self._last_epoch:
                self._runners.clear()
                self._plan.forget()
                self._executor.keep_only(frozenset())
                self._last_epoch = self._home.catalog.last_epoch()
                for query in self._queries():
                    query.stored = self._home.catalog.query(query.stored.name) or query.stored
            self._rows = RowsOfRun(self._last_epoch)
            for query in self._queries():
                catch_up(self._home, query)
                if query.stored.quarantined is not None:
                    LOG.warning(
                        "query '%s' is quarantined since epoch %s and does not run: %s; "
                        "eng.resume('%s') lets it go on, eng.drop('%s') forgets it",
                        *(query.stored.name, query.stored.quarantined_epoch, query.stored.quarantined),
                        *(query.stored.name, query.stored.name),
                    )
            self._answer_requests()
            if not self._queries():
                raise WindrowError("there are no queries to run; register one with eng.query(name, sql)")
            try:
                with self._compactor.working():
                    yield
            except BaseException:
                self._last_epoch = UNSURE
                raise
            finally:
                self._home.note_delivered(
                    {
                        query.stored.id: query.stored.delivered
                        for query in self._queries()
                        if query.stored.delivered is not None
                    }
                )

    def _report(self, report: EpochReport) -> None:
        self._last_epoch = report.epoch
        self._rows.add(report)
        self._compactor.wake()
        self._collect_garbage(1)
        self._on_epoch(report)

    def _warn_of_dead_rows(self) -> None:
        """Say why rows have been dead, where something else is to be said: it does not fail for that."""
        with suppress(Exception):
            for dead in self._rows.dead(self._spark, self._home):
                _warn(dead)

    def _say_what_went_wrong(self) -> None:
        """At the end of a bounded run, when everything that could be done has been.

        A query that an earlier run quarantined has answered nothing in this one either, so that is said
        again, at the end of every run, until somebody resumes or drops it. So is why rows are dead; if most
        are, the run has failed, unless MAX DEAD says how many may be.
        """
        behind = [query for query in self._queries() if query.sink_error is not None]
        stored = [query.stored for query in self._queries()]
        failed = [query for query in stored if query.quarantined is not None]
        if failed:
            told = "\n".join(
                f"{query.name}: {query.quarantined} (since epoch {query.quarantined_epoch})"
                for query in failed
            )
            one = "it is" if len(failed) == 1 else "they are"
            others = [query.name for query in stored if query.quarantined is None]
            rest = f"; the others are answered ({', '.join(others[:5])}{', …'[: 3 * (len(others) > 5)]})"
            name = failed[0].name
            self._warn_of_dead_rows()
            raise QueryFailed(
                "\n".join(
                    [
                        f"{told}\n{one} quarantined{rest if others else ''}",
                        f"eng.resume('{name}') lets it run again, eng.drop('{name}') forgets it",
                        *map(_told_of_sink, behind),
                    ]
                )
            )
        mostly_dead = []
        for dead in self._rows.dead(self._spark, self._home):
            if dead.most and self._relations.stream(dead.stream).max_dead is None:
                mostly_dead.append(dead)
            else:
                _warn(dead)
        if mostly_dead:
            raise MostlyDead("\n".join([*map(str, mostly_dead), COME_AGAIN, *map(_told_of_sink, behind)]))
        if behind:
            raise WindrowError("\n".join(map(_told_of_sink, behind))) from behind[0].sink_error

    def _runner(self, name: str) -> StreamRunner:
        if name not in self._runners:
            stream = self._relations.stream(name)
            self._runners[name] = StreamRunner(
                self._home, stream, self._plan, self._executor, self._clock, self._relations.file_source(name)
            )
        return self._runners[name]

    def _queries_of(self, name: str, columns: frozenset[str] | None = None) -> list[RunningQuery]:
        """The queries on a stream; those that need no other columns, if some are given."""
        return [
            query
            for query in self._queries()
            if query.plan.stream.name == name
            and (columns is None or columns.issuperset(query.plan.scan.columns))
        ]

    def _tables(self, queries: Iterable[RunningQuery]) -> dict[str, DataFrame]:
        used = {enrichment.table for query in queries for enrichment in query.plan.enrichments}
        return {name: self._relations.frame(name) for name in used}


def _told_of_sink(query: RunningQuery) -> str:
    kind = type(query.sink_error).__name__
    return (
        f"the sink of query '{query.stored.name}' failed: {kind}: {query.sink_error}\nits answers are "
        "committed, and the next run gives it those that it has not had"
    )


def _warn(dead: DeadOfRun) -> None:
    event(
        logging.WARNING, "dead_reasons", "%(told)s",
        told=str(dead), stream=dead.stream, rows=dead.rows, dead=dead.dead, reasons=dead.reasons,
    )  # fmt: skip

"""The running half of an engine: the home held, streams read, epochs committed, heartbeats, housekeeping."""

from __future__ import annotations

import gc
import logging
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from windrow.api.end_of_run import say_what_went_wrong, warn_of_dead_rows
from windrow.api.live import Live
from windrow.api.readers import Readers
from windrow.api.streams import Streams
from windrow.columns import quoted
from windrow.errors import SourceError, WindrowError
from windrow.runtime.epochs.dead_reasons import RowsOfRun
from windrow.runtime.epochs.epoch import Epochs
from windrow.runtime.epochs.sinks import catch_up
from windrow.runtime.epochs.too_many_dead import check_dead
from windrow.runtime.home.compaction import Compactor
from windrow.runtime.home.slice_log import SliceLog
from windrow.runtime.logs import LOG, event
from windrow.runtime.state.executor import Executor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from windrow.api.relations import Relations
    from windrow.runtime.epochs.dead_reasons import DeadOfRun
    from windrow.runtime.epochs.part import Part
    from windrow.runtime.epochs.report import EpochReport
    from windrow.runtime.epochs.stage import Staging
    from windrow.runtime.home.home import Home
    from windrow.runtime.state.current_plan import CurrentPlan
    from windrow.runtime.state.queries import RunningQuery


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
        self._home = home
        self._queries = queries
        self._answer_requests = answer_requests
        self._on_epoch = report
        self._plan = plan
        self._spark = spark
        log = SliceLog(home)
        self._executor = Executor(spark, home, log, plan.settings.most_pairs)
        self._epochs = Epochs(spark, home, plan, self._executor, log)
        self.streams = Streams(home, relations, queries, plan, self._executor, clock)
        self.readers = Readers(self.streams, self._epochs, clock, self._report, plan.settings.most_waiting)
        self._compactor = Compactor(home, clock)
        self._last_epoch = home.catalog.last_epoch()
        self._rows = RowsOfRun(self._last_epoch)
        self._litter = 0

    def run(self, *, seal: bool, seal_frames: bool, stop: Callable[[], bool] = lambda: False) -> None:
        """Process what is there and return; `seal` is for sources that can grow, `seal_frames` for others.

        `stop` is asked about once a second, whether to end here and now.
        """
        streams = self.streams
        with self._holding_home():
            for names in streams.frames_together():
                self._run_frames(names, seal=seal_frames)
            try:
                self.readers.start(None)
                while active := self.readers.active():
                    active[0].wait(LOOK_SECONDS)
                    if stop():
                        return
                    self.serve()
                for reader in self.readers.all():
                    reader.wait()
            finally:
                read = list(self.readers.by_stream)
                self._stop_readers()
            if seal:
                self._commit([streams.staging(name).sealing(streams.queries_of(name)) for name in read])
            for waits in streams.waiting():
                event(logging.INFO, "stream_open", "%(waits)s", waits=str(waits), stream=waits.name)
            say_what_went_wrong(self._queries(), self._dead_rows, streams.relations.stream)

    def start(self, every: int) -> Live:
        """Process rows as they come, a batch every so many microseconds."""
        held = ExitStack()
        held.enter_context(self._holding_home())
        held.callback(warn_of_dead_rows, self._dead_rows)
        held.callback(self._stop_readers)
        live = Live(held, self.readers, self.beat, self.serve, min(every / 1e6, LOOK_SECONDS))
        try:
            frames = self.streams.frames()
            if frames:
                raise SourceError(
                    f"'{frames[0]}' is a static DataFrame, so there is nothing to wait for; use run()"
                )
            self.readers.start(every)
        except BaseException:
            live.stop()
            raise
        live.begin()
        return live

    def heartbeat(self) -> None:
        """Let time go on for the streams that are silent."""
        if self.readers.by_stream:
            self.beat()
            return
        with self._holding_home():
            streams, growing = self.streams, self.streams.growing()
            for name in growing:
                streams.staging(name).check_record()
            self.commit_heartbeat(
                [(streams.staging(name), partial(streams.queries_of, name)) for name in growing]
            )

    def serve(self) -> None:
        """Do what other processes ask for, and let the readers read what is needed then.

        It waits for no batch and no epoch, so that a request does not either.
        """
        self._answer_requests()
        self.readers.keep_up()

    def beat(self) -> None:
        """Let time go on where nothing comes, with the next epoch; streams in the middle of a batch wait."""
        waiting = [reader for reader in self.readers.active() if reader.is_waiting]
        self.commit_heartbeat([(reader.staging, reader.queries) for reader in waiting])

    def commit_heartbeat(self, silent: list[tuple[Staging, Callable[[], list[RunningQuery]]]]) -> None:
        """Let time go on for streams, given with their queries, by one epoch."""
        with ExitStack() as turns:
            self._commit([turns.enter_context(staging.beating(queries)) for staging, queries in silent])

    def _commit(self, parts: list[Part | None]) -> None:
        present = [part for part in parts if part is not None]
        if present:
            for report in self._epochs.run(*present):
                self._report(report)

    def _run_frames(self, names: list[str], *, seal: bool) -> None:
        """Read frames, which queries may read together, whole, by one epoch, for those that are new."""
        streams = self.streams
        fresh: dict[str, list[RunningQuery]] = {}
        waiting: dict[str, list[RunningQuery]] = {}
        for name in names:
            queries = streams.queries_of(name)
            fresh[name] = [query for query in queries if not query.stored.started]
            waiting[name] = [query for query in queries if query.stored.started and query.stored.runs]
            if any(query.stored.sealed for query in queries) and not (fresh[name] or waiting[name]):
                LOG.warning("stream '%s': all its queries are answered; nothing was read", name)
        if seal:
            self._commit([streams.staging(name).sealing(some) for name, some in waiting.items() if some])
        with ExitStack() as staged:
            parts = []
            for name in (name for name, some in fresh.items() if some):
                frame = streams.relations.frame(name).select(*map(quoted, streams.columns_in_use(name)))
                tables = streams.tables(fresh[name])
                read = streams.staging(name).staged_frame(frame, fresh[name], tables, seal=seal)
                parts.append(staged.enter_context(read))
            self._commit([*parts])
        for part in parts:
            staging = streams.staging(part.stream.name)
            check_dead(staging.stream, staging.progress)

    def _stop_readers(self) -> None:
        ended, unsure = self.readers.stop()
        if unsure:
            self._last_epoch = UNSURE
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
                self.streams.forget()
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

    def _dead_rows(self) -> Iterator[DeadOfRun]:
        return self._rows.dead(self._spark, self._home)

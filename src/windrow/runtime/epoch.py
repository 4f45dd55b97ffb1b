"""One epoch of one stream: a batch in, answers and state out, committed together.

1. Spark runs the shared passes over the batch: partials as Arrow, and a tally of the rows.
2. The watermark moves to the latest event time minus the stream's delay.
3. Every query takes in its partials and answers the windows that the watermark has passed.
4. Answers, closed slices and open slices are written; the home commits them in one step.

If anything fails, nothing of the epoch exists, and the queries' states are read back from the home
before the next attempt. A batch that was committed is skipped when Spark hands it out again.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.feather

from windrow.errors import QueryFailed
from windrow.operators.window_aggregate import BEGINNING, END_OF_TIME, WindowAggregate
from windrow.optimizer import Bounds, plan_window_aggregation, share_passes
from windrow.runtime.collect import Tally, collect, tally_batch
from windrow.runtime.home import Progress
from windrow.runtime.project import project
from windrow.runtime.results import ResultWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from windrow.logical import AggregateQuery, Stream
    from windrow.runtime.home import DataFile, Home, StoredQuery

LOG = logging.getLogger("windrow")


@dataclass
class RunningQuery:
    """A query with its plan, where its answers also go, and its state once it has been read."""

    stored: StoredQuery
    plan: AggregateQuery
    sink: Callable[[int, pa.Table], None] | None = None
    state: WindowAggregate | None = None

    def load(self, home: Home, evaluated: int) -> WindowAggregate:
        """The state, read back from the home if it is not in memory."""
        if self.state is None:
            self.state = WindowAggregate(plan_window_aggregation(self.plan))
            owner = str(self.stored.id)
            closed = [pyarrow.feather.read_table(path) for path in home.files("closed", owner)]
            opened = [pyarrow.feather.read_table(path) for path in home.files("open", owner)]
            self.state.restore(closed, opened[0] if opened else None, evaluated)
        return self.state


@dataclass(frozen=True)
class EpochReport:
    """What an epoch did, for people who watch."""

    epoch: int
    stream: str
    rows: int
    late: int
    dead: int
    watermark: int | None
    seconds: float
    answers: Mapping[str, int] = field(default_factory=dict)
    """Answers written, by query."""
    latest: Mapping[str, pa.Table] = field(default_factory=dict)
    """The last evaluation of each query that had answers."""


@dataclass(frozen=True)
class _Work:
    """An epoch in the making: its number, from where to where, and what it has answered so far."""

    epoch: int
    progress: Progress
    evaluated: int
    answers: dict[str, int] = field(default_factory=dict)
    latest: dict[str, pa.Table] = field(default_factory=dict)


class StreamRunner:
    """Runs the epochs of one stream."""

    def __init__(
        self,
        spark: SparkSession,
        home: Home,
        stream: Stream,
        next_epoch: Callable[[], int],
        *,
        rereads_cheaply: bool = False,
    ) -> None:
        self.stream = stream
        self._rereads_cheaply = rereads_cheaply
        self.progress = home.progress(stream.name)
        self._spark = spark
        self._home = home
        self._next_epoch = next_epoch

    def run_batch(
        self,
        batch: DataFrame,
        batch_id: int,
        queries: Iterable[RunningQuery],
        tables: Mapping[str, DataFrame],
        *,
        live: bool = False,
    ) -> EpochReport | None:
        """Process a batch of the stream; None if it had been committed before."""
        if batch_id <= self.progress.batch:
            return None
        clock = time.time()
        # On a bounded or replayed source the clock says nothing about event times, unless SKEW is set.
        skew = self.stream.skew if self.stream.skew is not None else (86_400_000_000 if live else None)
        ahead = None if skew is None else int(clock * 1e6) + skew
        bounds = Bounds(END_OF_TIME if self.progress.sealed else self.progress.watermark, ahead)
        running = [query for query in queries if not query.stored.sealed]
        for query in running:
            self._note_beginning(query)
        partials, tally = self._collect(batch, bounds, running, tables)
        watermark = self.progress.watermark
        if tally.latest is not None and not self.progress.sealed:
            reached = tally.latest - self.stream.delay
            watermark = reached if watermark is None else max(watermark, reached)
        progress = replace(
            self.progress,
            batch=batch_id,
            watermark=watermark,
            rows=self.progress.rows + tally.rows,
            late=self.progress.late + tally.late,
            dead=self.progress.dead + tally.dead,
        )
        return self._finish(running, partials, progress, tally, clock)

    def run_frame(
        self,
        frame: DataFrame,
        queries: Iterable[RunningQuery],
        tables: Mapping[str, DataFrame],
        *,
        seal: bool,
    ) -> EpochReport | None:
        """Process a bounded frame, whole, for the queries that have not seen it."""
        queries = list(queries)
        fresh = [query for query in queries if not query.stored.started]
        waiting = [query for query in queries if query.stored.started and not query.stored.sealed]
        if seal and waiting:
            self.seal(waiting)
        if not fresh:
            if not waiting:
                LOG.warning("stream '%s': all its queries are answered; nothing was read", self.stream.name)
            return None
        clock = time.time()
        ahead = None if self.stream.skew is None else int(clock * 1e6) + self.stream.skew
        partials, tally = self._collect(frame, Bounds(None, ahead), fresh, tables)
        watermark = None if tally.latest is None else tally.latest - self.stream.delay
        progress = Progress(0, watermark, seal, tally.rows, tally.late, tally.dead)
        # A frame is read from its beginning for every query, whatever others have seen of it.
        return self._finish(fresh, partials, progress, tally, clock, evaluated=BEGINNING)

    def seal(self, queries: Iterable[RunningQuery]) -> EpochReport | None:
        """What has come is all there is: answer every window that is still open."""
        running = [query for query in queries if not query.stored.sealed]
        if self.progress.sealed and not running:
            return None
        progress = replace(self.progress, sealed=True)
        tally = Tally(None, 0, 0, 0)
        return self._finish(running, {}, progress, tally, time.time())

    def _note_beginning(self, query: RunningQuery) -> None:
        """A query that comes when the stream has run does not know the rows up to its latest instant."""
        watermark = self.progress.watermark
        if not query.stored.started and watermark is not None:
            query.stored = replace(query.stored, complete_after=watermark + self.stream.delay)

    def _collect(
        self,
        batch: DataFrame,
        bounds: Bounds,
        queries: list[RunningQuery],
        tables: Mapping[str, DataFrame],
    ) -> tuple[dict[str, pa.Table], Tally]:
        passes = share_passes({query.stored.name: query.plan for query in queries})
        partials: dict[str, pa.Table] = {}
        tally: Tally | None = None
        several = len(passes) > 1 or not any(shared.sees_every_row for shared in passes)
        # Keeping a batch was measured to cost as much as aggregating it twice, so Parquet is read again;
        # text is dearer to parse, and a frame of the caller's need not give the same rows twice.
        keep = several and not self._rereads_cheaply
        if keep:
            batch = batch.persist()
        try:
            for shared in passes:
                table, counted = collect(shared, batch, bounds, tables)
                tally = tally or counted
                partials |= dict.fromkeys(shared.queries, table)
            return partials, tally or tally_batch(self.stream, batch, bounds)
        finally:
            if keep:
                batch.unpersist()

    def _finish(
        self,
        queries: list[RunningQuery],
        partials: Mapping[str, pa.Table],
        progress: Progress,
        tally: Tally,
        clock: float,
        evaluated: int | None = None,
    ) -> EpochReport:
        """Steps 3 and 4: answer, write, commit. `evaluated`: where to begin, if not at the watermark."""
        if evaluated is None:
            evaluated = BEGINNING if self.progress.watermark is None else self.progress.watermark
        work = _Work(self._next_epoch(), progress, evaluated)
        results = ResultWriter(self._home, work.epoch)
        files: list[DataFile | None] = []
        try:
            for query in queries:
                self._answer(query, partials.get(query.stored.name), results, work)
                if not progress.sealed and query.state is not None:
                    for kind, slices in (
                        ("closed", query.state.closed_slices()),
                        ("open", query.state.open_slices()),
                    ):
                        files.append(self._home.write_slices(kind, query.stored, work.epoch, slices))
            written = [*results.close(), *(file for file in files if file is not None)]
            horizons = {query.stored: self._horizon(query, progress) for query in queries}
            counts = (tally.rows, tally.late, tally.dead)
            self._home.commit(work.epoch, self.stream.name, progress, clock, counts, written, horizons)
        except BaseException:
            results.abandon()
            for query in queries:
                query.state = None  # half-way through the epoch: read it back before the next attempt
            raise
        self.progress = progress
        for query in queries:
            query.stored = replace(query.stored, started=True, sealed=progress.sealed)
            if progress.sealed:
                query.state = None
        return EpochReport(
            work.epoch, self.stream.name, tally.rows, tally.late, tally.dead, progress.watermark,
            time.time() - clock, work.answers, work.latest,
        )  # fmt: skip

    def _answer(
        self, query: RunningQuery, partials: pa.Table | None, results: ResultWriter, work: _Work
    ) -> None:
        name = query.stored.name
        evaluated = work.evaluated
        if query.stored.complete_after is not None:
            evaluated = max(evaluated, query.stored.complete_after + query.plan.window.range)
        state = query.load(self._home, evaluated)
        if partials is not None and len(partials):
            state.push(partials)
        until = END_OF_TIME if work.progress.sealed else work.progress.watermark
        if until is None:
            return
        try:
            for answers in state.advance(until):
                table = project(self._spark, query.plan, answers)
                results.write(query.stored, table)
                if query.sink is not None:
                    query.sink(work.epoch, table)
                work.answers[name] = work.answers.get(name, 0) + len(table)
                if len(table):
                    work.latest[name] = _last_evaluation(table)
        except QueryFailed as error:
            raise QueryFailed(f"{name}: {error}") from error

    def _horizon(self, query: RunningQuery, progress: Progress) -> int | None:
        if progress.sealed:
            return None
        if progress.watermark is None:
            return BEGINNING
        window = query.plan.window
        return window.first_evaluation_after(progress.watermark) - window.range


def _last_evaluation(answers: pa.Table) -> pa.Table:
    ends = answers["window_end"]
    return answers.filter(pa.compute.equal(ends, pa.compute.max(ends)))

"""Staging: what Spark makes of a batch, before an epoch takes it in.

1. The stream's part of the plan is made, with the queries that there are now.
2. Its passes run: partials as Arrow, and a tally of the rows (`collecting.py`).
3. The watermark moves to the latest event time minus the stream's delay.
4. The rows that were refused wait to be written with the epoch that commits the batch.

What is staged is a `Part`, which never changes. A staged batch is durable without a copy: Spark wrote its
offsets down before it handed the batch out, and hands it out again, with the same rows, until the epoch that
took it in has been committed. What was planned for it takes effect with that epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from windrow.columns import BEGINNING, END_OF_TIME, FILE, YEAR_10000
from windrow.errors import HomeError
from windrow.planner import Bounds
from windrow.runtime.epochs.batch_files import BatchFiles
from windrow.runtime.epochs.collecting import Collecting
from windrow.runtime.epochs.part import Part
from windrow.runtime.epochs.too_many_dead import check_first_batch
from windrow.runtime.faults import reach
from windrow.runtime.home.checkpoint_log import ANOTHER_MOMENT, check_record, identity, repair, tidy
from windrow.runtime.home.records import Progress
from windrow.runtime.home.watermark import after_rows, after_silence, is_silent, reached
from windrow.runtime.spark.patience import Patience
from windrow.runtime.spark.refused_tables import write_refused
from windrow.runtime.state.stream_planning import StreamPlanning, answered_until

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from windrow.logical import Stream
    from windrow.planner.plan import OperatorPlan, PhysicalPlan
    from windrow.runtime.epochs.listening import Listening
    from windrow.runtime.home.home import Home
    from windrow.runtime.spark.headers import Header
    from windrow.runtime.spark.sources import FileSource
    from windrow.runtime.state.current_plan import CurrentPlan, Planned
    from windrow.runtime.state.executor import Executor
    from windrow.runtime.state.queries import RunningQuery

ONE_DAY = 86_400_000_000


class Staging:
    """Stages the batches of one stream, one at a time."""

    def __init__(
        self,
        home: Home,
        stream: Stream,
        plan: CurrentPlan,
        executor: Executor,
        clock: Callable[[], float],
        source: FileSource | None = None,
    ) -> None:
        self.stream = stream
        self.progress = home.catalog.progress(stream.name)
        self.planning = StreamPlanning(stream.name, home, plan)
        self._turn = RLock()  # a heartbeat must not move the watermark that a batch is being judged by
        self.listening: Listening | None = None
        """The silence that a live reader has heard; None if none has had the stream."""
        self._home = home
        self._plan = plan
        self._executor = executor
        self.checkpoint = home.checkpoint(stream.name)
        self.clock = clock
        self._source = source
        self._files = None if source is None else BatchFiles(stream.name, source, self.checkpoint)

    @property
    def reads_files(self) -> bool:
        """Whether it reads a directory of files that Windrow opened itself, and nothing else."""
        return self._source is not None

    @contextmanager
    def staged(
        self,
        batch: DataFrame,
        batch_id: int,
        queries: Callable[[], Iterable[RunningQuery]],
        tables: Callable[[Iterable[RunningQuery]], Mapping[str, DataFrame]],
        *,
        live: bool = False,
        stopping: Callable[[], bool] = lambda: False,
    ) -> Iterator[Part | None]:
        """A batch of the stream, staged; None if it had been committed before.

        `queries` is asked when it is the batch's turn: one that came with the heartbeat before must not
        miss it. From then on, who comes or goes is for the next epoch. `stopping` is asked before anything
        is tried again.
        """
        with self._turn:
            if batch_id == self.progress.batch:
                yield None
                return
            if batch_id != self.progress.batch + 1:
                raise HomeError(
                    f"Spark hands out batch {batch_id} of stream '{self.stream.name}', and the last one that "
                    f"the home knows is {self.progress.batch}; {ANOTHER_MOMENT}"
                )
            clock = self.clock()
            # On a bounded or replayed source the clock says nothing about event times, unless SKEW is set.
            skew = self.stream.skew if self.stream.skew is not None else (ONE_DAY if live else None)
            watermark = END_OF_TIME if self.progress.sealed else self.progress.watermark
            planned = replace(self._planned(queries()), stopping=stopping, clock=clock, batch=batch_id)
            bounds = Bounds(watermark, _ahead(clock, skew))
            headers: tuple[Header, ...] = ()
            files: Callable[[], Sequence[str]] = tuple
            if self._files is not None:
                first = self.progress.batch < 0
                batch, headers, files = self._files.read(batch, batch_id, stopping, first=first)
            with self._collected(batch, bounds, planned, tables(planned.queries), headers, files) as part:
                tally = part.tally
                latest, watermark = after_rows(self.stream, self.progress, tally.latest)
                progress = replace(
                    self.progress,
                    batch=batch_id,
                    latest=latest,
                    watermark=watermark,
                    idle=False,
                    clock=clock,
                    rows=self.progress.rows + tally.rows,
                    late=self.progress.late + tally.late,
                    dead=self.progress.dead + tally.dead,
                    offsets=identity(self.checkpoint, batch_id),
                )
                reach("batch staged")
                yield replace(part, progress=progress)

    def check_record(self) -> None:
        """See that Spark's own record of the stream goes with what is committed; raise a HomeError if not."""
        repair(self.checkpoint, self.progress.batch)
        check_record(self.checkpoint, self.stream.name, self.progress)
        if self.reads_files:
            tidy(self.checkpoint)

    def preload(self, queries: Iterable[RunningQuery]) -> None:
        """Read states back while Spark is still getting ready for the first batch."""
        wanted = {query.stored.id for query in queries if query.stored.started and query.stored.runs}
        operators = [
            operator
            for operator in self._plan.plan.of_stream(self.stream.name).values()
            if not wanted.isdisjoint(operator.members)
        ]
        self._executor.preload(operators, self._evaluated)

    def rest(self) -> None:
        """Return when no batch is being staged or committed, and no state read."""
        self._executor.rest()
        with self._turn:
            pass

    @contextmanager
    def between_batches(self) -> Iterator[bool]:
        """Whether no batch is under way; if so, none is staged while this is held. Does not wait for one."""
        free = self._turn.acquire(blocking=False)
        try:
            yield free
        finally:
            if free:
                self._turn.release()

    @contextmanager
    def staged_frame(
        self, frame: DataFrame, fresh: list[RunningQuery], tables: Mapping[str, DataFrame], *, seal: bool
    ) -> Iterator[Part]:
        """A bounded frame, whole, for queries that have not seen it."""
        clock = self.clock()
        # A frame is read from its beginning for every query, whatever others have seen of it.
        part = replace(self._part(fresh, self.planning.for_frame(fresh)), clock=clock, evaluated=BEGINNING)
        bounds = Bounds(None, _ahead(clock, self.stream.skew))
        with self._collected(frame, bounds, part, tables) as part:
            tally = part.tally
            latest, watermark = after_rows(self.stream, Progress(), tally.latest)
            if self.progress.batch >= 0:  # they are in the tables since the frame was first read
                part = replace(part, refused=lambda epoch, behind: [])
            progress = Progress(0, latest, watermark, seal, False, clock, tally.rows, tally.late, tally.dead)
            reach("batch staged")
            yield replace(part, progress=progress)

    def sealing(self, queries: Iterable[RunningQuery]) -> Part | None:
        """What has come is all there is: answer every window that is still open."""
        part = self._planned(queries)
        if self.progress.sealed and not part.queries:
            return None
        return replace(part, progress=replace(self.progress, sealed=True))

    @contextmanager
    def beating(self, queries: Callable[[], Iterable[RunningQuery]]) -> Iterator[Part | None]:
        """A heartbeat, during which no batch is staged; None if one is, or if nothing would change."""
        with self.between_batches() as free:
            yield self._heartbeat(queries()) if free else None

    def _heartbeat(self, queries: Iterable[RunningQuery]) -> Part | None:
        """Time goes on without rows; None if that changes nothing that anybody could see."""
        queries = [query for query in queries if query.stored.runs]
        watermark, falls_silent = None, False
        if self.stream.idle_timeout is not None:  # to ask Spark when it looked takes 2 ms
            since, until = (None, self.clock()) if self.listening is None else self.listening.silence()
            watermark = after_silence(self.stream, self.progress, until, since)
            falls_silent = is_silent(self.stream, self.progress, until, since) and not self.progress.idle
        arrived = self.progress.batch >= 0 and any(not query.stored.started for query in queries)
        if falls_silent:  # before it has shown a row, so that it holds others back no longer
            return replace(self._planned(queries), progress=replace(self.progress, idle=True))
        if watermark is None:
            return self._planned(queries) if arrived else None
        silent = replace(self.progress, watermark=watermark, idle=True)
        if not (arrived or not self.progress.idle or self._closes(silent)):
            return None
        return replace(self._planned(queries), progress=silent)

    def _closes(self, progress: Progress) -> bool:
        """Whether an operator would have something to answer if the stream were as far as this."""
        catalog = self._home.catalog
        for operator in self._plan.plan.of_stream(self.stream.name).values():
            streams = [progress if s == self.stream.name else catalog.progress(s) for s in operator.streams]
            if self._executor.closes(operator, self._evaluated(operator), reached(streams)):
                return True
        return False

    def committed(self, part: Part, before: PhysicalPlan, after: PhysicalPlan) -> None:
        """An epoch with a part of this stream is committed, by a plan in the place of another."""
        self.progress = part.progress
        self.planning.committed(before, after, part.proposal, part.experience)

    def _evaluated(self, operator: OperatorPlan) -> int:
        return self._plan.evaluated(operator.id, answered_until(self.progress))

    def _part(self, queries: Sequence[RunningQuery], planned: Planned) -> Part:
        numbers = {query.stored.id for query in queries}
        operators = [
            number
            for number, operator in planned.after.of_stream(self.stream.name).items()
            if not numbers.isdisjoint(operator.members)
        ]
        return Part(
            self.stream, queries, planned, operators, self.progress, self.clock(),
            answered_until(self.progress), self.committed, lambda: self.planning.replanner.failures,
            was_idle=self.progress.idle,
        )  # fmt: skip

    def _planned(self, queries: Iterable[RunningQuery]) -> Part:
        """A part of those that still run, in the plan with which the next epoch has them."""
        running = [query for query in queries if query.stored.runs]
        planned, proposal = self.planning.for_batch(running, self.progress)
        return replace(self._part(running, planned), proposal=proposal)

    @contextmanager
    def _collected(
        self,
        batch: DataFrame,
        bounds: Bounds,
        part: Part,
        tables: Mapping[str, DataFrame],
        headers: tuple[Header, ...] = (),
        files: Callable[[], Sequence[str]] = tuple,
    ) -> Iterator[Part]:
        passes = part.plan.inputs[self.stream.name].passes if part.operators else ()
        several = len(passes) > 1 or not any(shared.sees_every_row for shared in passes)
        # Keeping a batch was measured to cost as much as aggregating it twice, so Parquet is read again;
        # text is dearer to parse, and a frame of the caller's need not give the same rows twice.
        keep = several and not (self._source is not None and self._source.format == "parquet")
        if keep:
            batch = batch.withColumn(FILE, F.input_file_name()).persist()
        patience = Patience(f"a batch of stream '{self.stream.name}'", part.stopping)
        try:
            collecting = Collecting(self.stream, batch, bounds, tables, patience, files)
            found = collecting.run(passes, part.plan.operators, self.planning.experience)
            if self.progress.batch < 0:
                check_first_batch(self.stream, batch, bounds, self._source, headers, found.tally, collecting)
            yield replace(
                part,
                tables=found.tables,
                tally=found.tally,
                experience=found.experience,
                failed=found.failed,
                refused=lambda epoch, behind: write_refused(
                    self._home, self.stream, batch, bounds, self._source, headers, found.tally, epoch, behind
                ),
            )
        finally:
            if keep:
                batch.unpersist()


def _ahead(clock: float, skew: int | None) -> int | None:
    return None if skew is None else min(int(clock * 1e6) + skew, YEAR_10000 - 1)

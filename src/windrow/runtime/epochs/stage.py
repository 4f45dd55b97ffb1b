"""Staging: what Spark makes of a batch, before an epoch takes it in.

1. The shared passes run: partials as Arrow, and a tally of the rows. A pass that the machine made fail is
   run again after a pause; one that a query made fail is run again with ever fewer queries, so that only
   the culprits are left out.
2. The watermark moves to the latest event time minus the stream's delay.
3. The rows that were refused wait to be written with the epoch that commits the batch.

A staged batch is durable without a copy: Spark wrote its offsets down before it handed the batch out,
and hands it out again, with the same rows, until the epoch that took it in has been committed.
"""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from threading import RLock, Thread
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql import functions as F

from windrow.aggregates.contents import Counts
from windrow.errors import HomeError, MostlyDead, QueryFailed, SourceError, WindrowError
from windrow.logical import quoted
from windrow.operators.aggregate.window_aggregate import BEGINNING, END_OF_TIME
from windrow.planner import Bounds, Pass, WovenPass
from windrow.planner.passes.bounds import FILE, YEAR_10000
from windrow.runtime.epochs.culprits import check_that_some_run, culprits
from windrow.runtime.epochs.dead_reasons import TO_CHECK, dead_reasons, listed
from windrow.runtime.faults import reach
from windrow.runtime.home.checkpoint_log import (
    ANOTHER_MOMENT,
    check_record,
    files_of,
    identity,
    repair,
    tidy,
)
from windrow.runtime.home.records import Progress
from windrow.runtime.home.slice_log import SliceLog
from windrow.runtime.home.watermark import after_rows, after_silence
from windrow.runtime.spark.blame import Unclear, Unreadable
from windrow.runtime.spark.collect import Tally, by_query, collect, read_table, tally_batch
from windrow.runtime.spark.columns_by_name import ColumnsByName
from windrow.runtime.spark.headers import is_there
from windrow.runtime.spark.patience import NOTHING_LOST, Patience
from windrow.runtime.spark.patterns import is_pattern
from windrow.runtime.spark.refused import dead_rows
from windrow.runtime.spark.refused_tables import write_refused
from windrow.runtime.state.forest import Forest
from windrow.runtime.state.planned_passes import PlannedPasses
from windrow.runtime.state.trees import RunningQuery as RunningQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from windrow.logical import AggregateQuery, Stream
    from windrow.planner import LiftedPass, RowPass
    from windrow.runtime.epochs.listening import Listening
    from windrow.runtime.home.home import Home
    from windrow.runtime.home.records import DataFile
    from windrow.runtime.settings import EngineSettings
    from windrow.runtime.spark.headers import Header
    from windrow.runtime.spark.sources import FileSource
    from windrow.runtime.state.trees import RunningTree

    AnyPass = Pass | RowPass | LiftedPass | WovenPass
    Found = TypeVar("Found")
    Run = Callable[[Mapping[str, AggregateQuery]], dict[str, list[pa.Table]]]

ONE_DAY = 86_400_000_000
BATCHES_UNCOUNTED = 100
"""To count a value that does not repeat takes Spark some 700 ns, to hand over its row 100 (measured)."""
NOTHING = Tally(None, 0, 0, 0)


@dataclass
class Part:
    """What an epoch does with one stream: a staged batch, a heartbeat or the seal."""

    runner: StreamRunner
    queries: list[RunningQuery]
    trees: list[RunningTree]
    """Where the queries have their state."""
    progress: Progress
    clock: float
    evaluated: int
    """The watermark that the queries have been evaluated up to."""
    batch: int | None = None
    tally: Tally = NOTHING
    partials: Mapping[str, list[pa.Table]] = field(default_factory=dict)
    """What was collected for each query, by name: a table from each of its passes."""
    failed: dict[str, Exception] = field(default_factory=dict)
    """Queries to be quarantined, by name."""
    node_seconds: dict[int, float] = field(default_factory=dict)
    """How long the Spark tasks took that hold trees, by node."""
    writing_seconds: dict[int, float] = field(default_factory=dict)
    """How much of that was writing answers."""
    stopping: Callable[[], bool] = lambda: False
    """Whether somebody is stopping the stream, so that nothing is worth being tried again."""
    refused: Callable[[int], list[DataFile]] = lambda epoch: []
    """Writes the late and dead rows, with the number of the epoch."""
    begun: float = field(default_factory=time.perf_counter)
    was_idle: bool = False


class StreamRunner:
    """Stages the batches of one stream, one at a time."""

    def __init__(
        self,
        home: Home,
        stream: Stream,
        clock: Callable[[], float],
        settings: EngineSettings,
        source: FileSource | None = None,
    ) -> None:
        self.stream = stream
        self.progress = home.catalog.progress(stream.name)
        self.log = SliceLog(home, stream.name)
        self.forest = Forest(home, stream.name, settings)
        self._turn = RLock()  # a heartbeat must not move the watermark that a batch is being judged by
        self.listening: Listening | None = None
        """The silence that a live reader has heard; None if none has had the stream."""
        self._preloading: Thread | None = None
        self._home = home
        self.checkpoint = home.checkpoint(stream.name)
        self.clock = clock
        self._source = source
        self._planned = PlannedPasses()
        self._uncounted: dict[tuple[Any, ...], int] = {}
        """By pass, for how many batches more its values are not worth being counted."""
        self._named: ColumnsByName | None = None

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
            arranged = self._arranged(queries())
            arranged.stopping = stopping
            bounds = Bounds(watermark, _ahead(clock, skew))
            batch, headers = self._files_as_they_are(batch, batch_id, stopping)
            with self._collected(batch, bounds, arranged, tables(arranged.queries), headers) as part:
                tally = part.tally
                latest, watermark = after_rows(self.stream, self.progress, tally.latest)
                part.progress = replace(
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
                part.clock = clock
                part.batch = batch_id
                reach("batch staged")
                yield part

    def check_record(self) -> None:
        """See that Spark's own record of the stream goes with what is committed; raise a HomeError if not."""
        repair(self.checkpoint, self.progress.batch)
        check_record(self.checkpoint, self.stream.name, self.progress)
        if self.reads_files:
            tidy(self.checkpoint)

    def preload(self, queries: Iterable[RunningQuery]) -> None:
        """Read states back while Spark is still getting ready for the first batch."""
        trees = self._arranged(query for query in queries if query.stored.started).trees

        def load() -> None:
            with suppress(WindrowError, OSError):  # the epoch that needs it will say so
                for tree in trees:
                    tree.load(self.log, self.evaluated)

        self._preloading = Thread(target=load, name=f"windrow preload {self.stream.name}", daemon=True)
        self._preloading.start()

    def rest(self) -> None:
        """Return when no batch is being staged or committed, and no state read."""
        if self._preloading is not None:
            self._preloading.join()
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
        trees = self.forest.arrange(fresh, None, BEGINNING, whole=False, anew=True)
        waiting = self._part(fresh, trees, self.progress, clock)
        with self._collected(frame, Bounds(None, _ahead(clock, self.stream.skew)), waiting, tables) as part:
            tally = part.tally
            latest, watermark = after_rows(self.stream, Progress(), tally.latest)
            if self.progress.batch >= 0:
                part.refused = lambda epoch: []  # they are in the tables since the frame was first read
            part.progress = Progress(
                0, latest, watermark, seal, False, clock, tally.rows, tally.late, tally.dead
            )
            part.clock = clock
            # A frame is read from its beginning for every query, whatever others have seen of it.
            part.evaluated = BEGINNING
            reach("batch staged")
            yield part

    def sealing(self, queries: Iterable[RunningQuery]) -> Part | None:
        """What has come is all there is: answer every window that is still open."""
        part = self._arranged(queries)
        if self.progress.sealed and not part.queries:
            return None
        part.progress = replace(self.progress, sealed=True)
        return part

    @contextmanager
    def beating(self, queries: Callable[[], Iterable[RunningQuery]]) -> Iterator[Part | None]:
        """A heartbeat, during which no batch is staged; None if one is, or if nothing would change."""
        with self.between_batches() as free:
            yield self._heartbeat(queries()) if free else None

    def _heartbeat(self, queries: Iterable[RunningQuery]) -> Part | None:
        """Time goes on without rows; None if that changes nothing that anybody could see."""
        part = self._arranged(queries)
        watermark = None
        if self.stream.idle_timeout is not None:  # to ask Spark when it looked takes 2 ms
            since, until = (None, part.clock) if self.listening is None else self.listening.silence()
            watermark = after_silence(self.stream, self.progress, until, since)
        arrived = any(not query.stored.started for query in part.queries) and self.progress.batch >= 0
        if watermark is None:
            return part if arrived else None
        closes = any(tree.closes(self.log, self.evaluated, watermark) for tree in part.trees)
        if not (closes or arrived or not self.progress.idle):
            return None
        part.progress = replace(self.progress, watermark=watermark, idle=True)
        return part

    @property
    def evaluated(self) -> int:
        """The instant up to which windows have been answered."""
        return BEGINNING if self.progress.watermark is None else self.progress.watermark

    def _part(
        self, queries: list[RunningQuery], trees: list[RunningTree], progress: Progress, clock: float
    ) -> Part:
        return Part(self, queries, trees, progress, clock, self.evaluated, was_idle=self.progress.idle)

    def _arranged(self, queries: Iterable[RunningQuery]) -> Part:
        """A part of those that still run, each in its tree."""
        running = [query for query in queries if query.stored.runs]
        trees = self.forest.arrange(running, self.progress.latest, self.evaluated)
        return self._part(running, trees, self.progress, self.clock())

    @contextmanager
    def _collected(
        self,
        batch: DataFrame,
        bounds: Bounds,
        part: Part,
        tables: Mapping[str, DataFrame],
        headers: tuple[Header, ...] = (),
    ) -> Iterator[Part]:
        groups = self.forest.groups(part.queries)
        passes = self._planned.of([{q.stored.name: q.plan for q in group} for group in groups])
        several = len(passes) > 1 or not any(shared.sees_every_row for shared in passes)
        # Keeping a batch was measured to cost as much as aggregating it twice, so Parquet is read again;
        # text is dearer to parse, and a frame of the caller's need not give the same rows twice.
        keep = several and not (self._source is not None and self._source.format == "parquet")
        if keep:
            batch = batch.withColumn(FILE, F.input_file_name()).persist()
        patience = Patience(f"a batch of stream '{self.stream.name}'", part.stopping)
        try:
            partials: dict[str, list[pa.Table]] = {}
            tally: Tally | None = None
            suspects: dict[str, AggregateQuery] = {}
            for shared in map(self._by_experience, passes):
                try:
                    table, counted = patience.through(partial(collect, shared, batch, bounds, tables))
                    self._experience(shared, table, counted)
                    for name, own in by_query(shared, table).items():
                        partials.setdefault(name, []).append(own)
                    tally = tally or counted
                except QueryFailed:
                    tally = self._tally(batch, bounds, patience)
                    suspects |= shared.queries
                except Unreadable:
                    self._tally(batch, bounds, patience)  # says so if it is the stream that cannot be read
                    raise
            if suspects:
                run = partial(self._run, batch, bounds, tables, patience)
                found, part.failed = self._without_culprits(suspects, run)
                partials |= found
                self._confirm(part, partials, run, tables, patience)
            part.partials = partials
            part.tally = tally or self._tally(batch, bounds, patience)
            self._check_first_batch(batch, bounds, headers, part.tally, patience)
            part.refused = lambda epoch: write_refused(
                self._home, self.stream, batch, bounds, self._source, headers, part.tally, epoch
            )
            yield part
        finally:
            if keep:
                batch.unpersist()

    def _files_as_they_are(
        self, batch: DataFrame, batch_id: int, stopping: Callable[[], bool]
    ) -> tuple[DataFrame, tuple[Header, ...]]:
        """The batch, with each of its files read once, and columns of CSV found by their names; and the
        headers that are not as declared."""
        if self._source is None:
            return batch, ()
        files = files_of(self.checkpoint, batch_id)
        batch = self._each_file_once(self._source, batch, files)
        if not self._source.has_names:
            return batch, ()
        patience = Patience(f"a batch of stream '{self.stream.name}'", stopping)
        return self._read(partial(self._by_name, self._source, batch, files), patience)

    def _each_file_once(self, source: FileSource, batch: DataFrame, files: list[str]) -> DataFrame:
        """The batch, read again if Spark would read its files several times: those of its streams that have
        letters of patterns in their names."""
        if len(files) == 1 or not any(map(is_pattern, files)):
            return batch
        there = [file for file in files if is_there(batch.sparkSession, file)]  # as Spark does
        if not there:
            return batch.where("false")
        columns = [field for field in batch.schema if not field.name.startswith("_windrow_")]
        rows = source.read_files(batch.sparkSession, columns, there)
        return rows.select(*map(quoted, batch.columns))

    def _by_name(
        self, source: FileSource, batch: DataFrame, files: list[str]
    ) -> tuple[DataFrame, tuple[Header, ...]]:
        """Rows of CSV files by the names in their headers, and the headers that are not as declared."""
        if self._named is None:
            self._named = ColumnsByName(self.stream.name, source, batch.sparkSession)
        return self._named.batch(batch, files, first=self.progress.batch < 0)

    def _run(
        self,
        batch: DataFrame,
        bounds: Bounds,
        tables: Mapping[str, DataFrame],
        patience: Patience,
        queries: Mapping[str, AggregateQuery],
    ) -> dict[str, list[pa.Table]]:
        """What some queries collect, in passes for them alone; raises QueryFailed if one of them fails."""
        found: dict[str, list[pa.Table]] = {}
        for shared in self._planned.plan(queries):
            table, _ = patience.through(partial(collect, shared, batch, bounds, tables))
            for name, own in by_query(shared, table).items():
                found.setdefault(name, []).append(own)
        return found

    def _without_culprits(
        self,
        suspects: Mapping[str, AggregateQuery],
        run: Run,
    ) -> tuple[dict[str, list[pa.Table]], dict[str, Exception]]:
        """What queries of which some fail collect when they `run`, and why those fail."""
        failed: dict[str, Exception] = {**culprits(suspects, run)}
        innocent = {name: plan for name, plan in suspects.items() if name not in failed}
        try:
            return run(innocent), failed
        except QueryFailed:
            self._planned.give_up_weaving()
        found: dict[str, list[pa.Table]] = {}
        for name, plan in innocent.items():
            try:
                found |= run({name: plan})
            except QueryFailed as error:
                failed[name] = error
        return found, failed

    def _confirm(
        self,
        part: Part,
        partials: dict[str, list[pa.Table]],
        run: Run,
        tables: Mapping[str, DataFrame],
        patience: Patience,
    ) -> None:
        """Blame a query whose error does not say whose fault it is only if it fails alone once more while its
        tables can be read and other queries run well; the tally of the batch has, before.

        `partials` is what was collected for those that run well, and gets that of queries that do now.
        """
        for query in part.queries:
            name = query.stored.name
            if not isinstance(part.failed.get(name), Unclear):
                continue
            try:
                partials |= run({name: query.plan})
                del part.failed[name]
                continue
            except QueryFailed as error:
                part.failed[name] = error
            for table in {enrichment.table for enrichment in query.plan.enrichments}:
                try:
                    patience.through(partial(read_table, tables[table]))
                except (QueryFailed, Unreadable) as error:
                    raise _cannot_be_read(f"table '{table}'", error) from error
        check_that_some_run(part.failed, len(partials.keys() - part.failed.keys()))

    def _by_experience(self, shared: AnyPass) -> AnyPass:
        """A pass that counts values does so only where that was seen to make few entries of many rows."""
        left = self._uncounted.get(_place(shared))
        if not isinstance(shared, Pass) or left is None or shared.row_by_row == (left > 0):
            return shared
        return replace(shared, row_by_row=left > 0)

    def _experience(self, shared: AnyPass, collected: pa.Table, counted: Tally | None) -> None:
        """Note whether counting paid; where it did not, try again after some batches."""
        if isinstance(shared, WovenPass) and counted is not None:
            self._planned.learn(shared, collected, counted.rows)
        if not isinstance(shared, Pass) or not isinstance(shared.contents, Counts) or counted is None:
            return
        if shared.row_by_row:
            self._uncounted[_place(shared)] -= 1
        else:
            pays = 3 * len(collected) <= counted.rows - counted.late - counted.dead
            self._uncounted[_place(shared)] = 0 if pays else BATCHES_UNCOUNTED

    def _check_first_batch(
        self, batch: DataFrame, bounds: Bounds, headers: Sequence[Header], tally: Tally, patience: Patience
    ) -> None:
        """Refuse a stream's first batch if most of it is dead: not the rows are wrong then, but what they are
        taken for. As long as nothing is committed, it may be declared otherwise."""
        if self.progress.batch >= 0 or self.stream.max_dead is not None or 2 * tally.dead <= tally.rows:
            return
        dead = dead_rows(self.stream, batch, bounds, self._source, headers)
        reasons = self._read(partial(dead_reasons, dead), patience)
        count = f"{tally.dead:,} of its first {tally.rows:,} rows"
        raise MostlyDead(
            f"dead letters of stream '{self.stream.name}': {count}, so none of them is taken in\n"
            f"{listed(reasons, tally.dead)}\n{TO_CHECK}; then run it again, in this home too, which is "
            "as it was. If the rows are as they should be, say with MAX DEAD (max_dead) how many may be dead"
        )

    def _tally(self, batch: DataFrame, bounds: Bounds, patience: Patience) -> Tally:
        """Count the rows; if even that fails, it is the source, not a query."""
        return self._read(partial(tally_batch, self.stream, batch, bounds), patience)

    def _read(self, attempt: Callable[[], Found], patience: Patience) -> Found:
        """What reading the stream without a query gives; if that fails, the stream cannot be read."""
        try:
            return patience.through(attempt)
        except (QueryFailed, Unreadable) as error:
            raise _cannot_be_read(f"stream '{self.stream.name}'", error) from error


def _cannot_be_read(relation: str, error: QueryFailed | Unreadable) -> SourceError:
    problem = error.problem if isinstance(error, Unreadable) else str(error)
    return SourceError(f"{relation} cannot be read: {problem.rstrip('.')}. {NOTHING_LOST}")


def _place(shared: AnyPass) -> tuple[Any, ...]:
    """What makes a pass the same one in the next batch."""
    query = shared.query
    return query.stream.name, tuple(shared.columns), query.where, query.enrichments


def _ahead(clock: float, skew: int | None) -> int | None:
    return None if skew is None else min(int(clock * 1e6) + skew, YEAR_10000 - 1)

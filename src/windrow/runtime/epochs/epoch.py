"""Epochs: staged batches or a heartbeat in, answers and state out, committed together.

1. Every operator takes in what was collected for it and answers what the watermark of its streams has passed.
2. Answers, slices, late rows and dead letters are written; the home commits them in one step, with the plan
   by which they were made.
3. Sinks get the answers that are now committed.

If anything fails, nothing of the epoch exists: what was planned for it is forgotten, and the states of its
operators are read back from the home before the next attempt. A query that fails twice is quarantined, and
the epoch goes on without it; what the machine made fail is tried again after a pause. `culprits.py` finds
out which query it is. docs/commit.md has the protocol on a page.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JError

from windrow.columns import BEGINNING, END_OF_TIME, QUERY
from windrow.errors import HomeError, MachineFailed, QueryFailed, SourceError
from windrow.logical.patterns import UpdatePattern
from windrow.operators.aggregate.shared_aggregate import AnswersFailed
from windrow.planner.plan import Port
from windrow.runtime.epochs.arrival import with_arrivals
from windrow.runtime.epochs.culprits import Suspects, check_that_some_run
from windrow.runtime.epochs.epoch_log import log_epoch
from windrow.runtime.epochs.outcome import Answers, queries_after, queries_of, report_of
from windrow.runtime.epochs.report import EpochReport
from windrow.runtime.epochs.sinks import deliver
from windrow.runtime.faults import reach
from windrow.runtime.home.durable import explained
from windrow.runtime.home.folding import left_of
from windrow.runtime.home.records import Advance, Epoch, OperatorSize
from windrow.runtime.home.results import ResultWriter
from windrow.runtime.home.slice_log import State
from windrow.runtime.home.watermark import reached
from windrow.runtime.logs import LOG
from windrow.runtime.spark.blame import ENGINE_ERRORS, failure
from windrow.runtime.spark.patience import Patience
from windrow.runtime.spark.project import project
from windrow.runtime.spark.refused_tables import Behind
from windrow.runtime.spark.session import in_zone
from windrow.runtime.state.answering import UNANSWERED, Answering
from windrow.runtime.state.tasks import TasksFailed
from windrow.runtime.state.work import OperatorFailed, Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from windrow.planner.plan import PhysicalPlan
    from windrow.runtime.epochs.part import Part
    from windrow.runtime.home.home import Home
    from windrow.runtime.home.records import Progress
    from windrow.runtime.home.slice_log import SliceLog
    from windrow.runtime.state.current_plan import Committed, CurrentPlan
    from windrow.runtime.state.executor import Executor
    from windrow.runtime.state.queries import RunningQuery
    from windrow.runtime.state.spec import Shape

OF_THE_MACHINE = (HomeError, MachineFailed, OSError, sqlite3.Error, Py4JError)
"""What may be better at another attempt."""
MOST_WATCHED = 100
"""With more queries than this, reports do not carry the last answers of each."""


@dataclass
class _Ticket:
    """Parts that wait for their epoch."""

    parts: tuple[Part, ...]
    reports: list[EpochReport] = field(default_factory=list)
    done: bool = False
    error: BaseException | None = None


class Epochs:
    """Runs the epochs of an engine, one at a time, whichever streams they are of."""

    def __init__(
        self, spark: SparkSession, home: Home, plan: CurrentPlan, executor: Executor, log: SliceLog
    ) -> None:
        self._spark = spark
        self._home = home
        self._plan = plan
        self._executor = executor
        self._log = log
        self._waiting: list[_Ticket] = []
        self._queue = Lock()
        self._one_at_a_time = Lock()
        self._zoned: dict[str | None, SparkSession] = {}
        """Sessions in the time zones of streams, made when they are first needed."""

    def run(self, *parts: Part) -> list[EpochReport]:
        """Commit parts, in one epoch with all others that wait at this moment."""
        ticket = _Ticket(parts)
        with self._queue:
            self._waiting.append(ticket)
        with self._one_at_a_time:
            if not ticket.done:
                self._run_waiting()
        if ticket.error is not None:
            raise ticket.error
        return ticket.reports

    def _run_waiting(self) -> None:
        with self._queue:
            tickets, self._waiting = self._waiting, []
        try:
            reports = iter(self._commit([part for ticket in tickets for part in ticket.parts]))
            for ticket in tickets:
                ticket.reports = [next(reports) for _ in ticket.parts]
        except BaseException as error:
            for ticket in tickets:
                ticket.error = error
        finally:
            for ticket in tickets:
                ticket.done = True

    def _commit(self, parts: list[Part]) -> list[EpochReport]:
        number = self._home.catalog.last_epoch() + 1
        patience = Patience(f"epoch {number}", lambda: any(part.stopping() for part in parts))
        suspects = Suspects({query: error for part in parts for query, error in part.failed.items()})
        while True:
            try:
                return self._attempt(number, parts, suspects)
            except OperatorFailed as failed:
                fault = failure(failed.error)
                if isinstance(fault, QueryFailed):
                    if suspects.accuse(failed.queries, fault):
                        self._check_that_some_run(parts, suspects)
                elif isinstance(failed.error, OF_THE_MACHINE):
                    self._wait(patience, number, failed.error)
                else:
                    raise failed.error from failed
            except TasksFailed as failed:
                LOG.warning("trees no longer run in Spark tasks, but in the driver: %s", failed)
                self._plan.give_up_tasks()
            except OF_THE_MACHINE as error:
                self._wait(patience, number, error)

    def _check_that_some_run(self, parts: list[Part], suspects: Suspects) -> None:
        """Before queries are blamed for what may not be their fault: does Spark work at all, and others?"""
        try:
            self._spark.range(1).collect()
        except Exception as error:
            told = failure(error)
            raise MachineFailed(f"Spark no longer works: {told}", lasting=True) from error
        names = {query.stored.id: query.stored.name for part in parts for query in part.queries}
        failed = {names[query]: error for query, error in suspects.failed.items()}
        check_that_some_run(failed, len(names) - len(failed))

    def _wait(self, patience: Patience, number: int, error: Exception) -> None:
        """Pause before another attempt at an epoch; raises an error if there is to be none."""
        if self._is_committed(number):
            raise HomeError(
                f"epoch {number} is committed to {self._home.path}, and what follows a commit failed: "
                f"{explained(error)}. Nothing is lost: the next start goes on from there"
            ) from error
        try:
            patience.wait(failure(error))
        except MachineFailed as given_up:
            if isinstance(error, ConnectionError) or not isinstance(error, OSError | sqlite3.Error):
                raise
            raise HomeError(
                f"epoch {number} could not be committed to {self._home.path}: {explained(error)}. "
                "The home is as it was before the epoch; the next start goes on from there"
            ) from given_up

    def _is_committed(self, number: int) -> bool:
        try:
            return self._home.catalog.last_epoch() >= number
        except HomeError:  # if it is, another attempt finds that the catalog has its number
            return False

    def _attempt(self, number: int, parts: list[Part], suspects: Suspects) -> list[EpochReport]:
        queries = queries_of(parts)
        before = {number: query.stored for number, query in queries.items()}
        committed = self._plan.committed
        epoch = Epoch(number, max(part.clock for part in parts))
        results = ResultWriter(self._home.path, number)
        plan = self._planned(committed, parts).without(suspects.failed)
        plan = with_arrivals(plan, committed.plan, parts, self._home.catalog.progress)
        progress = {part.stream.name: part.progress for part in parts}
        works = self._works(committed, plan, parts, progress, suspects)
        try:
            answers = self._answered(epoch, works, parts, results)
            reach("queries answered")
            writing = time.perf_counter()
            # What is sealed has no operators any more, once it is committed.
            after = plan.without(
                query for work in works if work.until == END_OF_TIME for query in work.plan.members
            )
            sealed = self._sealed(queries.values(), progress)
            stored = queries_after(queries, works, answers, suspects, number, sealed)
            self._record(epoch, committed, parts, after, answers)
            epoch.queries += [now for now in stored.values() if now is not before[now.id]]
            epoch.files += results.close()
            epoch.seconds = time.perf_counter() - min(part.begun for part in parts)
            epoch.delivered = {
                n: now.delivered
                for n, now in stored.items()
                if queries[n].sink is not None and now.delivered is not None
            }
            self._home.commit(epoch)
        except BaseException:
            # The files stay where they are: only a sweep knows which of them were committed.
            results.abandon()
            self._executor.drop(work.plan.id for work in works)
            raise
        committing = time.perf_counter() - writing
        for part in parts:
            part.committed(part, committed.plan, plan)
        self._plan.take_effect(committed, after, epoch.sizes)
        self._executor.keep_only(self._plan.plan.operators.keys())
        for query, now in zip(queries.values(), stored.values(), strict=True):
            if query.stored is before[now.id]:  # else it failed, and somebody has resumed it since
                query.stored = now
        reports = []
        for part in parts:
            reports.append(report_of(number, part, answers, suspects, committing))
            log_epoch(reports[-1], part, suspects.failed)
        for query in queries.values():
            if query.sink is not None and query.stored.id in answers.by_query:
                deliver(self._home, query, number, answers.by_query[query.stored.id].kept)
        reach("answers delivered")
        return reports

    def _planned(self, committed: Committed, parts: Sequence[Part]) -> PhysicalPlan:
        """The plan that is committed, with what has been planned for the parts of an epoch."""
        plan = committed.plan
        for part in parts:
            plan = plan.with_change(part.stream.name, part.planned.before, part.planned.after)
        if self._plan.settings.nodes == 1 and any(o.node is not None for o in plan.operators.values()):
            return plan.in_the_driver()  # tasks have failed since it was planned
        return plan

    def _works(
        self,
        committed: Committed,
        plan: PhysicalPlan,
        parts: Sequence[Part],
        progress: Mapping[str, Progress],
        suspects: Suspects,
    ) -> list[Work]:
        """What each operator does that reads one of the streams: it takes in the rows of all its streams, and
        then advances by their joint watermark."""
        by_stream = {part.stream.name: part for part in parts}
        fresh = frozenset().union(*(part.fresh for part in parts))
        works = []
        for number in dict.fromkeys(number for part in parts for number in part.operators):
            operator = plan.operators.get(number)
            if operator is None:
                continue
            own = {p: by_stream[e.stream] for p, e in enumerate(operator.ports) if e.stream in by_stream}
            evaluated = committed.evaluated.get(number, min(part.evaluated for part in own.values()))
            until = max(evaluated, reached(self._progress(operator.streams, progress)))
            tables = {port: part.tables.get(Port(number, port), ()) for port, part in own.items()}
            works.append(Work(operator, tables, evaluated, until, fresh, suspects.apart))
        return works

    def _progress(self, streams: Iterable[str], moved: Mapping[str, Progress]) -> list[Progress]:
        """How far streams are, with those that move in this epoch."""
        return [moved.get(stream) or self._home.catalog.progress(stream) for stream in streams]

    def _sealed(self, queries: Iterable[RunningQuery], moved: Mapping[str, Progress]) -> frozenset[int]:
        """The queries to which no rows come any more: all their streams are sealed."""
        if not any(progress.sealed for progress in moved.values()):
            return frozenset()
        return frozenset(
            query.stored.id
            for query in queries
            if all(progress.sealed for progress in self._progress(query.plan.streams, moved))
        )

    def _answered(
        self, epoch: Epoch, works: Sequence[Work], parts: Sequence[Part], results: ResultWriter
    ) -> Answers:
        queries = queries_of(parts)
        kept = {number for number, query in queries.items() if query.sink is not None}
        answering = Answering(results, watched=len(queries) <= MOST_WATCHED, kept=kept)

        def take(shape: Shape, answers: pa.Table) -> None:
            self._take(shape, answers, answering)

        ran = self._executor.run(
            epoch.number, works, take, answering, lambda: any(part.stopping() for part in parts)
        )
        epoch.files += ran.files
        by_query = {number: UNANSWERED for work in works for number in work.plan.members}
        told_with = {query.stored.id: part for part in reversed(parts) for query in part.queries}
        return Answers(works, by_query | answering.by_query, told_with, ran, results)

    def _take(self, shape: Shape, answers: pa.Table, answering: Answering) -> None:
        try:
            zone = shape.plan.stream.zone
            if self._zoned.get(zone) in (None, self._spark):  # the user's own session may change its zone
                self._zoned[zone] = in_zone(self._spark, zone)
            rows = project(self._zoned[zone], shape.plan, answers)
        except Exception as error:
            raise AnswersFailed(np.unique(answers[QUERY]).tolist(), error) from error
        if shape.plan.pattern is UpdatePattern.STRICT:
            # What is taken back for a value that SELECT or HAVING do not show comes again at once.
            rows = rows.take(pa.array(left_of(rows, of_an_instant=True)))
        answering.take(shape.schema_id, rows)

    def _behind(self, part: Part, works: Iterable[Work]) -> list[Behind]:
        """The rows of a part that its stream accepts, and that lie behind what queries have been answered."""
        found = []
        for work in works:
            count = self._executor.rows_behind(work.plan, part.stream.name)
            if count:
                name, joined = work.plan.first.output.name, work.plan.first.joined
                after = BEGINNING if joined is None else joined
                found.append(Behind(name, after, work.evaluated, count))
        return found

    def _record(
        self,
        epoch: Epoch,
        committed: Committed,
        parts: Sequence[Part],
        after: PhysicalPlan,
        answers: Answers,
    ) -> None:
        """Write the states of operators and the refused rows, and note all that has changed."""
        states: list[State] = []
        horizons: dict[int, int | None] = {}
        for work in answers.works:
            number, held = work.plan.id, self._executor.state(work.plan)
            horizons[number] = held.horizon if number in after.operators else None
            if number in after.operators:
                states.append(State(number, *self._executor.at_rest(work.plan)))
                epoch.sizes.append(
                    OperatorSize(number, work.until, held.entries, held.bytes, held.groups_known)
                )
        epoch.plan = committed.change(after)
        epoch.files += self._log.write(epoch.number, states)
        alive = (self._home.catalog.operator_ids() | after.operators.keys()) - set(epoch.plan.gone)
        epoch.unneeded += self._log.unneeded(horizons, alive)
        for part in parts:
            try:
                epoch.files += part.refused(epoch.number, self._behind(part, answers.works))
            except ENGINE_ERRORS as error:
                fault, stream = failure(error), part.stream.name
                if isinstance(fault, MachineFailed):
                    raise fault from error
                raise SourceError(
                    f"the rows that stream '{stream}' refused cannot be kept: {fault}"
                ) from error
            tally, count = part.tally, sum(found.count for found in answers.of(part).values())
            epoch.streams[part.stream.name] = Advance(
                part.progress, part.batch, tally.rows, tally.late, tally.dead, count
            )

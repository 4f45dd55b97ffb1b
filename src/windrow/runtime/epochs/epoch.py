"""Epochs: staged batches or a heartbeat in, answers and state out, committed together.

1. Every query takes in its partials and answers the windows that the watermark has passed.
2. Answers, slices, late rows and dead letters are written; the home commits them in one step.
3. Sinks get the answers that are now committed.

If anything fails, nothing of the epoch exists, and the queries' states are read back from the home
before the next attempt. A query that fails twice is quarantined, and the epoch goes on without it; what
the machine made fail is tried again after a pause (`blame.py` tells the two apart).
docs/commit.md has the protocol on a page.
"""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from py4j.protocol import Py4JError

from windrow.errors import HomeError, MachineFailed, QueryFailed, SourceError
from windrow.operators.aggregate.shared_aggregate import QUERY, AnswersFailed
from windrow.operators.aggregate.window_aggregate import END_OF_TIME
from windrow.runtime.epochs.culprits import check_that_some_run
from windrow.runtime.epochs.report import EpochReport, log_epoch
from windrow.runtime.epochs.sinks import deliver
from windrow.runtime.faults import reach
from windrow.runtime.home.durable import explained
from windrow.runtime.home.records import Advance, Epoch, TreeSize
from windrow.runtime.home.results import ResultWriter
from windrow.runtime.home.slice_log import State
from windrow.runtime.logs import LOG
from windrow.runtime.spark.blame import ENGINE_ERRORS, Unclear, failure
from windrow.runtime.spark.patience import Patience
from windrow.runtime.spark.project import project
from windrow.runtime.spark.session import in_zone
from windrow.runtime.state.answering import Answered, Answering
from windrow.runtime.state.tree_state import AwayState
from windrow.runtime.state.tree_tasks import TasksFailed, TreeTasks
from windrow.runtime.state.tree_worker import NodeFailed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from windrow.runtime.epochs.stage import Part
    from windrow.runtime.home.home import Home
    from windrow.runtime.home.records import StoredQuery
    from windrow.runtime.settings import EngineSettings
    from windrow.runtime.state.tree_state import Shape
    from windrow.runtime.state.trees import RunningTree

MOST_WATCHED = 100
"""With more queries than this, reports do not carry the last answers of each."""


@dataclass
class _Ticket:
    """Parts that wait for their epoch."""

    parts: tuple[Part, ...]
    reports: list[EpochReport] = field(default_factory=list)
    done: bool = False
    error: BaseException | None = None


class _Culprit(Exception):
    """A tree that failed because of one of these queries."""

    def __init__(self, part: Part, tree: RunningTree, queries: Iterable[int], error: QueryFailed) -> None:
        super().__init__(str(error))
        self.part = part
        self.tree = tree
        self.queries = set(queries)
        self.error = error


class Epochs:
    """Runs the epochs of an engine, one at a time, whichever streams they are of."""

    def __init__(self, spark: SparkSession, home: Home, settings: EngineSettings) -> None:
        self._spark = spark
        self._home = home
        self._settings = settings
        self._waiting: list[_Ticket] = []
        self._queue = Lock()
        self._one_at_a_time = Lock()
        self._tasks = TreeTasks(spark, home)
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
        suspects: set[int] = set()
        while True:
            try:
                return self._attempt(number, parts)
            except _Culprit as culprit:
                tree, queries = culprit.tree, culprit.queries
                if queries <= suspects:
                    self._set_aside(culprit, parts)
                elif len(queries) > 1 and not queries <= tree.apart:
                    tree.apart |= queries  # to find out which of them it is
                else:
                    suspects |= queries
            except TasksFailed as failed:
                LOG.warning("trees no longer run in Spark tasks, but in the driver: %s", failed)
                self._settings.leave_trees_to_the_driver()
                for part in parts:
                    part.runner.forest.come_home()
            except (HomeError, MachineFailed, OSError, sqlite3.Error, Py4JError) as error:
                self._wait(patience, number, error)

    def _set_aside(self, culprit: _Culprit, parts: list[Part]) -> None:
        """Let the epoch do without queries that have failed twice, unless it may not be their fault."""
        found = [query.stored.name for query in culprit.tree.queries if query.stored.id in culprit.queries]
        culprit.part.failed |= dict.fromkeys(found, culprit.error)
        if isinstance(culprit.error, Unclear):
            self._check_spark()
            failed = {name: error for part in parts for name, error in part.failed.items()}
            check_that_some_run(failed, sum(len(part.queries) for part in parts) - len(failed))

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

    def _check_spark(self) -> None:
        """Before a query is blamed for what may not be its fault: does Spark work at all?"""
        try:
            self._spark.range(1).collect()
        except Exception as error:
            told = failure(error)
            raise MachineFailed(f"Spark no longer works: {told}", lasting=True) from error

    def _attempt(self, number: int, parts: list[Part]) -> list[EpochReport]:
        epoch = Epoch(number, max(part.clock for part in parts))
        results = ResultWriter(self._home.path, number)
        queries = [query for part in parts for query in part.queries]
        for query in queries:
            if query.sink is not None and query.stored.delivered is None:
                query.stored = replace(query.stored, delivered=number - 1)
        before = [[query.stored for query in part.queries] for part in parts]
        try:
            answers: dict[int, Answered] = {}
            for part in parts:
                failed = {query.stored.id for query in part.queries if query.stored.name in part.failed}
                part.runner.forest.leave(failed, part.evaluated)
                part.trees = [tree for tree in part.trees if tree.members]
                kept = {query.stored.id for query in part.queries if query.sink is not None}
                answering = Answering(results, watched=len(part.queries) <= MOST_WATCHED, kept=kept)
                for tree in part.trees:
                    if tree.node is None:
                        self._answer(part, tree, answering)
                away = [tree for tree in part.trees if tree.node is not None]
                if away:
                    self._answer_away(epoch, part, away, answering)
                answers |= {number: Answered() for tree in part.trees for number in tree.members}
                answers |= answering.by_query
            reach("queries answered")
            writing = time.perf_counter()
            after = [self._record(part, answers, epoch) for part in parts]
            epoch.files += results.close()
            epoch.seconds = time.perf_counter() - min(part.begun for part in parts)
            epoch.delivered = {
                q.stored.id: q.stored.delivered
                for q in queries
                if q.sink is not None and q.stored.delivered is not None
            }
            self._home.commit(epoch)
        except BaseException:
            # The files stay where they are: only a sweep knows which of them were committed.
            results.abandon()
            for tree in (tree for part in parts for tree in part.trees):
                tree.state = None  # half-way through the epoch: read it back before the next attempt
            raise
        committing = time.perf_counter() - writing
        reports = []
        for part, stored, begun in zip(parts, after, before, strict=True):
            part.runner.progress = part.progress
            for query, now, then in zip(part.queries, stored, begun, strict=True):
                if query.stored is then:  # else it failed, and somebody has resumed it since the commit
                    query.stored = now
            if part.progress.sealed:
                members = [number for tree in part.trees for number in tree.members]
                part.runner.forest.leave(members, part.evaluated)
            part.runner.forest.changed = False
            writing = results.seconds + max(part.writing_seconds.values(), default=0.0)
            reports.append(self._report(number, part, answers, committing, writing))
            log_epoch(reports[-1], part)
        for query in queries:
            if query.sink is not None and query.stored.id in answers:
                deliver(self._home, query, number, answers[query.stored.id].kept)
        reach("answers delivered")
        return reports

    def _answer(self, part: Part, tree: RunningTree, answering: Answering) -> None:
        """Let a tree take in its partials, and take its answers."""
        until = _until(part)
        try:
            state = tree.load(part.runner.log, part.evaluated)
            assert not isinstance(state, AwayState)
            state.push(tree.collected(part.partials))
            if until is not None:
                for shape, answers in state.advance(until):
                    self._take(shape, answers, answering)
        except AnswersFailed as failed:
            _blame(part, tree, failed.queries, failed.error)
        except Exception as error:
            _blame(part, tree, tree.members, error)

    def _take(self, shape: Shape, answers: pa.Table, answering: Answering) -> None:
        try:
            zone = shape.plan.stream.zone
            if self._zoned.get(zone) in (None, self._spark):  # the user's own session may change its zone
                self._zoned[zone] = in_zone(self._spark, zone)
            rows = project(self._zoned[zone], shape.plan, answers)
        except Exception as error:
            raise AnswersFailed(np.unique(answers[QUERY]).tolist(), error) from error
        answering.take(shape.schema_id, rows)

    def _answer_away(self, epoch: Epoch, part: Part, trees: list[RunningTree], answering: Answering) -> None:
        """The same for trees that Spark tasks hold."""
        by_number = {tree.id: tree for tree in trees}
        found = self._tasks.run(epoch.number, part, trees, _until(part), answering)
        for node, done in found.items():
            if isinstance(done, NodeFailed):
                _blame(part, by_number[done.tree], done.queries, done.error)
            answering.add(done.answered)
            epoch.files += done.files
            part.node_seconds[node], part.writing_seconds[node] = done.seconds, done.writing_seconds
            for number, shape, answers in done.unprojected:
                try:
                    self._take(shape, answers, answering)
                except AnswersFailed as failed:
                    _blame(part, by_number[number], failed.queries, failed.error)

    def _record(self, part: Part, answers: Mapping[int, Answered], epoch: Epoch) -> list[StoredQuery]:
        """Write a stream's slices and refused rows; its queries as they are after the epoch."""
        states: list[State] = []
        horizons: dict[int, int | None] = {}
        after: list[StoredQuery] = []
        forest = part.runner.forest
        for tree in part.trees:
            assert tree.state is not None
            operator = tree.state.operator
            horizons[tree.id] = None if part.progress.sealed else operator.horizon
            if not part.progress.sealed:
                states.append(_at_rest(part, tree))
        # What is sealed has no trees any more, once it is committed: an epoch that is tried again needs them.
        gone = {tree.id for tree in part.trees} if part.progress.sealed else set()
        staying = [tree for tree in forest.trees if tree.id not in gone]
        for query in part.queries:
            stored, answered = query.stored, answers.get(query.stored.id, Answered())
            error = part.failed.get(stored.name)
            if answered.count or error is not None or part.progress.sealed or not stored.started:
                latest = [end for end in (stored.latest_end, answered.latest_end) if end is not None]
                stored = replace(
                    stored,
                    started=True,
                    sealed=part.progress.sealed and error is None,
                    quarantined=None if error is None else str(error),
                    quarantined_epoch=None if error is None else epoch.number,
                    answers=stored.answers + answered.count,
                    latest_end=max(latest, default=None),
                )
                epoch.queries.append(stored)
            after.append(stored)
        log = part.runner.log
        if states:
            epoch.files.append(log.write(epoch.number, states))
        epoch.unneeded += log.unneeded(horizons, [tree.id for tree in staying])
        try:
            epoch.files += part.refused(epoch.number)
        except ENGINE_ERRORS as error:
            fault, stream = failure(error), part.runner.stream.name
            if isinstance(fault, MachineFailed):
                raise fault from error
            raise SourceError(f"the rows that stream '{stream}' refused cannot be kept: {fault}") from error
        count = sum(answers[query.id].count for query in after if query.id in answers)
        tally = part.tally
        epoch.streams[part.runner.stream.name] = Advance(
            part.progress, part.batch, tally.rows, tally.late, tally.dead, count,
            [tree.stored for tree in staying] if forest.changed or gone else None,
            [
                TreeSize(tree.id, tree.state.operator.entries, tree.state.operator.bytes)
                for tree in staying
                if tree.state is not None
            ],
        )  # fmt: skip
        return after

    @staticmethod
    def _report(
        number: int, part: Part, answers: Mapping[int, Answered], committing: float, writing: float
    ) -> EpochReport:
        answered = {
            query.stored.name: answers[query.stored.id]
            for query in part.queries
            if query.stored.id in answers
        }
        return EpochReport(
            number, part.runner.stream.name, part.batch, part.tally.rows, part.tally.late, part.tally.dead,
            part.progress.watermark, time.perf_counter() - part.begun, part.progress.idle,
            {name: found.count for name, found in answered.items()},
            {name: found.last for name, found in answered.items() if found.last is not None},
            {name: str(error) for name, error in part.failed.items()},
            committing, writing, part.node_seconds, part.runner.forest.reweaving.failures,
        )  # fmt: skip


def _until(part: Part) -> int | None:
    """Up to where windows are answered."""
    return END_OF_TIME if part.progress.sealed else part.progress.watermark


def _at_rest(part: Part, tree: RunningTree) -> State:
    """The state of a tree as it is written down, which a function of the user's may not be able to do."""
    assert tree.state is not None
    operator = tree.state.operator
    try:
        return State(tree.id, operator.closed_slices(), operator.open_slices())
    except Exception as error:
        _blame(part, tree, tree.members, error)


def _blame(part: Part, tree: RunningTree, queries: Iterable[int], error: Exception) -> NoReturn:
    """Raise whose fault it is that a tree failed: that of one of some queries, or of none of them."""
    fault = failure(error)
    if isinstance(fault, QueryFailed):
        raise _Culprit(part, tree, queries, fault) from error
    raise error  # `_wait` says what comes of it

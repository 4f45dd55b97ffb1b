"""Operators in Spark tasks: one job an epoch, a task for each node, each node in a Python process of its own.

Spark lends Python processes to tasks as they come. Processes with different environments are not mixed,
though, and every node's is marked with its number: so a node finds the states that it left there. (On a
cluster a task may still be run by another executor; the states are then read from the slice log.)

Measured: an epoch's job takes 0.1 to 0.2 s more than the work itself; the first one some seconds, in which
the processes start.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from windrow.errors import MachineFailed, QueryFailed, WindrowError
from windrow.runtime.spark.blame import ENGINE_ERRORS, failure
from windrow.runtime.spark.patience import Patience
from windrow.runtime.state.held import HeldByTask
from windrow.runtime.state.worker import NodeWork, OperatorWork, packed, work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from collections.abc import Set as AbstractSet

    import pyarrow as pa
    from pyspark import RDD, SparkContext
    from pyspark.sql import SparkSession

    from windrow.operators.aggregate.shared_aggregate import Member
    from windrow.runtime.home.home import Home
    from windrow.runtime.home.slice_log import SliceLog
    from windrow.runtime.state.answering import Answering
    from windrow.runtime.state.spec import OperatorSpec
    from windrow.runtime.state.work import Work
    from windrow.runtime.state.worker import NodeDone

NODE = "WINDROW_NODE"
"""The variable in the environment of a task's process that says which node it is."""
DESCRIPTION = "spark.job.description"
"""What Spark's pages call a job."""


class TasksFailed(WindrowError):
    """Spark could not run the tasks, or they are where the home is not."""


class TaskOperator:
    """All that the driver has of an operator that a Spark task holds."""

    def __init__(self) -> None:
        self.held = HeldByTask()
        self.label: str | None = None
        """Which state the task must have, to go on with it; None: the one in the slice log."""

    @property
    def entries(self) -> int:
        """How many partials it holds."""
        return self.held.entries

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        return self.held.bytes

    @property
    def groups_known(self) -> int:
        """How many groups it knows."""
        return self.held.groups_known

    @property
    def horizon(self) -> int:
        """Closed slices that begin before this are no longer needed."""
        return self.held.horizon

    def closes(self, until: int) -> bool:
        """Whether advancing that far could answer anything."""
        return self.held.closes(until)

    def closed_slices(self) -> Sequence[pa.Table]:
        """At rest: the slices that the last epoch closed and that a window still needs."""
        return self.held.closed

    def open_slices(self) -> pa.Table | None:
        """At rest: the slices that may still receive rows."""
        return self.held.open

    def set_members(self, members: Sequence[Member]) -> None:
        """Let queries come and go: the task is told so with its next work."""
        self.held = replace(self.held, next_end=None)


class OperatorTasks:
    """Runs the operators of an engine that are on nodes."""

    _one_at_a_time = Lock()  # the environment is one of the whole SparkContext

    def __init__(self, spark: SparkSession, home: Home, log: SliceLog) -> None:
        self._spark = spark
        self._home = home
        self._log = log
        self._owner = uuid.uuid4().hex

    def run(
        self,
        epoch: int,
        works: Sequence[tuple[Work, TaskOperator, OperatorSpec]],
        alive: AbstractSet[int],
        wanted: Answering,
        stopping: Callable[[], bool],
    ) -> dict[int, NodeDone]:
        """Let operators take in what was collected, and answer what is due: what came of it, by node."""
        label = uuid.uuid4().hex
        by_node: dict[int, list[tuple[Work, TaskOperator, OperatorSpec]]] = {}
        for each in works:
            by_node.setdefault(each[0].plan.node or 0, []).append(each)
        with self._home.reading_slices:  # a task may have to
            nodes = {
                node: self._work(epoch, of_node, alive, label, wanted)
                for node, of_node in sorted(by_node.items())
            }
            patience = Patience(f"the final aggregation of epoch {epoch}", stopping)
            try:
                done = dict(zip(nodes, patience.through(lambda: self._job(nodes)), strict=True))
            except QueryFailed as error:
                raise TasksFailed(str(error)) from error
            except MachineFailed as error:
                if error.lasting:
                    raise
                raise TasksFailed(error.problem) from error  # the driver may be better off
        for found in done.values():
            if found.failed is not None:
                continue
            lost = [file.path for file in found.files if not (self._home.path / file.path).exists()]
            if lost:
                raise TasksFailed(f"a Spark task wrote {lost[0]}, and the driver does not see it")
            for of_operator, operator, _ in works:
                if of_operator.plan.id in found.held:
                    operator.held = found.held[of_operator.plan.id]
                    operator.label = label
        return done

    def _work(
        self,
        epoch: int,
        works: Sequence[tuple[Work, TaskOperator, OperatorSpec]],
        alive: AbstractSet[int],
        label: str,
        wanted: Answering,
    ) -> NodeWork:
        tables: dict[int, tuple[int, bytes]] = {}
        of_operators = []
        for each, operator, spec in works:
            places: dict[int, list[int]] = {}
            for port, collected in each.tables.items():
                for table in collected:
                    if not len(table):
                        continue
                    if id(table) not in tables:
                        tables[id(table)] = len(tables), packed(table)
                    places.setdefault(port, []).append(tables[id(table)][0])
            number = each.plan.id
            of_operators.append(
                OperatorWork(
                    number, spec.sendable(), operator.label, self._log.slices_of(number), places,
                    each.evaluated, each.until,
                )
            )  # fmt: skip
        kept = wanted.kept & {number for each, *_ in works for number in each.plan.members}
        return NodeWork(
            self._owner, self._home.path, epoch, label, wanted.watched, kept, alive, of_operators,
            [content for _, content in tables.values()],
        )  # fmt: skip

    def _job(self, nodes: dict[int, NodeWork]) -> list[NodeDone]:
        context = self._spark.sparkContext
        number = sum(len(of_node.operators) for of_node in nodes.values())
        with self._one_at_a_time:
            try:
                tasks = [self._task(context, node, of_node) for node, of_node in nodes.items()]
            finally:
                context.environment.pop(NODE, None)
        before = context.getLocalProperty(DESCRIPTION)  # a streaming batch has one
        context.setLocalProperty(
            DESCRIPTION, f"windrow: final aggregation of {number} trees on {len(nodes)} tasks"
        )
        try:
            return context.union(tasks).collect()
        except ENGINE_ERRORS as error:
            raise failure(error) from error
        finally:
            context.setLocalProperty(DESCRIPTION, before)  # type: ignore[arg-type]  # None is nothing

    @staticmethod
    def _task(context: SparkContext, node: int, of_node: NodeWork) -> RDD[NodeDone]:
        context.environment[NODE] = str(node)
        task = context.parallelize([of_node], 1).mapPartitions(_run)
        _ = task._jrdd  # the environment is taken down now
        return task


def _run(works: Iterable[NodeWork]) -> Iterable[NodeDone]:
    return map(work, works)

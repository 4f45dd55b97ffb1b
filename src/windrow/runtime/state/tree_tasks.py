"""Trees in Spark tasks: one job an epoch, a task for each node, and each node in a Python process of its own.

Spark lends Python processes to tasks as they come. Processes with different environments are not mixed,
though, and every node's is marked with its number: so a node finds the states that it left there. (On a
cluster a task may still be run by another executor; the states are then read from the slice log.)

Measured: an epoch's job takes 0.1 to 0.2 s more than the work itself; the first one some seconds, in which
the processes start.
"""

from __future__ import annotations

import uuid
from threading import Lock
from typing import TYPE_CHECKING

from windrow.errors import MachineFailed, QueryFailed, WindrowError
from windrow.runtime.spark.blame import ENGINE_ERRORS, failure
from windrow.runtime.spark.patience import Patience
from windrow.runtime.state.tree_state import AwayState
from windrow.runtime.state.tree_worker import NodeFailed, NodeWork, TreeWork, packed, work

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark import RDD, SparkContext
    from pyspark.sql import SparkSession

    from windrow.runtime.epochs.stage import Part
    from windrow.runtime.home.home import Home
    from windrow.runtime.state.answering import Answering
    from windrow.runtime.state.tree_worker import NodeDone
    from windrow.runtime.state.trees import RunningTree

NODE = "WINDROW_NODE"
"""The variable in the environment of a task's process that says which node it is."""


DESCRIPTION = "spark.job.description"
"""What Spark's pages call a job."""


class TasksFailed(WindrowError):
    """Spark could not run the tasks, or they are where the home is not."""


class TreeTasks:
    """Runs the trees of an engine that are on nodes."""

    _one_at_a_time = Lock()  # the environment is one of the whole SparkContext

    def __init__(self, spark: SparkSession, home: Home) -> None:
        self._spark = spark
        self._home = home
        self._owner = uuid.uuid4().hex

    def run(
        self, epoch: int, part: Part, trees: Sequence[RunningTree], until: int | None, wanted: Answering
    ) -> dict[int, NodeDone | NodeFailed]:
        """Let trees take in the partials of a part, and answer what is due: what came of it, by node."""
        label = uuid.uuid4().hex
        by_node: dict[int, list[RunningTree]] = {}
        for tree in trees:
            by_node.setdefault(tree.node or 0, []).append(tree)
        with self._home.reading_slices:  # a task may have to
            works = {
                node: self._work(epoch, part, of_node, until, label, wanted)
                for node, of_node in sorted(by_node.items())
            }
            patience = Patience(f"the final aggregation of epoch {epoch}", part.stopping)
            try:
                done = dict(zip(works, patience.through(lambda: self._job(works)), strict=True))
            except QueryFailed as error:
                raise TasksFailed(str(error)) from error
            except MachineFailed as error:
                if error.lasting:
                    raise
                raise TasksFailed(error.problem) from error  # the driver may be better off
        for found in done.values():
            if isinstance(found, NodeFailed):
                continue
            lost = [file.path for file in found.files if not (self._home.path / file.path).exists()]
            if lost:
                raise TasksFailed(f"a Spark task wrote {lost[0]}, and the driver does not see it")
            for tree in trees:
                if tree.id in found.held:
                    assert isinstance(tree.state, AwayState)
                    tree.state.operator = found.held[tree.id]
                    tree.state.label = label
        return done

    def _work(
        self,
        epoch: int,
        part: Part,
        trees: list[RunningTree],
        until: int | None,
        label: str,
        wanted: Answering,
    ) -> NodeWork:
        log = part.runner.log
        tables: dict[int, tuple[int, bytes]] = {}
        works = []
        for tree in trees:
            state = tree.load(log, part.evaluated)
            assert isinstance(state, AwayState)
            if any(member.back for member in state.plan.members):
                state.plan = tree.plan  # they have been answered since
            collected = [table for table in tree.collected(part.partials) if len(table)]
            for table in collected:
                if id(table) not in tables:
                    tables[id(table)] = len(tables), packed(table)
            places = [tables[id(table)][0] for table in collected]
            works.append(TreeWork(tree.id, state.plan, state.label, log.slices_of(tree.id), places))
        kept = wanted.kept & {number for tree in trees for number in tree.members}
        return NodeWork(
            self._owner, part.runner.stream.name, self._home.path, epoch, label, part.evaluated, until,
            wanted.watched, kept, works, [content for _, content in tables.values()],
        )  # fmt: skip

    def _job(self, works: dict[int, NodeWork]) -> list[NodeDone | NodeFailed]:
        context = self._spark.sparkContext
        number = sum(len(of_node.trees) for of_node in works.values())
        with self._one_at_a_time:
            try:
                tasks = [self._task(context, node, of_node) for node, of_node in works.items()]
            finally:
                context.environment.pop(NODE, None)
        before = context.getLocalProperty(DESCRIPTION)  # a streaming batch has one
        context.setLocalProperty(
            DESCRIPTION, f"windrow: final aggregation of {number} trees on {len(works)} tasks"
        )
        try:
            return context.union(tasks).collect()
        except ENGINE_ERRORS as error:
            raise failure(error) from error
        finally:
            context.setLocalProperty(DESCRIPTION, before)  # type: ignore[arg-type]  # None is nothing

    @staticmethod
    def _task(context: SparkContext, node: int, of_node: NodeWork) -> RDD[NodeDone | NodeFailed]:
        context.environment[NODE] = str(node)
        task = context.parallelize([of_node], 1).mapPartitions(_run)
        _ = task._jrdd  # the environment is taken down now
        return task


def _run(works: Iterable[NodeWork]) -> Iterable[NodeDone | NodeFailed]:
    return map(work, works)

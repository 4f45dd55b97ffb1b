"""The final aggregation of some operators in a Spark task: what the Python process of the task does.

A task gets the partials of an epoch, answers, writes the result files, and gives back what closed and what
is open, which the driver commits. It keeps the states, but only to save time: each has a label, and a task
that does not hold the one that the driver names, because the process is new or an epoch was not committed,
reads it back from the slice log.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.ipc

from windrow.errors import HomeError
from windrow.operators.aggregate.shared_aggregate import AnswersFailed, SharedAggregate
from windrow.runtime.home.results import ResultWriter
from windrow.runtime.home.slice_log import read_slices
from windrow.runtime.spark.blame import failure
from windrow.runtime.spark.project import renamed
from windrow.runtime.state.answering import Answered, Answering
from windrow.runtime.state.held import HeldByTask

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from windrow.runtime.home.records import DataFile
    from windrow.runtime.home.slice_log import Segment
    from windrow.runtime.state.spec import OperatorSpec, Shape


@dataclass(frozen=True)
class OperatorWork:
    """What an operator does in an epoch."""

    id: int
    spec: OperatorSpec
    label: str | None
    """Which state to go on with; None: the one in the slice log."""
    slices: Sequence[tuple[Path, Segment]]
    """Where that is."""
    tables: Mapping[int, Sequence[int]]
    """What was collected for it, by port: places in the node's tables."""
    evaluated: int
    until: int


@dataclass(frozen=True)
class NodeWork:
    """What the operators of a node do in an epoch."""

    owner: str
    """Whose states it holds: an engine's, no other's."""
    home: Path
    epoch: int
    label: str
    """That of the states after this attempt."""
    watched: bool
    kept: AbstractSet[int]
    """Queries whose answers are given back, too: a sink wants them."""
    alive: AbstractSet[int]
    """The operators of the engine; the states of others are let go."""
    operators: Sequence[OperatorWork]
    tables: Sequence[bytes]


@dataclass(frozen=True)
class NodeFailed:
    """An operator failed, because of one of some queries."""

    operator: int
    queries: Sequence[int]
    error: Exception


@dataclass
class NodeDone:
    """What came of the work of a node."""

    held: dict[int, HeldByTask] = field(default_factory=dict)
    """By operator."""
    answered: dict[int, Answered] = field(default_factory=dict)
    """By query."""
    unprojected: list[tuple[int, Shape, pa.Table]] = field(default_factory=list)
    """Answers that Spark must still compute the SELECT list of, and their operators."""
    files: list[DataFile] = field(default_factory=list)
    read_back: int = 0
    """How many states had to be read from the slice log."""
    seconds: float = 0.0
    writing_seconds: float = 0.0
    failed: NodeFailed | None = None
    """Why nothing came of it."""


_STATES: dict[str, dict[int, tuple[str, OperatorSpec, SharedAggregate]]] = {}
"""By engine: of each operator the label of its state, what it was made for, and the state."""


def work(node: NodeWork) -> NodeDone:
    """Take in what was collected and answer what is due."""
    if not (node.home / "catalog.db").exists():
        raise HomeError(f"there is no home at {node.home} on the machine of a Spark task")
    begun = perf_counter()
    done = NodeDone()
    results = ResultWriter(node.home, node.epoch)
    answering = Answering(results, watched=node.watched, kept=node.kept)
    tables = [pa.ipc.open_stream(table).read_all() for table in node.tables]
    states = _states_of(node)
    try:
        for each in node.operators:
            try:
                operator = _operator(each, states, done)
                for port, places in each.tables.items():
                    operator.push([tables[place] for place in places], port)
                _answer(operator, each, answering, done)
            except AnswersFailed as failed:
                return NodeDone(failed=NodeFailed(each.id, failed.queries, _sendable(failure(failed.error))))
            except Exception as error:
                members = [member.query for member in each.spec.members]
                return NodeDone(failed=NodeFailed(each.id, members, _sendable(failure(error))))
            states[each.id] = node.label, each.spec, operator
            done.held[each.id] = HeldByTask.of(operator)
        done.files = results.close()
    finally:
        results.abandon()
    done.answered, done.writing_seconds = answering.by_query, results.seconds
    done.seconds = perf_counter() - begun
    return done


def _operator(
    each: OperatorWork, states: dict[int, tuple[str, OperatorSpec, SharedAggregate]], done: NodeDone
) -> SharedAggregate:
    """The operator with the state that the driver names: the one here, or the one in the slice log."""
    label, spec, operator = states.pop(each.id, (None, None, None))
    if operator is None or label != each.label:
        assert each.spec.groups is not None, "only operators that are shared are held by tasks"
        operator = SharedAggregate(each.spec.groups, each.spec.members)
        operator.restore(*read_slices(each.slices), each.evaluated)
        done.read_back += 1
    elif spec != each.spec:
        operator.set_members(each.spec.members)
    return operator


def _answer(operator: SharedAggregate, each: OperatorWork, answering: Answering, done: NodeDone) -> None:
    for number, answers in operator.advance(each.until):
        shape = each.spec.shapes[number]
        if shape.plan.needs_projection:
            done.unprojected.append((each.id, shape, answers))
        else:
            answering.take(shape.schema_id, renamed(shape.plan, answers))


def packed(table: pa.Table) -> bytes:
    """A table on its way to a task."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _states_of(node: NodeWork) -> dict[int, tuple[str, OperatorSpec, SharedAggregate]]:
    """The states held for an engine; those of other engines, and of operators that have gone, are let go."""
    for owner in _STATES.keys() - {node.owner}:
        del _STATES[owner]
    states = _STATES.setdefault(node.owner, {})
    for gone in states.keys() - node.alive:
        del states[gone]
    return states


def _sendable(error: Exception) -> Exception:
    """An error that can be given back to the driver."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error

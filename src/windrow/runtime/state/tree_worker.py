"""The final aggregation of some trees in a Spark task: what the Python process of the task does.

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
from windrow.operators.aggregate.shared_aggregate import AnswersFailed
from windrow.runtime.home.results import ResultWriter
from windrow.runtime.home.slice_log import read_slices
from windrow.runtime.spark.blame import failure
from windrow.runtime.spark.project import renamed
from windrow.runtime.state.answering import Answered, Answering
from windrow.runtime.state.tree_state import Held, SharedState

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from windrow.runtime.home.records import DataFile
    from windrow.runtime.home.slice_log import Segment
    from windrow.runtime.state.tree_state import Shape, TreePlan


@dataclass(frozen=True)
class TreeWork:
    """What a tree does in an epoch."""

    id: int
    plan: TreePlan
    label: str | None
    """Which state to go on with; None: the one in the slice log."""
    slices: Sequence[tuple[Path, Segment]]
    """Where that is."""
    tables: Sequence[int]
    """What was collected for it: places in the node's tables."""


@dataclass(frozen=True)
class NodeWork:
    """What the trees of a node do in an epoch."""

    owner: str
    """Whose states it holds: an engine's, no other's."""
    stream: str
    home: Path
    epoch: int
    label: str
    """That of the states after this attempt."""
    evaluated: int
    until: int | None
    watched: bool
    kept: AbstractSet[int]
    """Queries whose answers are given back, too: a sink wants them."""
    trees: Sequence[TreeWork]
    tables: Sequence[bytes]


@dataclass
class NodeDone:
    """What came of it."""

    held: dict[int, Held] = field(default_factory=dict)
    """By tree."""
    answered: dict[int, Answered] = field(default_factory=dict)
    """By query."""
    unprojected: list[tuple[int, Shape, pa.Table]] = field(default_factory=list)
    """Answers that Spark must still compute the SELECT list of, and their trees."""
    files: list[DataFile] = field(default_factory=list)
    read_back: int = 0
    """How many states had to be read from the slice log."""
    seconds: float = 0.0
    writing_seconds: float = 0.0


@dataclass(frozen=True)
class NodeFailed:
    """A tree failed, because of one of these queries."""

    tree: int
    queries: Sequence[int]
    error: Exception


_STATES: dict[tuple[str, str], dict[int, tuple[str, SharedState]]] = {}
"""By engine and stream: the label and state of each tree."""


def work(node: NodeWork) -> NodeDone | NodeFailed:
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
        for tree in node.trees:
            label, state = states.pop(tree.id, (None, None))
            try:
                if state is None or label != tree.label:
                    state = _read_back(tree, node.evaluated)
                    done.read_back += 1
                elif tree.plan != state.plan:
                    state.set_plan(tree.plan)
                _advance(state, [tables[place] for place in tree.tables], tree.id, node, answering, done)
            except AnswersFailed as failed:
                return NodeFailed(tree.id, failed.queries, _sendable(failure(failed.error)))
            except Exception as error:
                members = [member.query for member in tree.plan.members]
                return NodeFailed(tree.id, members, _sendable(failure(error)))
            states[tree.id] = node.label, state
            done.held[tree.id] = Held.of(state.operator)
        done.files = results.close()
    finally:
        results.abandon()
    done.answered, done.writing_seconds = answering.by_query, results.seconds
    done.seconds = perf_counter() - begun
    return done


def packed(table: pa.Table) -> bytes:
    """A table on its way to a task."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _states_of(node: NodeWork) -> dict[int, tuple[str, SharedState]]:
    """The states held for a stream; those of other engines and of trees that have gone are let go."""
    for key in [key for key in _STATES if key[0] != node.owner]:
        del _STATES[key]
    states = _STATES.setdefault((node.owner, node.stream), {})
    for gone in states.keys() - {tree.id for tree in node.trees}:
        del states[gone]
    return states


def _read_back(tree: TreeWork, evaluated: int) -> SharedState:
    state = SharedState(tree.plan)
    state.operator.restore(*read_slices(tree.slices), evaluated)
    return state


def _advance(
    state: SharedState,
    tables: list[pa.Table],
    tree: int,
    node: NodeWork,
    answering: Answering,
    done: NodeDone,
) -> None:
    state.push(tables)
    if node.until is None:
        return
    for shape, answers in state.advance(node.until):
        if shape.plan.needs_projection:
            done.unprojected.append((tree, shape, answers))
        else:
            answering.take(shape.schema_id, renamed(shape.plan, answers))


def _sendable(error: Exception) -> Exception:
    """An error that can be given back to the driver."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error

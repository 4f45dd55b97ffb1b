"""Failures where a test wants them: at the steps of the commit protocol, and where an engine asks Spark.

with at_steps(once("transaction open", full_disk)):
    engine.run()                                # full_disk() is called in the middle of the first commit

with disturbed(PASS, lambda number, call, *_: call() if number > 1 else fail()) as calls:
    engine.run()                                # the first pass over a batch fails
assert calls.count == 2
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windrow.api import registry, streams
from windrow.errors import QueryFailed
from windrow.runtime import faults
from windrow.runtime.epochs import collecting, epoch, stage
from windrow.runtime.epochs.reader import Reader
from windrow.runtime.home.requests import Requests
from windrow.runtime.spark import refused_tables
from windrow.runtime.spark.analysis import SparkAnalyst
from windrow.runtime.state.executor import Executor
from windrow.runtime.state.tasks import OperatorTasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STEPS = faults.STEPS
"""The steps of the protocol, by name, in their order."""
BEFORE_COMMIT = (
    "batch staged", "queries answered", "files written", "files forced to disk", "transaction open",
)  # fmt: skip
IN_AN_EPOCH = BEFORE_COMMIT[1:]
"""Steps that an epoch is tried again from; a batch is staged before it."""
COMPACTION = ("compaction written", "compaction committed", "compacted files removed")


@contextmanager
def at_steps(act: Callable[[str], object]) -> Iterator[None]:
    """Call `act(step)` whenever an engine of this process reaches a step, in the thread that does; what it
    raises is raised there."""
    before = faults.on_step
    faults.on_step = act  # type: ignore[assignment]  # what it returns does not matter
    try:
        yield
    finally:
        faults.on_step = before


def once(step: str, act: Callable[[], object]) -> Callable[[str], None]:
    """For `at_steps`: call `act()` the first time that a step is reached."""
    reached: list[str] = []

    def acting(now: str) -> None:
        if now == step and not reached:
            reached.append(now)
            act()

    return acting


@dataclass(frozen=True)
class Place:
    """A function of the engine that can be disturbed."""

    owner: Any
    name: str


BINDING = Place(registry, "bind")
"""A statement is bound: (query, relations, …)."""
ANALYSIS = Place(SparkAnalyst, "_ask")
"""Spark is asked what a statement gives: (analyst, statement, relations)."""
STAGING = Place(stage.Staging, "staged")
"""A batch that Spark hands out is about to be staged: (staging, frame, number, …)."""
PASS = Place(collecting, "collect")
"""Spark runs a shared pass over a batch: (pass, frame, bounds, tables)."""
TABLE = Place(collecting, "read_table")
"""Spark reads a joined table, to see whether it can be read."""
TALLY = Place(collecting, "tally_batch")
"""Spark counts the rows of a batch, in a job of its own: (stream, frame, bounds)."""
TIDYING = Place(stage, "tidy")
"""Spark's own record of a stream loses what nobody needs."""
READING_BACK = Place(Executor, "_read_back")
"""The state of an operator is read back from the home: (executor, operator, what it must know, watermark)."""
TASKS = Place(OperatorTasks, "_job")
"""Spark tasks take in partials and answer, for the trees that they hold: (tasks, work by node)."""
ANSWERS = Place(epoch.Epochs, "_take")
"""Answers of a shape become rows: (epochs, shape, answers, …)."""
SELECT_LIST = Place(epoch, "project")
"""Spark computes the SELECT list and HAVING over answers."""
REFUSED_ROWS = Place(refused_tables, "_write")
"""Late rows or dead letters are written."""
ACCEPTING = Place(Requests, "accept")
"""A request of another process is noted as done, in the transaction that does it."""
MAKING_A_STAGE = Place(streams, "Staging")
"""What stages the batches of a stream is made: (home, stream, …)."""
READER_START = Place(Reader, "start")
"""Spark begins to read a stream: (reader)."""
COMING_TO_REST = Place(stage.Staging, "rest")
"""Somebody waits until nothing of a stream is under way any more: (staging)."""


class Calls:
    """How often a place has been reached."""

    def __init__(self) -> None:
        self.count = 0


@contextmanager
def disturbed(place: Place, how: Callable[..., Any]) -> Iterator[Calls]:
    """Let every engine of this process do as `how(number, call, *arguments)` says at a place.

    Calls are numbered from one; `call()` does what would have been done, with the arguments.
    """
    before = vars(place.owner)[place.name]  # which may be a static method, and is put back as one
    real, calls = getattr(place.owner, place.name), Calls()

    def called(*arguments: Any, **named: Any) -> Any:
        calls.count += 1
        return how(calls.count, lambda: real(*arguments, **named), *arguments)

    setattr(place.owner, place.name, called)
    try:
        yield calls
    finally:
        setattr(place.owner, place.name, before)


@contextmanager
def answers_failing(column: str, since: int, times: int = 2) -> Iterator[None]:
    """The answers of queries whose first column has this name cannot be made, so many times, from an epoch on."""
    failures: list[int] = []

    def fail(_: int, call: Callable[[], Any], epochs: Any, shape: Any, answers: Any, *__: Any) -> Any:
        number = epochs._home.catalog.last_epoch() + 1
        if shape.plan.outputs[0].name == column and number >= since and len(failures) < times:
            failures.append(number)
            raise epoch.AnswersFailed(sorted(set(answers["_query"].to_pylist())), QueryFailed("it cannot be"))
        return call()

    with disturbed(ANSWERS, fail):
        yield

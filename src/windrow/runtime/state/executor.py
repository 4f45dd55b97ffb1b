"""Executes the operators of a plan: holds their states, in the driver or in Spark tasks, and runs epochs.

A state is a copy of what the slice log has. It may change in place while an epoch runs; if the epoch fails,
it is dropped, and read back before the next one. Whoever asks an operator something, asks here, and does not
see where its state is.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from threading import RLock, Thread
from typing import TYPE_CHECKING

from windrow.errors import WindrowError
from windrow.operators.aggregate.shared_aggregate import AnswersFailed, SharedAggregate
from windrow.operators.relational.base import MOST_PAIRS, Around
from windrow.operators.relational.tree import RelationalTree
from windrow.runtime.spark.evaluating import SparkEvaluator
from windrow.runtime.state.held import HeldByTask
from windrow.runtime.state.spec import OperatorSpec
from windrow.runtime.state.tasks import OperatorTasks, TaskOperator
from windrow.runtime.state.work import NOBODY, OperatorFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from windrow.operators.base import HeldState, Operator
    from windrow.planner.plan import OperatorPlan
    from windrow.runtime.home.home import Home
    from windrow.runtime.home.records import DataFile
    from windrow.runtime.home.slice_log import SliceLog
    from windrow.runtime.state.answering import Answering
    from windrow.runtime.state.spec import Shape
    from windrow.runtime.state.work import Work


@dataclass
class Ran:
    """What the operators that Spark tasks hold did in an epoch."""

    files: list[DataFile] = field(default_factory=list)
    seconds: dict[int, float] = field(default_factory=dict)
    """How long each task took, by node."""
    writing_seconds: dict[int, float] = field(default_factory=dict)
    """How much of that was writing answers, by node."""


@dataclass
class _State:
    """An operator that is held, and what it was made for."""

    plan: OperatorPlan
    spec: OperatorSpec
    operator: Operator | TaskOperator
    apart: AbstractSet[int]


class Executor:
    """Holds the states of an engine's operators, by their numbers."""

    def __init__(self, spark: SparkSession, home: Home, log: SliceLog, most_pairs: int = MOST_PAIRS) -> None:
        """`most_pairs`: so many rows may a row of a join meet."""
        self._spark = spark
        self._most_pairs = most_pairs
        self._log = log
        self._states: dict[int, _State] = {}
        self._tasks = OperatorTasks(spark, home, log)
        self._locks: dict[int, RLock] = {}
        """By operator: its state is read once, by the epoch that needs it or while Spark is getting ready."""
        self._preloading: list[Thread] = []

    def run(
        self,
        epoch: int,
        works: Sequence[Work],
        take: Callable[[Shape, pa.Table], None],
        answering: Answering,
        stopping: Callable[[], bool],
    ) -> Ran:
        """Let operators take in what was collected and answer what is due.

        `take` is given answers that are made in the driver, shape by shape; tasks write theirs themselves,
        as `answering` says. Raises OperatorFailed if one fails because of a query.
        """
        ran = Ran()
        away: list[tuple[Work, TaskOperator, OperatorSpec]] = []
        for work in works:
            try:
                state = self._state(work.plan, work.evaluated, work.fresh, work.apart)
                # An operator that a task holds cannot answer here: its work goes to the task, with that of
                # all others, and so takes another way than `push` and `advance`.
                if isinstance(state.operator, TaskOperator):
                    away.append((work, state.operator, state.spec))
                    state.spec = state.spec.answered()  # if not, the epoch fails, and the state is dropped
                else:
                    _answer(work, state.operator, state.spec, take)
            except OperatorFailed:
                raise
            except Exception as error:
                raise OperatorFailed(work.plan.id, work.plan.members, error) from error
        if away:
            done = self._tasks.run(epoch, away, frozenset(list(self._states)), answering, stopping)
            for node, found in sorted(done.items()):
                if found.failed is not None:
                    raise OperatorFailed(found.failed.operator, found.failed.queries, found.failed.error)
                answering.add(found.answered)
                ran.files += found.files
                ran.seconds[node], ran.writing_seconds[node] = found.seconds, found.writing_seconds
                for number, shape, answers in found.unprojected:
                    _take(number, shape, answers, take)
        return ran

    def state(self, plan: OperatorPlan) -> HeldState:
        """What an operator says of its state after an epoch that it was in."""
        return self._states[plan.id].operator

    def waiting_rows(self, operators: Iterable[OperatorPlan], stream: str) -> int:
        """How many rows of a stream wait in operators for other streams: the most of any port."""
        return max(
            (tree.waiting_rows(port) for plan in operators for tree, port in self._tree_ports(plan, stream)),
            default=0,
        )

    def rows_behind(self, plan: OperatorPlan, stream: str) -> int:
        """How many rows of a stream an operator has been given in this epoch that lie behind what it has
        answered."""
        return max((tree.behind[port] for tree, port in self._tree_ports(plan, stream)), default=0)

    def _tree_ports(self, plan: OperatorPlan, stream: str) -> Iterator[tuple[RelationalTree, int]]:
        """The ports of an operator that read a stream, if it is a tree that has a state."""
        held = self._states.get(plan.id)
        if held is not None and isinstance(held.operator, RelationalTree):
            for number, edge in enumerate(plan.ports):
                if edge.stream == stream:
                    yield held.operator, number

    def at_rest(self, plan: OperatorPlan) -> tuple[Sequence[pa.Table], pa.Table | None]:
        """What the last epoch has closed of an operator's state, and what is open: as it is written down,
        which a function of the user's may not be able to do."""
        operator = self.state(plan)
        try:
            return operator.closed_slices(), operator.open_slices()
        except Exception as error:
            raise OperatorFailed(plan.id, plan.members, error) from error

    def closes(self, plan: OperatorPlan, evaluated: int, until: int) -> bool:
        """Whether advancing an operator that far could answer anything: by what is committed, whoever holds
        its state."""
        with self._lock(plan.id):
            operator = self._state(plan, evaluated, NOBODY, NOBODY).operator
            # Only a task may have left open when it answers next: what is committed says so then.
            if isinstance(operator, TaskOperator) and operator.held.next_end is None:
                read = self._read_back(plan, OperatorSpec.of(plan, NOBODY, NOBODY), evaluated)
                assert isinstance(read, SharedAggregate)  # no other kind is ever on a node
                operator.held = HeldByTask.of(read)
            return operator.closes(until)

    def preload(self, operators: Sequence[OperatorPlan], evaluated: Callable[[OperatorPlan], int]) -> None:
        """Read states back while Spark is still getting ready for the first batch."""

        def load() -> None:
            with suppress(WindrowError, OSError):  # the epoch that needs it will say so
                for plan in operators:
                    with self._lock(plan.id):
                        if plan.id not in self._states:  # else an epoch has it, perhaps by a newer plan
                            self._state(plan, evaluated(plan), NOBODY, NOBODY)

        thread = Thread(target=load, name="windrow preload", daemon=True)
        self._preloading = [*(other for other in self._preloading if other.is_alive()), thread]
        thread.start()

    def rest(self) -> None:
        """Return when no state is being read."""
        for thread in self._preloading:
            thread.join()

    def drop(self, operators: Iterable[int]) -> None:
        """Forget states that an epoch has left half-way: they are read back before the next attempt."""
        for number in operators:
            with self._lock(number):
                self._states.pop(number, None)

    def keep_only(self, operators: AbstractSet[int]) -> None:
        """Forget the states of operators that are no more."""
        for number in list(self._states):  # others may be read meanwhile
            if number not in operators:
                self._states.pop(number, None)
                self._locks.pop(number, None)

    def _lock(self, number: int) -> RLock:
        return self._locks.setdefault(number, RLock())

    def _state(
        self, plan: OperatorPlan, evaluated: int, fresh: AbstractSet[int], apart: AbstractSet[int]
    ) -> _State:
        """The state of an operator as the plan has it, read back from the slice log if need be."""
        with self._lock(plan.id):
            held = self._states.get(plan.id)
            if held is not None and not _goes_on(held.plan, plan):
                held = None
            if held is None:
                spec = OperatorSpec.of(plan, fresh, apart)
                operator: Operator | TaskOperator
                operator = self._read_back(plan, spec, evaluated) if plan.node is None else TaskOperator()
                held = self._states[plan.id] = _State(plan, spec, operator, apart)
            elif held.plan.members is not plan.members or held.apart != apart:
                spec = OperatorSpec.of(plan, fresh, apart)
                if spec.groups is None and spec.complete_after != held.spec.complete_after:
                    held.operator = self._read_back(plan, spec, evaluated)
                held.spec = spec
                held.operator.set_members(spec.members)
            held.plan, held.apart = plan, apart
            return held

    def _read_back(self, plan: OperatorPlan, spec: OperatorSpec, evaluated: int) -> Operator:
        zone = plan.first.output.of.stream.zone
        around = Around(SparkEvaluator(self._spark, zone), self._most_pairs)
        operator = spec.made(plan.first.query, around)
        operator.restore(*self._log.read(plan.id), evaluated)
        return operator


def _goes_on(held: OperatorPlan, plan: OperatorPlan) -> bool:
    """Whether a state that was made for a plan of an operator can go on with another plan of it."""
    if (held.shared, held.node) != (plan.shared, plan.node):
        return False
    if held.members is plan.members:
        return True
    # A query that was bound again may mean something else by the same names.
    return all(
        member.output.of is plan.members[number].output.of
        for number, member in held.members.items()
        if number in plan.members
    )


def _answer(
    work: Work, operator: Operator, spec: OperatorSpec, take: Callable[[Shape, pa.Table], None]
) -> None:
    """Let an operator of the driver's take in what was collected, and give its answers."""
    number = work.plan.id
    for port, tables in work.tables.items():
        operator.push(tables, port)
    try:
        for shape, answers in operator.advance(work.until):
            _take(number, spec.shapes[shape], answers, take)
    except AnswersFailed as failed:
        raise OperatorFailed(number, failed.queries, failed.error) from failed.error


def _take(number: int, shape: Shape, answers: pa.Table, take: Callable[[Shape, pa.Table], None]) -> None:
    try:
        take(shape, answers)
    except AnswersFailed as failed:
        raise OperatorFailed(number, failed.queries, failed.error) from failed.error

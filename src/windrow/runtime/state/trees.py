"""The trees of a stream: which queries share their slices, and where the state of each tree is.

A query alone has the operator that suits it; queries of one class share a `SharedAggregate`. Trees have
numbers, by which the slice log keeps their slices, and the catalog remembers who is in which. What is
arranged here takes effect, and is remembered, with the epoch that commits it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import RLock
from typing import TYPE_CHECKING

from windrow.operators.aggregate.window_aggregate import BEGINNING, END_OF_TIME, WindowAggregate
from windrow.planner import window_operator
from windrow.runtime.home.records import StoredMember, StoredTree
from windrow.runtime.state.tree_state import AloneState, AwayState, Held, SharedState, TreePlan
from windrow.slicing import RowWindow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    from windrow.final import Costs
    from windrow.logical import AggregateQuery
    from windrow.runtime.home.records import StoredQuery
    from windrow.runtime.home.slice_log import SliceLog
    from windrow.slicing import Window


@dataclass
class RunningQuery:
    """A query with its plan, and where its answers also go."""

    stored: StoredQuery
    plan: AggregateQuery
    sink: Callable[[int, pa.Table], None] | None = None
    behind: bool = True
    """Whether the sink may have missed answers: it has just come, or it has failed."""
    sink_error: BaseException | None = None
    """Why the sink failed."""


@dataclass(frozen=True)
class Membership:
    """A query in a tree."""

    query: RunningQuery
    joined: int | None = None
    """The latest event time when it came: later rows are cut and lifted for it. None: all are."""
    after: int = BEGINNING
    until: int = END_OF_TIME
    """The tree answers its evaluations behind the one, up to the other."""

    @property
    def window(self) -> Window:
        """Its window, which in a shared tree is of time."""
        assert not isinstance(self.query.plan.window, RowWindow)
        return self.query.plan.window


@dataclass
class RunningTree:
    """Queries that share their slices, and the state, once it has been read."""

    id: int
    members: dict[int, Membership]
    """By the number of the query."""
    shared: bool = False
    """Whether it has, or had, several queries."""
    node: int | None = None
    """Which of the Spark tasks has its state; None: the driver."""
    state: AloneState | SharedState | AwayState | None = None
    costs: Costs | None = None
    """What algorithms cost, by which a query that is alone gets its own; None: as shipped."""
    apart: set[int] = field(default_factory=set)
    """Queries that are answered one by one, because one of them is suspected to fail."""
    _loading: RLock = field(default_factory=RLock, repr=False)

    @property
    def windows(self) -> set[Window]:
        """The windows of the queries that stay in it."""
        return {member.window for member in self.members.values() if member.until == END_OF_TIME}

    @property
    def any_query(self) -> RunningQuery:
        """One of the queries: all have the same rows and groups."""
        return next(iter(self.members.values())).query

    @property
    def queries(self) -> list[RunningQuery]:
        """The queries in it."""
        return [member.query for member in self.members.values()]

    @property
    def stored(self) -> StoredTree:
        """Who is in the tree, as the catalog remembers it."""
        members = [
            StoredMember(number, member.joined, member.after, member.until)
            for number, member in self.members.items()
        ]
        return StoredTree(self.id, self.shared, self.node, members)

    @property
    def plan(self) -> TreePlan:
        """The queries in it, as its state sees them."""
        return TreePlan.of(self.members.values(), self.apart)

    def collected(self, partials: Mapping[str, list[pa.Table]]) -> list[pa.Table]:
        """What was collected for its queries, of what there is by their names: mostly one table for all."""
        tables = (table for query in self.queries for table in partials.get(query.stored.name, ()))
        return list({id(table): table for table in tables}.values())

    def settle(self, node: int | None) -> None:
        """Let the state be held by a Spark task from now on, or by the driver (None)."""
        with self._loading:
            if node != self.node:
                self.node = node
                self.state = None
                self.shared |= node is not None

    def load(self, log: SliceLog, evaluated: int) -> AloneState | SharedState | AwayState:
        """The state, read back from the slice log if it is not in memory, unless a task is to have it.

        `evaluated`: up to where the stream's windows have been answered.
        """
        with self._loading:
            if self.state is None and self.node is not None:
                self.state = AwayState(self.plan)
            if self.state is None:
                if self.shared:
                    self.state = self._read_back(log, evaluated)
                else:
                    closed, opened = log.read(self.id)
                    (query,) = self.queries
                    operator = window_operator(query.plan, self.costs)
                    operator.restore(closed, opened, evaluated, query.stored.complete_after)
                    self.state = AloneState(query, operator)
            return self.state

    def _read_back(self, log: SliceLog, evaluated: int) -> SharedState:
        state = SharedState(self.plan)
        state.operator.restore(*log.read(self.id), evaluated)
        return state

    def closes(self, log: SliceLog, evaluated: int, until: int) -> bool:
        """Whether advancing that far could answer anything: by what is committed, whoever holds the state."""
        state = self.load(log, evaluated)
        if isinstance(state, AwayState) and state.operator.next_end is None:
            state.operator = Held.of(self._read_back(log, evaluated).operator)
        return state.operator.closes(until)

    def rearrange(self, members: dict[int, Membership], evaluated: int) -> None:
        """Let queries come and go."""
        with self._loading:
            self._rearrange(members, evaluated)

    def _rearrange(self, members: dict[int, Membership], evaluated: int) -> None:
        self.members = members
        leaving = any(member.until < END_OF_TIME for member in members.values())
        becomes_shared = (len(members) > 1 or leaving) and not self.shared
        self.shared |= becomes_shared
        if self.state is None or not members:
            return
        if isinstance(self.state, SharedState | AwayState):
            self.state.set_plan(self.plan)
        elif becomes_shared:
            held = self.state.operator
            assert isinstance(held, WindowAggregate)
            self.state = SharedState(self.plan)
            self.state.operator.restore([held.held_slices()], held.open_slices(), evaluated)

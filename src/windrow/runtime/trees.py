"""The trees of a stream: which queries share their slices, and the state of each tree.

A query alone has the operator that suits it; queries of one class share a `SharedAggregate`. Trees have
numbers, by which the slice log keeps their slices, and the catalog remembers who is in which. What is
arranged here takes effect, and is remembered, with the epoch that commits it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import RLock
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.operators.shared_aggregate import QUERY, Groups, Member, SharedAggregate
from windrow.operators.window_aggregate import BEGINNING, END_OF_TIME, WindowAggregate
from windrow.optimizer import window_operator
from windrow.slicing import RowWindow

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

    from windrow.logical import AggregateQuery
    from windrow.operators.base import WindowOperator
    from windrow.runtime.catalog import StoredQuery
    from windrow.runtime.slice_log import SliceLog
    from windrow.slicing import Window


@dataclass
class RunningQuery:
    """A query with its plan, and where its answers also go."""

    stored: StoredQuery
    plan: AggregateQuery
    sink: Callable[[int, pa.Table], None] | None = None
    sink_error: Exception | None = None
    """Why the sink is behind."""


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
    state: AloneState | SharedState | None = None
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

    def load(self, log: SliceLog, evaluated: int) -> AloneState | SharedState:
        """The state, read back from the slice log if it is not in memory.

        `evaluated`: up to where the stream's windows have been answered.
        """
        with self._loading:
            if self.state is None:
                closed, opened = log.read(self.id)
                if self.shared:
                    state = SharedState(self.members.values(), self.apart)
                    state.operator.restore(closed, opened, evaluated)
                    self.state = state
                else:
                    (query,) = self.queries
                    operator = window_operator(query.plan, log.costs)
                    operator.restore(closed, opened, evaluated, query.stored.complete_after)
                    self.state = AloneState(query, operator)
            return self.state

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
        if isinstance(self.state, SharedState):
            self.state.set_members(members.values())
        elif becomes_shared:
            held = self.state.operator
            assert isinstance(held, WindowAggregate)
            self.state = SharedState(members.values(), self.apart)
            self.state.operator.restore([held.held_slices()], held.open_slices(), evaluated)


class AloneState:
    """The state of a tree of one query."""

    def __init__(self, query: RunningQuery, operator: WindowOperator) -> None:
        self.query = query
        self.operator = operator

    def push(self, tables: Mapping[str, list[pa.Table]]) -> None:
        """Take in what was collected for the query, by its name."""
        for table in tables.get(self.query.stored.name, ()):
            if len(table):
                self.operator.push(table)

    def advance(self, until: int) -> Iterator[tuple[AggregateQuery, pa.Table]]:
        """Answers, with the plan that they are of and the number of the query in `_query`."""
        for table in self.operator.advance(until):
            number = np.full(len(table), self.query.stored.id, np.int32)
            yield self.query.plan, table.append_column(QUERY, pa.array(number))


class SharedState:
    """The state of a tree of several queries."""

    def __init__(self, members: Iterable[Membership], apart: set[int]) -> None:
        members = list(members)
        plan = members[0].query.plan
        self._apart = apart
        self._shapes: dict[Hashable, int] = {}
        self._plans: list[AggregateQuery] = []
        groups = Groups(plan.keys, plan.key_types, plan.stream.time_type)
        self.operator = SharedAggregate(groups, self._members(members))

    def set_members(self, members: Iterable[Membership]) -> None:
        """Let queries come and go."""
        self.operator.set_members(self._members(members))

    def _members(self, members: Iterable[Membership]) -> list[Member]:
        """Members as the operator wants them; those with equal results are answered together."""
        members = list(members)
        self._names = [member.query.stored.name for member in members]
        return [
            Member(
                member.query.stored.id,
                member.window,
                member.query.plan.aggregates,
                member.after,
                member.until,
                not member.query.stored.started,
                self._shape(member.query),
            )
            for member in members
        ]

    def _shape(self, query: RunningQuery) -> int:
        plan, number = query.plan, query.stored.id
        alike = (plan.aggregates, plan.outputs, plan.having, number if number in self._apart else None)
        if alike not in self._shapes:
            self._shapes[alike] = len(self._plans)
            self._plans.append(plan)
        return self._shapes[alike]

    def push(self, tables: Mapping[str, list[pa.Table]]) -> None:
        """Take in what was collected for the queries, by their names: mostly one table for all of them."""
        distinct = {id(table): table for name in self._names for table in tables.get(name, ())}
        self.operator.push(list(distinct.values()))

    def advance(self, until: int) -> Iterator[tuple[AggregateQuery, pa.Table]]:
        """Answers, with a plan that they are of and the number of the query in `_query`."""
        for shape, table in self.operator.advance(until):
            yield self._plans[shape], table

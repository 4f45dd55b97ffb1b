"""The state of a tree: of one query, of several, or held by a Spark task.

What a state must know of its queries is in a `TreePlan`, which is small and can be sent to another process.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.operators.aggregate.shared_aggregate import QUERY, Groups, Member, SharedAggregate
from windrow.operators.aggregate.window_aggregate import BEGINNING, END_OF_TIME

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from windrow.logical import AggregateQuery
    from windrow.operators.base import WindowOperator
    from windrow.runtime.state.trees import Membership, RunningQuery


@dataclass(frozen=True)
class Shape:
    """What queries have in common that are answered together: the same columns, made in the same way."""

    plan: AggregateQuery
    """Of one of them."""
    schema_id: str


@dataclass(frozen=True)
class TreePlan:
    """The queries of a tree, as its state sees them."""

    groups: Groups
    members: tuple[Member, ...]
    shapes: tuple[Shape, ...]
    """By the numbers that the members say."""

    @classmethod
    def of(cls, members: Iterable[Membership], apart: set[int]) -> TreePlan:
        """Those that are to be answered `apart` have a shape each."""
        members = list(members)
        shapes: dict[Hashable, int] = {}
        of_shape: list[Shape] = []
        listed = []
        for member in members:
            plan, stored = member.query.plan, member.query.stored
            alike = plan.aggregates, plan.outputs, plan.having, stored.id if stored.id in apart else None
            shape = shapes.setdefault(alike, len(shapes))
            if shape == len(of_shape):
                of_shape.append(Shape(plan, stored.schema_id))
            back = not stored.started
            listed.append(
                Member(stored.id, member.window, plan.aggregates, member.after, member.until, back, shape)
            )
        plan = members[0].query.plan
        groups = Groups(plan.keys, plan.key_types, plan.stream.time_type)
        return cls(groups, tuple(listed), tuple(of_shape))


class AloneState:
    """The state of a tree of one query."""

    def __init__(self, query: RunningQuery, operator: WindowOperator) -> None:
        self.query = query
        self.operator = operator

    def push(self, tables: Sequence[pa.Table]) -> None:
        """Take in what was collected for the query."""
        for table in tables:
            if len(table):
                self.operator.push(table)

    def advance(self, until: int) -> Iterator[tuple[Shape, pa.Table]]:
        """Answers, with the number of the query in `_query`."""
        shape = Shape(self.query.plan, self.query.stored.schema_id)
        for table in self.operator.advance(until):
            number = np.full(len(table), self.query.stored.id, np.int32)
            yield shape, table.append_column(QUERY, pa.array(number))


class SharedState:
    """The state of a tree of several queries."""

    def __init__(self, plan: TreePlan) -> None:
        self.plan = plan
        self.operator = SharedAggregate(plan.groups, plan.members)

    def set_plan(self, plan: TreePlan) -> None:
        """Let queries come and go."""
        self.plan = plan
        self.operator.set_members(plan.members)

    def push(self, tables: Sequence[pa.Table]) -> None:
        """Take in what was collected for the queries: mostly one table for all of them."""
        self.operator.push(tables)

    def advance(self, until: int) -> Iterator[tuple[Shape, pa.Table]]:
        """Answers, those of a shape together, with the numbers of the queries in `_query`."""
        for shape, table in self.operator.advance(until):
            yield self.plan.shapes[shape], table


@dataclass(frozen=True)
class Held:
    """What the driver knows of a state that a Spark task holds: as an operator would tell it."""

    entries: int = 0
    bytes: int = 0
    groups_known: int = 0
    horizon: int = BEGINNING
    next_end: int | None = None
    """When a window is evaluated next; None: nobody has asked."""
    closed: pa.Table | None = None
    open: pa.Table | None = None

    @classmethod
    def of(cls, operator: SharedAggregate) -> Held:
        """What there is to tell of a state."""
        return cls(
            operator.entries,
            operator.bytes,
            operator.groups_known,
            operator.horizon,
            operator.next_end if operator.entries else END_OF_TIME,
            operator.closed_slices(),
            operator.open_slices(),
        )

    def closes(self, until: int) -> bool:
        """Whether advancing that far could answer anything."""
        assert self.next_end is not None
        return self.next_end <= until

    def closed_slices(self) -> pa.Table | None:
        """At rest: the slices that the last epoch closed and that a window still needs."""
        return self.closed

    def open_slices(self) -> pa.Table | None:
        """At rest: the slices that may still receive rows."""
        return self.open


class AwayState:
    """The state of a tree that a Spark task holds: all that the driver has of it."""

    def __init__(self, plan: TreePlan) -> None:
        self.operator = Held()
        self.plan = plan
        self.label: str | None = None
        """Which state the task must have, to go on with it; None: the one in the slice log."""

    def set_plan(self, plan: TreePlan) -> None:
        """Let queries come and go."""
        self.plan = plan
        self.operator = replace(self.operator, next_end=None)

"""What the state of an operator must know of its queries: small, and fit to be sent to another process."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from windrow.operators.aggregate.shared_aggregate import Groups, Member, SharedAggregate
from windrow.planner.algorithms import operator_for

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from collections.abc import Set as AbstractSet

    from windrow.aggregates import Operation
    from windrow.final import Choice
    from windrow.logical import BoundQuery
    from windrow.operators.base import Operator
    from windrow.operators.relational.base import Around
    from windrow.planner.plan import OperatorPlan


@dataclass(frozen=True)
class Shape:
    """What queries have in common that are answered together: the same columns, made in the same way."""

    plan: BoundQuery
    """Of one of them."""
    schema_id: str


@dataclass(frozen=True)
class OperatorSpec:
    """An operator of a plan, as its state sees it."""

    groups: Groups | None
    """The groups of an operator that is shared; None: it is of one query."""
    members: tuple[Member, ...]
    shapes: tuple[Shape, ...]
    """By the numbers that the members say."""
    complete_after: int | None = None
    """Of the query of an operator that is not shared: rows up to this instant had passed without it."""
    choices: Mapping[Operation, Choice] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, plan: OperatorPlan, fresh: AbstractSet[int], apart: AbstractSet[int]) -> OperatorSpec:
        """Queries that are `fresh` have not been answered yet; those `apart` have a shape each, so that one
        of them that fails is known."""
        shapes: dict[Hashable, int] = {}
        of_shape: list[Shape] = []
        members = []
        for number, member in plan.members.items():
            query = member.output.of
            alike = query.shape, number if number in apart else None
            shape = shapes.setdefault(alike, len(shapes))
            if shape == len(of_shape):
                of_shape.append(Shape(query, member.output.schema_id))
            if plan.shared:
                back = number in fresh
                members.append(
                    Member(number, member.window, query.aggregates, member.after, member.until, back, shape)
                )
        first = plan.first
        query = first.output.of
        groups = Groups(query.keys, query.key_types, query.stream.time_type) if plan.shared else None
        return cls(groups, tuple(members), tuple(of_shape), first.joined, plan.choices or {})

    def answered(self) -> OperatorSpec:
        """The operator after an epoch, in which every query has been answered."""
        if not any(member.back for member in self.members):
            return self
        return replace(self, members=tuple(replace(member, back=False) for member in self.members))

    def sendable(self) -> OperatorSpec:
        """What a Spark task needs of it."""
        return replace(self, choices={})

    def made(self, query: int, around: Around) -> Operator:
        """The operator, as it is before the first row; `query`: the one that it has, if it is not shared."""
        if self.groups is not None:
            return SharedAggregate(self.groups, self.members)
        return operator_for(self.shapes[0].plan, query, self.choices, self.complete_after, around)

"""A draft of one stream's part of a plan: what rules are given, and give on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from windrow.columns import BEGINNING
from windrow.planner.observed import Observed
from windrow.planner.plan import NOTHING, Edge, InputPlan, MemberPlan, OperatorPlan
from windrow.planner.settings import Settings
from windrow.planner.sharing.weaver import Weaver

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from windrow.planner.plan import OutputPlan, PhysicalPlan


@dataclass(frozen=True)
class Asked:
    """A query that is to run."""

    output: OutputPlan
    answered: int | None = None
    """The end of the latest window that it has answered, if it comes back from quarantine; None: of none."""


@dataclass(frozen=True, eq=False)
class Draft:
    """One stream's part of a plan while it is being made. Rules take a draft and return another one."""

    stream: str
    asked: Mapping[int, Asked]
    """The queries over the stream that are to run, by their numbers."""
    observed: Observed
    settings: Settings
    before: PhysicalPlan = NOTHING
    """The plan that runs."""
    proposed: PhysicalPlan | None = None
    """A plan of other operators for the same queries, made in the background."""
    whole: bool = True
    """Whether the queries asked are all; others that the plan has are gone then."""
    anew: bool = False
    """Whether rows come from the beginning, so that new queries cannot join operators that have seen some."""
    look: bool = True
    """Whether it is time to look at the prices again, if nothing else has changed."""
    operators: Mapping[int, OperatorPlan] = field(default_factory=dict)
    """The operators that read the stream, by their numbers."""
    last_operator: int = 0
    read: InputPlan = field(default_factory=lambda: InputPlan(""))
    begun: Mapping[int, OperatorPlan] = field(default_factory=dict)
    """Operators that another stream's part of a plan has begun, and no epoch has committed yet, by their
    queries: whoever reads several streams is planted once."""

    @property
    def changed(self) -> bool:
        """Whether operators are no longer those of the plan that runs."""
        present = self.before.of_stream(self.stream)
        return present.keys() != self.operators.keys() or not all(
            operator.runs_as(present[number]) for number, operator in self.operators.items()
        )

    @cached_property
    def by_class(self) -> dict[Hashable, list[OperatorPlan]]:
        """The operators whose queries may share, by what these have in common."""
        classes: dict[Hashable, list[OperatorPlan]] = {}
        for operator in self.operators.values():
            if operator.alike is not None:
                classes.setdefault(operator.alike, []).append(operator)
        return classes

    def with_operators(self, operators: Iterable[OperatorPlan]) -> Draft:
        """The draft with some operators added, or put in the place of those with their numbers; one without
        queries is no more."""
        made = dict(self.operators)
        last = self.last_operator
        for operator in operators:
            last = max(last, operator.id)
            if operator.members:
                made[operator.id] = operator
            else:
                made.pop(operator.id, None)
        return replace(self, operators=made, last_operator=last)

    def new_operator(self, number: int, ports: Sequence[Edge] = ()) -> OperatorPlan:
        """The n-th new operator, counted from 1, without queries; over the stream of the draft, unless it is
        told where its rows come from."""
        return OperatorPlan(self.last_operator + number, tuple(ports) or (Edge(self.stream),), {})

    def weaver(self, operators: Iterable[OperatorPlan], member: MemberPlan | Asked) -> Weaver:
        """What plans and prices the operators of a class, of which a query is given."""
        known = [self.observed.groups[o.id] for o in operators if self.observed.groups.get(o.id)]
        return Weaver.of(
            self.observed.rate,
            max(known, default=None),
            grouped=bool(member.output.of.keys),
            hint=self.settings.optimizer,
            nodes=self.settings.nodes or self.read.nodes,
            constants=self.settings.constants,
        )


def answered_after(asked: Asked, joined: int | None) -> int:
    """The last evaluation whose window began before a query had joined, or that it has answered: a query that
    comes back from quarantine may find slices of windows that it has had."""
    windows = asked.output.of.time_windows
    if joined is None or not windows:
        return BEGINNING
    return max(joined + windows[0].range, BEGINNING if asked.answered is None else asked.answered)

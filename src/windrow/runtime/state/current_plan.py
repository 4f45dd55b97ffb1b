"""The plan of an engine: the one that is committed, as the catalog has it, and the making of the next one.

A plan is a value. What is planned for a batch takes effect with the epoch that commits the batch, and is
forgotten if it does not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import RLock
from typing import TYPE_CHECKING

from windrow.planner.plan import Edge, OperatorPlan
from windrow.planner.planning import plan
from windrow.runtime.state.plan_records import change, restored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from windrow.planner.draft import Asked
    from windrow.planner.observed import Observed
    from windrow.planner.plan import PhysicalPlan
    from windrow.planner.settings import Settings
    from windrow.runtime.home.home import Home
    from windrow.runtime.home.records import OperatorSize, PlanChange
    from windrow.runtime.state.queries import RunningQuery


@dataclass(frozen=True)
class Committed:
    """What is committed: the plan that runs, and what the home has of it."""

    plan: PhysicalPlan
    recorded: PhysicalPlan
    """The plan as it is written down: also with operators that lost a query since, as they were."""
    evaluated: Mapping[int, int]
    """Up to where operators have been answered, by their numbers."""

    def change(self, after: PhysicalPlan) -> PlanChange:
        """What the catalog has to be told for another plan to take effect."""
        return change(self.recorded, after)


@dataclass(frozen=True)
class Planned:
    """What was planned for a part of an epoch, and the plan that was committed then."""

    before: PhysicalPlan
    after: PhysicalPlan


class CurrentPlan:
    """Holds the plan that is committed, and gives out the numbers of new operators."""

    def __init__(self, home: Home, settings: Settings, queries: Callable[[], Iterable[RunningQuery]]) -> None:
        """`queries`: those of the engine, whichever streams they are over."""
        self.settings = settings
        """By which plans are made; replaced as a whole where that changes."""
        self._home = home
        self._queries = queries
        self._one_at_a_time = RLock()
        self._last_operator = 0
        self._begun: dict[int, OperatorPlan] = {}
        """Operators over several streams that were planned for one of them, by their queries, until they are
        committed: the other streams plan with the same operator, whoever comes first."""
        self._committed: Committed | None = None

    def forget(self) -> None:
        """Read the plan anew when it is needed next: another engine may have changed it."""
        self._committed = None

    @property
    def committed(self) -> Committed:
        """What is committed, at this moment: a value, so that who goes by it is not disturbed."""
        with self._one_at_a_time:
            if self._committed is None:
                self._committed = self._read()
            return self._committed

    @property
    def plan(self) -> PhysicalPlan:
        """The plan that is committed."""
        return self.committed.plan

    def evaluated(self, operator: int, otherwise: int) -> int:
        """Up to where an operator has been answered; `otherwise`, if no epoch has had it."""
        return self.committed.evaluated.get(operator, otherwise)

    def planned(
        self,
        stream: str,
        asked: Iterable[Asked],
        observed: Observed,
        proposed: PhysicalPlan | None = None,
        *,
        whole: bool = True,
        anew: bool = False,
        look: bool = True,
    ) -> Planned:
        """The plan in which these queries over a stream run, which takes effect when it is committed."""
        asked = list(asked)
        with self._one_at_a_time:  # or operators of two streams get the same number
            self._look_for(query.output.query for query in asked)
            before = self.plan
            made = plan(
                stream, asked, observed, self.settings, before, proposed=proposed,
                last_operator=self._last_operator, whole=whole, anew=anew, look=look, begun=self._begun,
            )  # fmt: skip
            self._last_operator = max(self._last_operator, made.last_operator)
            for number, operator in made.operators.items():
                if len(operator.streams) > 1 and number not in before.operators:
                    self._begun |= dict.fromkeys(operator.members, operator)
            return Planned(before, made)

    def take_effect(self, before: Committed, after: PhysicalPlan, sizes: Iterable[OperatorSize]) -> None:
        """A plan is committed in the place of what was, and operators are where they say."""
        with self._one_at_a_time:
            self._begun = {q: o for q, o in self._begun.items() if q not in after.outputs}
            if self._committed is not before:
                # It was read anew meanwhile, perhaps with operators that the epoch did not know of.
                self.forget()
                return
            evaluated = {**before.evaluated, **{size.operator: size.evaluated for size in sizes}}
            evaluated = {number: at for number, at in evaluated.items() if number in after.operators}
            self._committed = Committed(after, after, evaluated)

    def give_up_tasks(self) -> None:
        """Let the driver hold all operators from now on."""
        self.settings = replace(self.settings, nodes=1)

    def _look_for(self, queries: Iterable[int]) -> None:
        """Read the plan anew if it has queries that this engine was not told of when it was read."""
        missing = set(queries) - self.plan.outputs.keys()
        if missing and not missing.isdisjoint(self._home.catalog.planned_queries()):
            self.forget()

    def _read(self) -> Committed:
        """Read the plan from the catalog, as far as it is of queries of this engine that run."""
        catalog = self._home.catalog
        queries = {query.stored.id: query for query in self._queries()}
        outputs = {number: query.output for number, query in queries.items() if query.stored.runs}
        # Queries over a frame that this engine does not have keep their operators.
        others = catalog.running_queries() - queries.keys()
        operators = [
            operator
            for operator in catalog.operators()
            if not others.issuperset(member.query for member in operator.members)
        ]
        self._last_operator = max(self._last_operator, catalog.last_operator())
        made = restored(catalog.inputs(), operators, outputs, self.settings, self._last_operator)
        stale: Mapping[int, OperatorPlan] = {
            operator.id: OperatorPlan(operator.id, tuple(Edge(stream) for stream, _ in operator.ports), {})
            for operator in operators
            if any(member.query not in outputs for member in operator.members)
        }
        # What the catalog has otherwise is written with the next epoch.
        recorded = replace(made, operators={**made.operators, **stale})
        return Committed(made, recorded, catalog.evaluated())

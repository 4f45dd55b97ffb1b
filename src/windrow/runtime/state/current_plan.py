"""The plan of an engine: the one that is committed, as the catalog has it, and the making of the next one.

A plan is a value. What is planned for a batch takes effect with the epoch that commits the batch, and is
forgotten if it does not.
"""

from __future__ import annotations

from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING

from windrow.planner.plan import NOTHING, Edge, OperatorPlan, PhysicalPlan
from windrow.planner.planning import plan
from windrow.runtime.state.plan_records import change, restored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from windrow.planner.draft import Asked
    from windrow.planner.observed import Observed
    from windrow.planner.settings import Settings
    from windrow.runtime.home.home import Home
    from windrow.runtime.home.records import OperatorSize, PlanChange
    from windrow.runtime.state.queries import RunningQuery


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
        self.forget()

    def forget(self) -> None:
        """Read the plan anew when it is needed next: another engine may have changed it."""
        self._plan: PhysicalPlan | None = None
        self._recorded = NOTHING
        self._evaluated: dict[int, int] = {}

    @property
    def plan(self) -> PhysicalPlan:
        """The plan that is committed."""
        with self._one_at_a_time:
            if self._plan is None:
                self._read()
            assert self._plan is not None
            return self._plan

    def evaluated(self, operator: int, otherwise: int) -> int:
        """Up to where an operator has been answered; `otherwise`, if no epoch has had it."""
        return self._evaluated.get(operator, otherwise)

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
    ) -> PhysicalPlan:
        """The plan in which these queries over a stream run, which takes effect when it is committed."""
        asked = list(asked)
        with self._one_at_a_time:  # or operators of two streams get the same number
            self._look_for(query.output.query for query in asked)
            made = plan(
                stream, asked, observed, self.settings, self.plan, proposed=proposed,
                last_operator=self._last_operator, whole=whole, anew=anew, look=look,
            )  # fmt: skip
            self._last_operator = max(self._last_operator, made.last_operator)
            return made

    def change(self, after: PhysicalPlan) -> PlanChange:
        """What the catalog has to be told for a plan to take effect."""
        _ = self.plan
        return change(self._recorded, after)

    def committed(self, after: PhysicalPlan, sizes: Iterable[OperatorSize]) -> None:
        """A plan has taken effect, and operators are where they say."""
        with self._one_at_a_time:
            self._plan = self._recorded = after
            self._evaluated |= {size.operator: size.evaluated for size in sizes}
            self._evaluated = {n: at for n, at in self._evaluated.items() if n in after.operators}

    def give_up_tasks(self) -> None:
        """Let the driver hold all operators from now on."""
        self.settings = replace(self.settings, nodes=1)

    def _look_for(self, queries: Iterable[int]) -> None:
        """Read the plan anew if it has queries that this engine was not told of when it was read."""
        missing = set(queries) - self.plan.outputs.keys()
        if missing and not missing.isdisjoint(self._home.catalog.planned_queries()):
            self.forget()

    def _read(self) -> None:
        """Read the plan from the catalog, as far as it is of queries of this engine that run."""
        catalog = self._home.catalog
        queries = {query.stored.id: query for query in self._queries()}
        outputs = {number: query.output for number, query in queries.items() if query.stored.runs}
        # Queries over a frame that this engine does not have keep their operators.
        others = {stored.id for stored in catalog.queries() if stored.runs} - queries.keys()
        operators = [
            operator
            for operator in catalog.operators()
            if not others.issuperset(member.query for member in operator.members)
        ]
        self._last_operator = max(self._last_operator, catalog.last_operator())
        self._plan = restored(catalog.inputs(), operators, outputs, self.settings, self._last_operator)
        self._evaluated = catalog.evaluated()
        stale: Mapping[int, OperatorPlan] = {
            operator.id: OperatorPlan(operator.id, tuple(Edge(stream) for stream, _ in operator.ports), {})
            for operator in operators
            if any(member.query not in outputs for member in operator.members)
        }
        # What the catalog has otherwise is written with the next epoch.
        self._recorded = replace(self._plan, operators={**self._plan.operators, **stale})

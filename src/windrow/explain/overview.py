"""A physical plan arranged for people: streams, their passes, classes and trees, and what each costs.

It derives nothing: what is here is in the plan, which runs, or with which the next epoch begins. Text and
pictures are made of this and add nothing to it. A tree is an operator whose queries may share it.

Costs are seconds of work a second of stream (`planner/rules/price.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from windrow.aggregates.contents import contents_of
from windrow.logical import RelationalQuery
from windrow.planner.plan import NOTHING, SharingClass
from windrow.slicing import composite_slide

if TYPE_CHECKING:
    from collections.abc import Hashable

    from windrow.aggregates import Operation
    from windrow.final import Choice
    from windrow.logical import BoundQuery
    from windrow.planner import BatchPass
    from windrow.planner.plan import InputPlan, OperatorPlan, PhysicalPlan, Structure
    from windrow.planner.sharing import Tree, WindowSet
    from windrow.slicing import Cuts

NO_WINDOW = "no window: each row is answered as it comes"


@dataclass(eq=False)
class TreeOverview:
    """Queries that share their slices."""

    number: int
    runs: bool
    """Whether it is there already; otherwise it is how the optimizer would begin."""
    shared: bool
    """Whether one structure answers all windows; a query that was always alone has the one that suits it."""
    queries: Mapping[str, BoundQuery]
    woven: Tree
    structures: tuple[Structure, ...]
    joining: int
    """How many of the queries come with the next epoch."""
    cuts: Cuts | None
    """Where the pass over the rows cuts them."""
    cost: float
    alone: float
    """What its queries would cost if none shared anything."""
    final: float
    """What is left of the cost when partials have been collected, with the results it writes."""
    node: int | None
    """Which Spark task holds it; None: the driver."""

    @property
    def windows(self) -> WindowSet:
        return self.woven.windows

    @cached_property
    def composite_slide(self) -> int:
        """After how many microseconds the pattern of its edges repeats."""
        return composite_slide(list(self.windows))


@dataclass(eq=False)
class ClassOverview:
    """Queries with the same rows and groups."""

    number: int
    keys: tuple[str, ...]
    where: str | None
    tables: tuple[str, ...]
    queries: Mapping[str, BoundQuery]
    trees: list[TreeOverview]
    optimizer: str | None
    """Which one planned the trees, and whether time was short; None if they run already."""
    separate: bool
    """Whether each tree has a pass of its own."""
    groups: float
    """Groups a slice, by which it was priced."""
    groups_observed: bool

    @property
    def cost(self) -> float:
        return sum(tree.cost for tree in self.trees)

    @property
    def alone(self) -> float:
        return sum(tree.alone for tree in self.trees)

    @property
    def grouping(self) -> str:
        """What it groups by, in words."""
        return f"by {', '.join(self.keys)}" if self.keys else "ungrouped"

    @property
    def title(self) -> str:
        """What its queries have in common, in words."""
        joined = f", with {', '.join(self.tables)}" if self.tables else ""
        return f"{self.grouping}{joined}, {f'where {self.where}' if self.where else 'all rows'}"


@dataclass(eq=False)
class StreamOverview:
    """All queries over a stream."""

    name: str
    rate: float
    """Rows a second."""
    rate_observed: bool
    classes: list[ClassOverview]
    own: Mapping[str, BoundQuery]
    """Queries that have an operator of their own."""
    passes: list[BatchPass]
    nodes: int
    """How many Spark tasks hold trees; 1: the driver does."""
    by_operator: Mapping[int, Mapping[str, BoundQuery]]
    """The queries of each operator, by its number."""
    choices: Mapping[str, Mapping[Operation, Choice]]
    """The final aggregators of queries that share theirs with nobody, by the name of the query."""

    def queries_of(self, shared: BatchPass) -> dict[str, BoundQuery]:
        """The queries that a pass over a batch is for."""
        return {
            name: query for port in shared.demands for name, query in self.by_operator[port.operator].items()
        }

    @property
    def own_title(self) -> str:
        """What the queries have in common that have an operator of their own."""
        stateless = [why_alone(query) == NO_WINDOW for query in self.own.values()]
        if not any(stateless):
            return "state of their own"
        return "no window" if all(stateless) else "on their own"

    @property
    def queries(self) -> int:
        return len(self.own) + sum(len(some.queries) for some in self.classes)

    @property
    def trees(self) -> list[TreeOverview]:
        return [tree for some in self.classes for tree in some.trees]

    @property
    def cost(self) -> float:
        return sum(some.cost for some in self.classes)

    @property
    def alone(self) -> float:
        return sum(some.alone for some in self.classes)

    @property
    def groups(self) -> list[tuple[float, bool]]:
        """Groups a slice by which classes that have groups were priced, and whether that was observed."""
        return sorted({(some.groups, some.groups_observed) for some in self.classes if some.keys})


def overview(plan: PhysicalPlan, running: PhysicalPlan = NOTHING) -> list[StreamOverview]:
    """The streams of a plan; `running`: the plan that runs, so far."""
    streams = ((read, plan.of_stream(name)) for name, read in plan.inputs.items())
    return [_stream(read, operators, running) for read, operators in streams if operators]


def relational(streams: Sequence[StreamOverview]) -> dict[str, RelationalQuery]:
    """The queries that are answered by trees of operators, each once, whichever streams they read."""
    return {
        name: query
        for stream in streams
        for name, query in stream.own.items()
        if isinstance(query, RelationalQuery)
    }


def why_alone(query: BoundQuery) -> str:
    """Why a query has an operator of its own."""
    if isinstance(query, RelationalQuery):
        return "results that know when they end"
    if query.handed_over:
        return NO_WINDOW
    if query.row_window is not None:
        return "windows of rows"
    if query.algorithm is not None:
        return "a hint names its algorithm"
    if any(contents_of(item) is not None for item in query.aggregates):
        return "it needs the values themselves"
    return "a function of your own"


def _stream(read: InputPlan, operators: Mapping[int, OperatorPlan], running: PhysicalPlan) -> StreamOverview:
    classes: dict[Hashable, list[OperatorPlan]] = {}
    own: dict[str, BoundQuery] = {}
    for operator in operators.values():
        if operator.alike is None:
            own |= _queries(operator)
        else:
            classes.setdefault(operator.alike, []).append(operator)
    made = [
        _class(number, read.classes.get(alike, SharingClass(alike)), some, running)
        for number, (alike, some) in enumerate(classes.items(), start=1)
    ]
    names = {number: _queries(operator) for number, operator in operators.items()}
    choices = {o.first.output.name: o.choices or {} for o in operators.values() if not o.shared}
    return StreamOverview(
        read.stream, read.rate, read.rate_observed, made, own, list(read.passes), read.nodes, names, choices
    )


def _class(
    number: int, one: SharingClass, operators: Sequence[OperatorPlan], running: PhysicalPlan
) -> ClassOverview:
    first = operators[0].first.output.of
    trees = [_tree(operator, running) for operator in operators]
    return ClassOverview(
        number,
        tuple(map(first.readable, first.keys)),
        None if first.where is None else first.readable(first.where),
        tuple(enrichment.table for enrichment in first.enrichments),
        {name: query for operator in operators for name, query in _queries(operator).items()},
        trees,
        None if any(tree.runs for tree in trees) else one.optimizer,
        one.separate,
        one.groups,
        one.groups_observed,
    )


def _tree(operator: OperatorPlan, running: PhysicalPlan) -> TreeOverview:
    present = running.operators.get(operator.id)
    joining = 0 if present is None else len(operator.members.keys() - present.members.keys())
    return TreeOverview(
        operator.id, present is not None, operator.shared, _queries(operator), operator.woven,
        operator.structures, joining, operator.cuts, operator.price.cost, operator.price.alone,
        operator.price.final, operator.node,
    )  # fmt: skip


def _queries(operator: OperatorPlan) -> dict[str, BoundQuery]:
    """The queries of an operator by name, without those that are about to leave it, unless all are."""
    members = operator.members.values()
    staying = [member for member in members if member.stays] or members
    return {member.output.name: member.output.of for member in staying}

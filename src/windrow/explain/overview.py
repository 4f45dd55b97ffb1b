"""The plan of all queries as data: streams, their passes, classes and trees, and what each costs.

Trees that run are shown as they are, with the queries that will join them at the next epoch; where there
are none yet, the optimizer plans them here as it will when the stream starts. Text and pictures are made
of this and add nothing to it.

Costs are seconds of work a second of stream. Those of trees add up to those of classes, and these to the
stream's: a pass over the rows is divided among the queries that share it. Alone, every query would have a
pass and a tree of its own. Not in it: results that are written, and queries whose state is of another kind.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING

from windrow.aggregates.contents import contents_of
from windrow.final.shared.choose import shared_structure
from windrow.planner.algorithms import choose_algorithms
from windrow.planner.passes.grouped import Pass
from windrow.planner.passes.pack import COPIED, PREDICATE, plan_passes
from windrow.planner.passes.woven import WovenPass
from windrow.planner.sharing import SECONDS, Tree, Weaver, WindowSet, planning_seconds, to_lowest
from windrow.planner.sharing.classes import sharing_class
from windrow.planner.sharing.weaver import GROUPS, RATE
from windrow.slicing import RowWindow, Window, composite_slide

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from windrow.final import Costs
    from windrow.logical import AggregateQuery
    from windrow.planner.passes.lifted import LiftedPass
    from windrow.planner.passes.rows import RowPass
    from windrow.planner.sharing import Constants
    from windrow.slicing import Cuts

    AnyPass = Pass | RowPass | LiftedPass | WovenPass


@dataclass(frozen=True)
class Observed:
    """What a home knows of a stream that has run."""

    rate: float | None = None
    """Rows a second of event time."""
    optimizer: str | None = None
    """The one that was asked for."""
    trees: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """The queries in each tree that runs, by the number of the tree."""
    shared: frozenset[int] = frozenset()
    """Those of them that have, or had, several queries."""
    nodes: int = 1
    """How many Spark tasks hold trees; 1: the driver does."""
    settled: Mapping[int, int] = field(default_factory=dict)
    """On which of them a tree is that runs."""


NOTHING = Observed()


@dataclass(frozen=True)
class Structure:
    """What answers the windows of a tree, for one operation."""

    name: str
    operation: str
    reason: str
    """Empty where it was chosen among others by cost."""


@dataclass(eq=False)
class TreeOverview:
    """Queries that share their slices."""

    number: int
    runs: bool
    """Whether it is there already; otherwise it is how the optimizer would begin."""
    shared: bool
    """Whether one structure answers all windows; a query that was always alone has the one that suits it."""
    queries: Mapping[str, AggregateQuery]
    woven: Tree
    structures: tuple[Structure, ...]
    joining: int = 0
    """How many of the queries come with the next epoch."""
    cuts: Cuts | None = None
    """Where the pass over the rows cuts them."""
    cost: float = 0.0
    alone: float = 0.0
    """What its queries would cost if none shared anything."""
    final: float = 0.0
    """What is left of the cost when partials have been collected, with the results it writes."""
    node: int | None = None
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
    queries: Mapping[str, AggregateQuery]
    trees: list[TreeOverview]
    optimizer: str | None
    """Which one planned the trees, and whether time was short; None if they run already."""
    separate: bool
    """Whether each tree has a pass of its own."""

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
    own: Mapping[str, AggregateQuery]
    """Queries that have a state of their own."""
    passes: list[AnyPass]
    nodes: int = 1
    """How many Spark tasks hold trees; 1: the driver does."""

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
    def groups(self) -> float | None:
        """Groups a slice that were assumed, if any query has groups."""
        return GROUPS if any(some.keys for some in self.classes) else None


def overview(
    queries: Mapping[str, AggregateQuery],
    observed: Mapping[str, Observed] | None = None,
    costs: Costs | None = None,
    constants: Constants = SECONDS,
) -> list[StreamOverview]:
    """The streams that queries are over; `observed` is what is known of them by name."""
    streams: dict[str, dict[str, AggregateQuery]] = {}
    for name, query in queries.items():
        streams.setdefault(query.stream.name, {})[name] = query
    return [
        _stream(name, members, (observed or {}).get(name, NOTHING), costs, constants)
        for name, members in streams.items()
    ]


def why_alone(query: AggregateQuery) -> str:
    """Why a query has a state of its own."""
    if isinstance(query.window, RowWindow):
        return "windows of rows"
    if query.algorithm is not None:
        return "a hint names its algorithm"
    if any(contents_of(item) is not None for item in query.aggregates):
        return "it needs the values themselves"
    return "a function of your own"


def _stream(
    name: str,
    queries: Mapping[str, AggregateQuery],
    observed: Observed,
    costs: Costs | None,
    constants: Constants,
) -> StreamOverview:
    classes: dict[Hashable, dict[str, AggregateQuery]] = {}
    own: dict[str, AggregateQuery] = {}
    for query_name, query in queries.items():
        alike = sharing_class(query)
        (own if alike is None else classes.setdefault(alike, {}))[query_name] = query
    made: list[ClassOverview] = []
    weavers: list[Weaver] = []
    numbers = count(max(observed.trees, default=0) + 1)
    seconds = planning_seconds(len(classes))
    for number, members in enumerate(classes.values(), start=1):
        grouped = bool(_any(members).keys)
        weavers.append(
            Weaver.of(
                observed.rate,
                None,
                grouped=grouped,
                hint=observed.optimizer,
                nodes=observed.nodes,
                constants=constants,
            )
        )
        made.append(_class(number, members, weavers[-1], observed, numbers, costs, seconds))
    passes = _passes(queries, made)
    for some, weaver in zip(made, weavers, strict=True):
        _price(some, weaver)
    rate = observed.rate or RATE
    for shared in passes:
        _share_rows(shared, made, constants.row, rate)
    found = StreamOverview(name, rate, observed.rate is not None, made, own, passes, observed.nodes)
    if observed.nodes > 1:
        _settle(found, weavers, observed)
    return found


def _settle(stream: StreamOverview, weavers: Sequence[Weaver], observed: Observed) -> None:
    """Trees that do not run yet go where least is to be done, as far as one can tell."""
    for some, weaver in zip(stream.classes, weavers, strict=True):
        for tree in some.trees:
            tree.final = weaver.final(tree.woven)
            tree.node = observed.settled.get(tree.number)
    if not observed.settled:
        goals = to_lowest([tree.final for tree in stream.trees], stream.nodes)
        for tree, node in zip(stream.trees, goals, strict=True):
            tree.node = node


# trees


def _class(
    number: int,
    queries: Mapping[str, AggregateQuery],
    weaver: Weaver,
    observed: Observed,
    numbers: Iterator[int],
    costs: Costs | None,
    seconds: float,
) -> ClassOverview:
    running = {
        tree: there
        for tree, names in observed.trees.items()
        if (there := [name for name in names if name in queries])
    }
    placed: list[tuple[int | None, list[str], Tree, int]] = []
    optimizer = None
    waiting: dict[Window, list[str]] = {}
    for name in queries.keys() - {name for names in running.values() for name in names}:
        waiting.setdefault(_window(queries[name]), []).append(name)
    if running:
        placed = _joined(running, waiting, queries, weaver)
    else:
        plan = weaver.planned((_window(query) for query in queries.values()), seconds)
        optimizer = plan.optimizer if plan.in_time else f"{plan.optimizer} (stopped at its deadline)"
        placed = [(None, [n for w in tree.windows for n in waiting[w]], tree, 0) for tree in plan.trees]
    trees = []
    places = {name: place for place, name in enumerate(queries)}
    for tree_number, names, woven, joining in placed:
        members = {name: queries[name] for name in sorted(names, key=places.__getitem__)}
        known = next(numbers) if tree_number is None else tree_number
        shared = len(members) > 1 or known in observed.shared
        structures = tuple(_structures(members, costs, shared=shared))
        trees.append(
            TreeOverview(known, tree_number is not None, shared, members, woven, structures, joining)
        )
    first = _any(queries)
    return ClassOverview(
        number,
        tuple(map(first.readable, first.keys)),
        None if first.where is None else first.readable(first.where),
        tuple(enrichment.table for enrichment in first.enrichments),
        queries,
        trees,
        optimizer,
        len(trees) > 1 and weaver.separate([tree.woven for tree in trees]),
    )


def _joined(
    running: Mapping[int, list[str]],
    waiting: dict[Window, list[str]],
    queries: Mapping[str, AggregateQuery],
    weaver: Weaver,
) -> list[tuple[int | None, list[str], Tree, int]]:
    """Trees that run, with the queries that come at the next epoch where they will go."""
    held = {tree: [_window(queries[name]) for name in names] for tree, names in running.items()}
    members: dict[int | None, list[str]] = {tree: list(names) for tree, names in running.items()}
    for number, windows in held.items():
        if weaver.hint != "no_share":
            for window in set(windows) & waiting.keys():
                windows += [window] * len(waiting[window])
                members[number] += waiting.pop(window)
    woven = {number: weaver.model.tree(Counter(windows)) for number, windows in held.items()}
    new: list[tuple[int | None, list[str], Tree, int]] = []
    if waiting:
        places = list(woven)
        for place, tree in weaver.place(list(waiting), list(woven.values())):
            names = [name for window in tree.windows for name in waiting.get(window, ())]
            if place is None:
                new.append((None, names, weaver.model.tree(_windows(names, queries)), len(names)))
            else:
                members[places[place]] += names
                woven[places[place]] = weaver.model.tree(_windows(members[places[place]], queries))
    there = [(tree, members[tree], woven[tree], len(members[tree]) - len(running[tree])) for tree in running]
    return [*there, *new]


def _structures(
    queries: Mapping[str, AggregateQuery], costs: Costs | None, *, shared: bool
) -> Iterable[Structure]:
    """What serves each operation: one structure for several queries, an algorithm of its own for one."""
    aggregates = {item for some in {query.aggregates for query in queries.values()} for item in some}
    operations = dict.fromkeys(
        column.operation
        for item in sorted(aggregates, key=str)
        for partial in item.partials
        for column in partial.columns
    )
    if shared:
        for operation in operations:
            structure = shared_structure(operation)
            yield Structure(structure.name, operation.name, structure.reason)
        return
    query = _any(queries)
    for operation, choice in choose_algorithms(query, query.aggregates, costs).items():
        yield Structure(str(choice), operation.name, "")


# passes and costs


def _passes(queries: Mapping[str, AggregateQuery], classes: Iterable[ClassOverview]) -> list[AnyPass]:
    """The passes over a batch: shared by all, but for classes whose trees are better off with their own."""
    apart = {
        name: place
        for some in classes
        if some.separate
        for place, tree in enumerate(some.trees)
        for name in tree.queries
    }
    groups: dict[int, dict[str, AggregateQuery]] = {}
    for name, query in queries.items():
        groups.setdefault(apart.get(name, 0), {})[name] = query
    return [shared for group in groups.values() for shared in plan_passes(group)]


def _price(some: ClassOverview, weaver: Weaver) -> None:
    """All that trees cost but for the rows."""
    woven = [tree.woven for tree in some.trees]
    together = 0.0 if some.separate else weaver.collecting(woven) / len(woven)
    for tree in some.trees:
        collecting = weaver.collecting([tree.woven]) if some.separate else together
        tree.cost = weaver.finishing(tree.woven) + collecting
        tree.alone = weaver.alone(tree.windows)


def _share_rows(shared: AnyPass, classes: Iterable[ClassOverview], a_row: float, rate: float) -> None:
    """Divide what a pass takes for the rows among its queries, and tell the trees where they are cut."""
    if not isinstance(shared, WovenPass) and not (isinstance(shared, Pass) and shared.contents is None):
        return
    cuts: dict[str, Cuts] = {}
    if isinstance(shared, WovenPass):
        predicates = {sql for copy in shared.copies for sql in copy.predicates}
        a_row += (len(shared.copies) - 1) * COPIED + (len(predicates) - 1) * PREDICATE
        for copy in shared.copies:
            for strand in copy.strands:
                cuts |= dict.fromkeys(strand.queries, copy.cuts)
    else:
        cuts = dict.fromkeys(shared.queries, shared.cuts)
    portion = a_row * rate / len(shared.queries)
    for some in classes:
        for tree in some.trees:
            here = sum(name in cuts for name in tree.queries)
            if here:
                tree.cost += here * portion
                tree.cuts = cuts[next(name for name in tree.queries if name in cuts)]


def _any(queries: Mapping[str, AggregateQuery]) -> AggregateQuery:
    return next(iter(queries.values()))


def _window(query: AggregateQuery) -> Window:
    assert not isinstance(query.window, RowWindow)
    return query.window


def _windows(names: Iterable[str], queries: Mapping[str, AggregateQuery]) -> Counter[Window]:
    return Counter(_window(queries[name]) for name in names)

"""The passes over a batch, as text: what Spark does in each, and what its queries are, if they are few."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from windrow.aggregates.contents import InOrder, contents_of
from windrow.cql import format_duration
from windrow.explain.words import listed, repeats_after, some
from windrow.logical import RelationalQuery
from windrow.logical.patterns import UpdatePattern
from windrow.planner.algorithms import slices_per_window
from windrow.planner.passes.bounds import Bounds
from windrow.planner.passes.grouped import Pass
from windrow.planner.passes.lifted import LiftedPass
from windrow.planner.passes.rows import RowPass
from windrow.planner.passes.selected import SelectedPass
from windrow.planner.passes.woven import WovenPass
from windrow.slicing import RowWindow, composite, composite_slide, cutty, cutty_per_window, edges, slices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from windrow.aggregates import Operation, Partial
    from windrow.aggregates.contents import Contents
    from windrow.explain.overview import StreamOverview, TreeOverview
    from windrow.final import Choice
    from windrow.logical import BoundQuery
    from windrow.planner import BatchPass
    from windrow.slicing import Cuts, Window


MOST_EDGES = 100_000
"""More are not counted one by one."""
MOST_LIFTED = 40
HOW_THEY_END = {
    UpdatePattern.MONOTONIC: "they never end",
    UpdatePattern.WEAKEST: "they end in the order in which they came, at _exp",
    UpdatePattern.WEAK: "they end at _exp",
    UpdatePattern.STRICT: "they are taken back by rows with _op = -1",
}
FEW = 20
"""So many queries are told one by one."""


def details(streams: Sequence[StreamOverview], *, sql: bool = False) -> Iterator[str]:
    """One block a pass, with the queries that share it if they are few; `sql` adds what Spark runs."""
    passes = [(stream, shared) for stream in streams for shared in stream.passes]
    trees = {name: tree for stream in streams for tree in stream.trees for name in tree.queries}
    few = sum(stream.queries for stream in streams) <= FEW
    explained: dict[str, int] = {}
    for number, (stream, shared) in enumerate(passes, start=1):
        queries = stream.queries_of(shared)
        together = f", shared by {some(len(queries), 'query')}" if len(queries) > 1 else ""
        where = "for Python" if shared.lifts_in_python else "in the JVM"
        yield f"pass {number} of {len(passes)} over {stream.name} ({where}){together}"
        yield from (f"  {step}" for step in _steps(shared))
        if sql:
            yield from (f"  | {line}" for line in shared.sql(Bounds()).splitlines())
        for name in queries if few else ():
            if name in explained:
                yield f"  query {name}, as in pass {explained[name]}"
                continue
            explained[name] = number
            yield from _query(name, queries[name], trees.get(name), stream.choices.get(name, {}))


def _query(
    name: str, query: BoundQuery, tree: TreeOverview | None, choices: Mapping[Operation, Choice]
) -> Iterator[str]:
    yield f"  query {name}"
    yield from (f"    {line}" for line in query.drawn())
    if isinstance(query, RelationalQuery):
        yield from (f"    {line}" for line in _results(query))
        return
    window = next(iter(query.time_windows), query.row_window)
    if window is None:
        yield f"    results: {query.pattern.value}, by {query.time_column}; no state"
        return
    yield f"    slices: {_describe_slices(window)}"
    yield from (f"    values: {line}" for line in _contents(query))
    if shares := _describe_shares(query):
        yield f"    shares: {shares}"
    if tree is not None and tree.shared:
        others = f", with {some(len(tree.queries) - 1, 'other query')}" if len(tree.queries) > 1 else ""
        yield f"    final: in tree {tree.number}{others}"
        return
    needed = {c.operation for item in query.aggregates for partial in item.partials for c in partial.columns}
    for operation, choice in choices.items():
        if operation not in needed:  # what counting rows needs beside the query's aggregates
            continue
        hinted = choice.algorithm.name == query.algorithm
        why = describe_choice(choice, slices_per_window(window), hinted=hinted)
        if operation.interpreted:
            asked = "as the hint asks; " if hinted else ""
            why = f"{asked}merged in Python; chosen by the costs measured for {operation.like}"
        elif operation.like:
            why = f"{why}; costs as measured for {operation.like}"
        if operation.note:
            why = f"{operation.note}; {why}"
        yield f"    final: {choice} for {operation.name} ({why})"


def _results(query: RelationalQuery) -> Iterator[str]:
    """What a query's results are, and what to think of before it runs."""
    yield f"results: {query.pattern.value}, by {query.time_column}; {HOW_THEY_END[query.pattern]}"
    yield from (f"warning: {warning}" for warning in query.warnings)


@singledispatch
def _steps(shared: BatchPass) -> list[str]:
    """What Spark does with a batch."""
    raise NotImplementedError(type(shared).__name__)


@_steps.register
def _(shared: RowPass) -> list[str]:
    readable = shared.demand.readable
    given = dict.fromkeys(readable(sql) for sql in (*shared.demand.keys, *shared.values.values()))
    ties = f", then by {', '.join(shared.order)}" if shared.order else ""
    return [f"sort rows by event time{ties}", f"collect {', '.join(given) or 'the rows'} of each row"]


@_steps.register
def _(shared: SelectedPass) -> list[str]:
    readable = shared.demand.readable
    conditions = [readable(condition) for condition in shared.conditions]
    if "true" in conditions:
        kept = "keep all rows"
    else:
        kept = f"keep rows by {some(len(conditions), 'predicate')}: {listed(conditions, between='; ')}"
    return [kept, f"hand over {listed(map(readable, shared.values), MOST_LIFTED)}"]


@_steps.register
def _(shared: LiftedPass) -> list[str]:
    written = dict.fromkeys(shared.demand.readable(partial.written) for partial in shared.partials)
    steps = ["collect keys and arguments of each row", f"lift {', '.join(written)}{_by(shared)}, in Python"]
    if shared.ordered:
        ties = f", then by {', '.join(shared.order)}" if shared.order else ""
        steps.insert(0, f"sort rows by event time{ties}")
    return steps


def _by(shared: BatchPass) -> str:
    demand = shared.demand
    return f" by {', '.join(map(demand.readable, demand.keys))}" if demand.keys else ""


@_steps.register
def _(shared: Pass) -> list[str]:
    readable = shared.demand.readable
    lifted = listed(map(readable, shared.expressions), MOST_LIFTED) or "the groups"
    if isinstance(shared.contents, InOrder):
        lifted = f"collect {readable(shared.contents.argument)} of each row"
    elif shared.contents is not None:
        what = readable(shared.contents.argument)
        lifted = f"count each {what} (or hand over each row, where values seldom repeat)"
    else:
        lifted = f"lift {lifted}"
    return [f"cut rows {describe_cuts(shared.cuts)}{_describe_pattern(shared)}", f"{lifted}{_by(shared)}"]


def _contents(query: BoundQuery) -> list[str]:
    """Which values are kept, and for what."""
    served: dict[Contents, list[str]] = {}
    for item in query.aggregates:
        contents = contents_of(item)
        if contents is not None:
            served.setdefault(contents, []).append(query.readable(str(item)))
    return [f"{query.readable(str(contents))}, for {', '.join(items)}" for contents, items in served.items()]


@_steps.register
def _(shared: WovenPass) -> list[str]:
    readable = shared.demand.readable
    predicates = [readable(sql) for word in shared.words.values() for sql in word]
    steps = [
        f"mark rows by {some(len(predicates), 'predicate')}: {listed(predicates, between='; ')}",
        f"lift {listed(map(readable, shared.expressions), MOST_LIFTED) or 'the groups'}",
    ]
    for copy in shared.copies:
        by = f"by {', '.join(map(readable, copy.keys))}" if copy.keys else "ungrouped"
        served = f"{some(len(copy.strands), 'class')}, {some(len(copy.predicates), 'predicate')}"
        steps.append(f"{by}: {served}; cut {describe_cuts(copy.cuts)}")
    return steps


def _describe_pattern(shared: Pass) -> str:
    """How many edges the windows of a pass have together, and after how long they repeat."""
    windows = [window for demand in shared.demands.values() for window in demand.time_windows]
    if len(set(windows)) < 2:
        return ""
    length, cuts = composite_slide(windows), composite(windows)
    repeats = f"; their composite slide is {repeats_after(length)}"
    if length * cuts.rate > MOST_EDGES:
        return repeats
    count = len(edges(cuts, 0, length))
    return f"{repeats} with {count} edge{'s'[: count != 1]}"


def describe_cuts(cuts: Cuts, size: Callable[[int], str] = format_duration) -> str:
    """Where rows are cut, for people."""
    teeth = [
        f"every {size(comb.period)}" + (f" + {size(comb.phase)}" if comb.phase else "") for comb in cuts.combs
    ]
    return " and ".join(teeth)


def _describe_slices(window: Window | RowWindow) -> str:
    if not isinstance(window, RowWindow):
        technique, cuts, per_window = slices(window)
        return f"{technique}, {per_window} a window, cut {describe_cuts(cuts)}"
    if window.partitioned:
        cuts, per_window = cutty(window.on_numbers), cutty_per_window(window.on_numbers)
        return f"cutty, {per_window} a window, cut {describe_cuts(cuts, _rows)} of each key"
    technique, cuts, per_window = slices(window.on_numbers)
    return f"{technique}, {per_window} a window, cut {describe_cuts(cuts, _rows)}"


def _describe_shares(query: BoundQuery) -> str:
    """The partials that serve several of a query's aggregates."""
    users: dict[Partial, list[str]] = {}
    for aggregate in query.aggregates:
        for partial in aggregate.partials:
            users.setdefault(partial, []).append(str(aggregate))
    shared = (f"{partial} for {', '.join(names)}" for partial, names in users.items() if len(names) > 1)
    return query.readable("; ".join(shared))


def _rows(count: int) -> str:
    return some(count, "row")


def describe_choice(choice: Choice, per_window: int, *, hinted: bool) -> str:
    """Why an algorithm was taken, for people.

    >>> from windrow.final import Choice, DABA, TwoStacks
    >>> describe_choice(Choice(TwoStacks, 26.4, DABA, 31), 60, hinted=False)
    '26 ns a slide of 60 slices; next is daba, 31 ns'
    >>> describe_choice(Choice(DABA, 31, TwoStacks, 26.4), 1, hinted=True)
    'as the hint asks, 31 ns a slide of 1 slice; two_stacks would take 26 ns'
    """
    cost = f"{choice.nanoseconds:.0f} ns a slide of {per_window} slice{'s'[: per_window != 1]}"
    why = f"as the hint asks, {cost}" if hinted else cost
    if choice.next_best is None:
        return why
    other, nanoseconds = choice.next_best.name, f"{choice.next_nanoseconds:.0f} ns"
    return f"{why}; {other} would take {nanoseconds}" if hinted else f"{why}; next is {other}, {nanoseconds}"

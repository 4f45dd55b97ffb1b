"""The plan of a set of queries, as text: what each computes, what they share, how, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.aggregates.contents import InOrder, contents_of
from windrow.cql import format_duration
from windrow.final import shipped_costs
from windrow.optimizer.bounds import Bounds
from windrow.optimizer.lifted_passes import LiftedPass
from windrow.optimizer.pack_passes import plan_passes
from windrow.optimizer.physical import choose_algorithms, slices_per_window
from windrow.optimizer.row_passes import RowPass
from windrow.optimizer.woven_passes import WovenPass
from windrow.slicing import RowWindow, composite, composite_slide, cutty, cutty_per_window, edges, slices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from windrow.aggregates import Partial
    from windrow.aggregates.contents import Contents
    from windrow.final import Choice, Costs
    from windrow.logical import AggregateQuery
    from windrow.optimizer.passes import Pass
    from windrow.slicing import Cuts, Window


MOST_EDGES = 100_000
"""More are not counted one by one."""


def explain(
    queries: Mapping[str, AggregateQuery],
    quarantined: Mapping[str, str] | None = None,
    *,
    sql: bool = False,
    costs: Costs | None = None,
) -> str:
    """One block a pass, with the queries that share it; `sql` adds the statement that Spark runs.

    `quarantined` are queries that no longer run, with the reason; `costs` is what algorithms were
    measured to cost here.
    """
    if not queries and not quarantined:
        return "no queries"
    lines: list[str] = []
    passes = plan_passes(queries)
    explained: dict[str, int] = {}
    for number, shared in enumerate(passes, start=1):
        stream = shared.query.stream
        together = f", shared by {len(shared.queries)} queries" if len(shared.queries) > 1 else ""
        where = "for Python" if isinstance(shared, LiftedPass) else "in the JVM"
        lines.append(f"pass {number} of {len(passes)} over {stream.name} ({where}){together}")
        lines += [f"  {step}" for step in _steps(shared)]
        if sql:
            lines += [f"  | {line}" for line in shared.sql(Bounds()).splitlines()]
        for name, query in shared.queries.items():
            if name in explained:
                lines.append(f"  query {name}, as in pass {explained[name]}")
                continue
            explained[name] = number
            lines.append(f"  query {name}")
            steps = query.steps()
            lines += [f"  {'  ' * depth}  └ {step}" for depth, step in enumerate(steps)]
            lines.append(f"    slices: {_describe_slices(query.window)}")
            lines += [f"    values: {line}" for line in _contents(query)]
            if shares := _describe_shares(query):
                lines.append(f"    shares: {shares}")
            for operation, choice in choose_algorithms(query, query.aggregates, costs).items():
                hinted = choice.algorithm.name == query.algorithm
                why = describe_choice(choice, slices_per_window(query.window), hinted=hinted)
                if operation.interpreted:
                    asked = "as the hint asks; " if hinted else ""
                    why = f"{asked}merged in Python; chosen by the costs measured for {operation.like}"
                elif operation.like:
                    why = f"{why}; costs as measured for {operation.like}"
                if operation.note:
                    why = f"{operation.note}; {why}"
                lines.append(f"    final: {choice} for {operation.name} ({why})")
    if passes:
        lines.append(f"costs of algorithms: {(costs or shipped_costs()).source}")
    lines += [f"query {name} is quarantined: {why}" for name, why in (quarantined or {}).items()]
    return "\n".join(lines)


def _steps(shared: Pass | RowPass | LiftedPass | WovenPass) -> list[str]:
    """What Spark does with a batch."""
    readable = shared.query.readable
    if isinstance(shared, WovenPass):
        return _woven_steps(shared)
    if isinstance(shared, RowPass):
        given = dict.fromkeys(readable(sql) for sql in (*shared.query.keys, *shared.values.values()))
        ties = f", then by {', '.join(shared.order)}" if shared.order else ""
        return [f"sort rows by event time{ties}", f"collect {', '.join(given) or 'the rows'} of each row"]
    by = f" by {', '.join(map(readable, shared.query.keys))}" if shared.query.keys else ""
    if isinstance(shared, LiftedPass):
        written = dict.fromkeys(readable(partial.written) for partial in shared.partials)
        steps = ["collect keys and arguments of each row", f"lift {', '.join(written)}{by}, in Python"]
        if shared.ordered:
            ties = f", then by {', '.join(shared.order)}" if shared.order else ""
            steps.insert(0, f"sort rows by event time{ties}")
        return steps
    lifted = ", ".join(map(readable, shared.expressions)) or "the groups"
    if isinstance(shared.contents, InOrder):
        lifted = f"collect {readable(shared.contents.argument)} of each row"
    elif shared.contents is not None:
        what = readable(shared.contents.argument)
        lifted = f"count each {what} (or hand over each row, where values seldom repeat)"
    else:
        lifted = f"lift {lifted}"
    return [f"cut rows {describe_cuts(shared.cuts)}{_describe_pattern(shared)}", f"{lifted}{by}"]


def _contents(query: AggregateQuery) -> list[str]:
    """Which values are kept, and for what."""
    served: dict[Contents, list[str]] = {}
    for item in query.aggregates:
        contents = contents_of(item)
        if contents is not None:
            served.setdefault(contents, []).append(query.readable(str(item)))
    return [f"{query.readable(str(contents))}, for {', '.join(items)}" for contents, items in served.items()]


def _woven_steps(shared: WovenPass) -> list[str]:
    readable = shared.query.readable
    predicates = [readable(sql) for word in shared.words.values() for sql in word]
    steps = [
        f"mark rows by {_some(len(predicates), 'predicate')}: {'; '.join(predicates)}",
        f"lift {', '.join(map(readable, shared.expressions)) or 'the groups'}",
    ]
    for copy in shared.copies:
        by = f"by {', '.join(map(readable, copy.keys))}" if copy.keys else "ungrouped"
        served = f"{_some(len(copy.strands), 'class')}, {_some(len(copy.predicates), 'predicate')}"
        steps.append(f"{by}: {served}; cut {describe_cuts(copy.cuts)}")
    return steps


def _describe_pattern(shared: Pass) -> str:
    """How many edges the windows of a pass have together, and after how long they repeat."""
    windows = [query.window for query in shared.queries.values() if not isinstance(query.window, RowWindow)]
    if len(set(windows)) < 2:
        return ""
    length, cuts = composite_slide(windows), composite(windows)
    repeats = f"; their composite slide is {format_duration(length)}"
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


def _describe_shares(query: AggregateQuery) -> str:
    """The partials that serve several of a query's aggregates."""
    users: dict[Partial, list[str]] = {}
    for aggregate in query.aggregates:
        for partial in aggregate.partials:
            users.setdefault(partial, []).append(str(aggregate))
    shared = (f"{partial} for {', '.join(names)}" for partial, names in users.items() if len(names) > 1)
    return query.readable("; ".join(shared))


def _rows(count: int) -> str:
    return _some(count, "row")


def _some(count: int, what: str) -> str:
    plural = "es" if what.endswith("s") else "s"
    return f"{count} {what}{plural if count != 1 else ''}"


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

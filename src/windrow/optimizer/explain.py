"""The plan of a set of queries, as text: what each computes, what they share, how, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.cql import format_duration
from windrow.optimizer.passes import Bounds, share_passes
from windrow.optimizer.physical import choose_algorithms
from windrow.slicing import slices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from windrow.final import Choice, Costs
    from windrow.logical import AggregateQuery
    from windrow.slicing import Cuts, Window


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
    passes = share_passes(queries)
    for number, shared in enumerate(passes, start=1):
        stream = shared.query.stream
        together = f", shared by {len(shared.queries)} queries" if len(shared.queries) > 1 else ""
        lines.append(f"pass {number} of {len(passes)} over {stream.name} (in the JVM){together}")
        lines.append(f"  cut rows {describe_cuts(shared.cuts)}")
        readable = shared.query.readable
        by = f" by {', '.join(map(readable, shared.query.keys))}" if shared.query.keys else ""
        lines.append(f"  lift {', '.join(map(readable, shared.expressions)) or 'the groups'}{by}")
        if sql:
            lines += [f"  | {line}" for line in shared.sql(Bounds()).splitlines()]
        for name, query in shared.queries.items():
            lines.append(f"  query {name}")
            steps = query.steps()
            lines += [f"  {'  ' * depth}  └ {step}" for depth, step in enumerate(steps)]
            lines.append(f"    slices: {_describe_slices(query.window)}")
            for operation, choice in choose_algorithms(query, costs).items():
                hinted = choice.algorithm.name == query.algorithm
                why = describe_choice(choice, slices(query.window).per_window, hinted=hinted)
                lines.append(f"    final: {choice} for {operation.name} ({why})")
    lines += [f"query {name} is quarantined: {why}" for name, why in (quarantined or {}).items()]
    return "\n".join(lines)


def describe_cuts(cuts: Cuts) -> str:
    """Where rows are cut, for people."""
    teeth = [
        f"every {format_duration(comb.period)}" + (f" + {format_duration(comb.phase)}" if comb.phase else "")
        for comb in cuts.combs
    ]
    return " and ".join(teeth)


def _describe_slices(window: Window) -> str:
    technique, cuts, per_window = slices(window)
    return f"{technique}, {per_window} a window, cut {describe_cuts(cuts)}"


def describe_choice(choice: Choice, per_window: int, *, hinted: bool) -> str:
    """Why an algorithm was taken, for people."""
    cost = f"{choice.nanoseconds:.0f} ns a slide of {per_window} slice{'s' if per_window > 1 else ''}"
    why = f"as the hint asks, {cost}" if hinted else cost
    if choice.next_best is not None:
        better = "would take" if hinted else "the next,"
        why += f"; {choice.next_best.name} {better} {choice.next_nanoseconds:.0f}"
    return why

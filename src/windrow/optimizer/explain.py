"""The plan of a set of queries, as text: what each computes, what they share, how, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.cql import format_duration
from windrow.optimizer.bounds import Bounds
from windrow.optimizer.passes import share_passes
from windrow.optimizer.physical import plan_window_aggregation
from windrow.optimizer.row_passes import RowPass
from windrow.slicing import RowWindow, slices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from windrow.aggregates import Operation
    from windrow.logical import AggregateQuery
    from windrow.optimizer.passes import Pass
    from windrow.slicing import Cuts, Window


def explain(
    queries: Mapping[str, AggregateQuery], quarantined: Mapping[str, str] | None = None, *, sql: bool = False
) -> str:
    """One block a pass, with the queries that share it; `sql` adds the statement that Spark runs.

    `quarantined` are queries that no longer run, with the reason.
    """
    if not queries and not quarantined:
        return "no queries"
    lines: list[str] = []
    passes = share_passes(queries)
    for number, shared in enumerate(passes, start=1):
        stream = shared.query.stream
        together = f", shared by {len(shared.queries)} queries" if len(shared.queries) > 1 else ""
        lines.append(f"pass {number} of {len(passes)} over {stream.name} (in the JVM){together}")
        lines += [f"  {step}" for step in _steps(shared)]
        if sql:
            lines += [f"  | {line}" for line in shared.sql(Bounds()).splitlines()]
        for name, query in shared.queries.items():
            lines.append(f"  query {name}")
            steps = query.steps()
            lines += [f"  {'  ' * depth}  └ {step}" for depth, step in enumerate(steps)]
            lines.append(f"    slices: {_describe_slices(query.window)}")
            for operation, algorithm in plan_window_aggregation(query).algorithms.items():
                why = "as the hint asks" if query.algorithm else _why(operation)
                lines.append(f"    final: {algorithm.name} for {operation.name} ({why})")
    lines += [f"query {name} is quarantined: {why}" for name, why in (quarantined or {}).items()]
    return "\n".join(lines)


def _steps(shared: Pass | RowPass) -> list[str]:
    """What Spark does with a batch."""
    readable = shared.query.readable
    if isinstance(shared, RowPass):
        given = dict.fromkeys(readable(sql) for sql in (*shared.query.keys, *shared.values.values()))
        ties = f", then by {', '.join(shared.order)}" if shared.order else ""
        return [f"sort rows by event time{ties}", f"collect {', '.join(given) or 'the rows'} of each row"]
    by = f" by {', '.join(map(readable, shared.query.keys))}" if shared.query.keys else ""
    return [
        f"cut rows {describe_cuts(shared.cuts)}",
        f"lift {', '.join(map(readable, shared.expressions)) or 'the groups'}{by}",
    ]


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
        return "none, the last rows of each key as they are"
    technique, cuts, per_window = slices(window.on_numbers)
    return f"{technique}, {per_window} a window, cut {describe_cuts(cuts, _rows)}"


def _rows(count: int) -> str:
    return f"{count} row{'s'[: count != 1]}"


def _why(operation: Operation) -> str:
    if operation.algebra.invertible:
        return "exactly invertible: 2 operations a slide"
    if operation.algebra.nearly_invertible:
        return "floats drift under subtraction: 3 operations a slide"
    return "cannot be inverted: 3 operations a slide"

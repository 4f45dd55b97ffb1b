"""A bound query to what runs after Spark: its window aggregation, with an algorithm for each operation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.final import choose
from windrow.operators.window_aggregate import WindowAggregation
from windrow.slicing import slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.aggregates import Operation
    from windrow.final import Choice, Costs
    from windrow.logical import AggregateQuery
    from windrow.slicing import Window


def plan_window_aggregation(
    query: AggregateQuery, costs: Costs | None = None, windows: Sequence[Window] = ()
) -> WindowAggregation:
    """The cheapest admissible algorithm for every operation, or the one that a hint names.

    `windows`: several that end together, to be answered instead of the query's own from one structure.
    """
    ordered = tuple(sorted(windows or (query.window,)))
    longest = replace(query, window=ordered[-1])
    choices = choose_algorithms(longest, costs, len(ordered))
    return WindowAggregation(
        windows=ordered,
        keys=query.keys,
        key_types=query.key_types,
        aggregates=query.aggregates,
        algorithms={operation: choice.algorithm for operation, choice in choices.items()},
        time_type=query.stream.time_type,
    )


def choose_algorithms(
    query: AggregateQuery, costs: Costs | None = None, ranges: int = 1
) -> dict[Operation, Choice]:
    """The algorithm of each operation of a query, and why."""
    per_window = slices(query.window).per_window
    operations = dict.fromkeys(
        column.operation
        for aggregate in query.aggregates
        for partial in aggregate.partials
        for column in partial.columns
    )
    return {
        operation: choose(operation, per_window, ranges, costs, hint=query.algorithm)
        for operation in operations
    }

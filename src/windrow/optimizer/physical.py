"""A bound query to what runs after Spark: its window aggregation, with an algorithm for each operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.final import choose, named
from windrow.operators.window_aggregate import WindowAggregation

if TYPE_CHECKING:
    from windrow.logical import AggregateQuery


def plan_window_aggregation(query: AggregateQuery) -> WindowAggregation:
    """The cheapest admissible algorithm for every operation, or the one that a hint names."""
    operations = dict.fromkeys(
        column.operation
        for aggregate in query.aggregates
        for partial in aggregate.partials
        for column in partial.columns
    )
    return WindowAggregation(
        windows=(query.window,),
        keys=query.keys,
        key_types=query.key_types,
        aggregates=query.aggregates,
        algorithms={
            operation: named(query.algorithm) if query.algorithm else choose(operation)
            for operation in operations
        },
        time_type=query.stream.time_type,
    )

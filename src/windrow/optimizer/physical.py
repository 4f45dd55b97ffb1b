"""A bound query to what runs after Spark: its window aggregation, with an algorithm for each operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.final import choose, named
from windrow.operators.partitioned_row_windows import PartitionedRowWindows
from windrow.operators.row_windows import RowWindows
from windrow.operators.window_aggregate import WindowAggregate, WindowAggregation
from windrow.slicing import RowWindow

if TYPE_CHECKING:
    from windrow.logical import AggregateQuery
    from windrow.operators.base import WindowOperator


def window_operator(query: AggregateQuery) -> WindowOperator:
    """The operator that keeps the state of a query, as it is before the first row."""
    aggregation = plan_window_aggregation(query)
    if not isinstance(query.window, RowWindow):
        return WindowAggregate(aggregation)
    return PartitionedRowWindows(aggregation) if query.window.partitioned else RowWindows(aggregation)


def plan_window_aggregation(query: AggregateQuery) -> WindowAggregation:
    """The cheapest admissible algorithm for every operation, or the one that a hint names."""
    operations = dict.fromkeys(
        column.operation
        for aggregate in query.aggregates
        for partial in aggregate.partials
        for column in partial.columns
    )
    return WindowAggregation(
        window=query.window.on_numbers if isinstance(query.window, RowWindow) else query.window,
        keys=query.keys,
        key_types=query.key_types,
        aggregates=query.aggregates,
        algorithms={
            operation: named(query.algorithm) if query.algorithm else choose(operation)
            for operation in operations
        },
        time_type=query.stream.time_type,
    )

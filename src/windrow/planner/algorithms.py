"""A bound query to what runs after Spark: its operator, with an algorithm for each operation."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from windrow.final import choose
from windrow.logical import AggregateQuery, RelationalQuery, SelectQuery
from windrow.operators.aggregate.window_aggregate import WindowAggregate, WindowAggregation
from windrow.operators.relational.tree import RelationalTree
from windrow.operators.rows.ordered_windows import OrderedWindows, order_counts
from windrow.operators.rows.partitioned_row_windows import PartitionedRowWindows
from windrow.operators.rows.row_windows import RowWindows
from windrow.operators.selection import Selection
from windrow.operators.single_query import SingleQuery
from windrow.slicing import RowWindow, cutty_per_window, slices

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from windrow.aggregates import Aggregate, Operation
    from windrow.final import Choice, Costs
    from windrow.logical import BoundQuery
    from windrow.operators.base import Operator, WindowOperator
    from windrow.operators.relational.base import Around
    from windrow.slicing import Window


@singledispatch
def operator_for(
    bound: BoundQuery,
    query: int,
    choices: Mapping[Operation, Choice],
    complete_after: int | None,
    around: Around,
) -> Operator:
    """The operator of one query, whose number is given, as it is before the first row; with the algorithms
    that were chosen for it. `complete_after`: rows up to this instant had passed when the query came.
    `around`: what it is given by whoever runs it."""
    raise NotImplementedError(type(bound).__name__)


@operator_for.register(AggregateQuery)
def _(
    bound: AggregateQuery,
    query: int,
    choices: Mapping[Operation, Choice],
    complete_after: int | None,
    around: Around,
) -> Operator:
    return SingleQuery(query, window_operator(bound, choices), complete_after)


@operator_for.register(SelectQuery)
def _(
    bound: SelectQuery,
    query: int,
    choices: Mapping[Operation, Choice],
    complete_after: int | None,
    around: Around,
) -> Operator:
    return Selection(query, bound.stream.time_type)


@operator_for.register(RelationalQuery)
def _(
    bound: RelationalQuery,
    query: int,
    choices: Mapping[Operation, Choice],
    complete_after: int | None,
    around: Around,
) -> Operator:
    return RelationalTree(query, bound, around, complete_after)


def window_operator(query: AggregateQuery, choices: Mapping[Operation, Choice]) -> WindowOperator:
    """What keeps the state of a query's window, with the algorithms that were chosen for it."""
    if query.row_window is not None:
        return _row_operator(query.row_window)(_aggregation(query, (query.row_window.on_numbers,), choices))
    aggregation = _aggregation(query, query.time_windows, choices)
    ordered = any(map(order_counts, aggregation.partials))
    return OrderedWindows(aggregation) if ordered else WindowAggregate(aggregation)


def choose_for_operator(query: BoundQuery, costs: Costs | None = None) -> dict[Operation, Choice]:
    """The algorithms of the operator that keeps the state of a query: for each operation the cheapest."""
    if query.row_window is None:
        return choose_algorithms(query, query.aggregates, costs, query.time_windows)
    # What the operator asks of its rows beside the query's aggregates needs algorithms too.
    own = _row_operator(query.row_window).OWN_AGGREGATES
    return choose_algorithms(query, (*query.aggregates, *own), costs)


def _row_operator(window: RowWindow) -> type[RowWindows | PartitionedRowWindows]:
    return PartitionedRowWindows if window.partitioned else RowWindows


def plan_window_aggregation(
    query: AggregateQuery, windows: Sequence[Window], costs: Costs | None = None
) -> WindowAggregation:
    """A query's aggregation over a time window, or over several that end together, whatever its own is."""
    ordered = tuple(sorted(windows))
    return _aggregation(query, ordered, choose_algorithms(query, query.aggregates, costs, ordered))


def choose_algorithms(
    query: BoundQuery,
    aggregates: Iterable[Aggregate],
    costs: Costs | None = None,
    windows: Sequence[Window] = (),
) -> dict[Operation, Choice]:
    """For each operation the cheapest admissible algorithm, or the one that a hint names; none are needed
    without a window."""
    window = windows[-1] if windows else query.row_window
    if window is None:
        return {}
    operations = dict.fromkeys(
        column.operation for item in aggregates for partial in item.partials for column in partial.columns
    )
    partitioned = query.row_window is not None and query.row_window.partitioned
    per_window = slices_per_window(window)
    return {
        operation: choose(
            operation, per_window, max(len(windows), 1), costs, partitioned=partitioned, hint=query.algorithm
        )
        for operation in operations
    }


def slices_per_window(window: Window | RowWindow) -> int:
    """How many partials a window is put together from."""
    if not isinstance(window, RowWindow):
        return slices(window).per_window
    return cutty_per_window(window.on_numbers) if window.partitioned else slices(window.on_numbers).per_window


def _aggregation(
    query: AggregateQuery, windows: tuple[Window, ...], choices: Mapping[Operation, Choice]
) -> WindowAggregation:
    return WindowAggregation(
        windows=windows,
        keys=query.keys,
        key_types=query.key_types,
        aggregates=query.aggregates,
        algorithms={operation: choice.algorithm for operation, choice in choices.items()},
        time_type=query.stream.time_type,
    )

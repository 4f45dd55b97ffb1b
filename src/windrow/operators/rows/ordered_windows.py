"""Windows of time with an aggregate for which the order of rows counts.

1. Its rows wait until the watermark has passed them; then their place in the stream is final.
2. They are lifted and merged into slices, in order, and a `WindowAggregate` does the rest. Partials for
   which the order does not count go there at once.

State at rest: that of the windows, and the rows that wait. Cost: a sort of the rows that wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.columns import SLICE
from windrow.operators.aggregate.window_aggregate import WindowAggregate
from windrow.operators.rows.pending_rows import PendingRows
from windrow.operators.state.tables_at_rest import part, together

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from windrow.aggregates import Partial
    from windrow.operators.aggregate.window_aggregate import WindowAggregation

WINDOWS, PENDING = "windows", "pending"


def order_counts(partial: Partial) -> bool:
    """Whether rows have to be lifted in Python, and combined in stream order."""
    return partial.lifted_in_python and not partial.operation.algebra.commutative


class OrderedWindows:
    """The running state of a `WindowAggregation` whose rows have to come in order."""

    def __init__(self, aggregation: WindowAggregation) -> None:
        self.aggregation = aggregation
        self._windows = WindowAggregate(aggregation)
        self._names = [
            name
            for partial in aggregation.partials
            if partial.lifted_in_python
            for name in partial.expressions
        ]
        self._reset()

    def _reset(self) -> None:
        self._pending = PendingRows([SLICE, *self.aggregation.keys, *self._names])

    @property
    def entries(self) -> int:
        """How many partials and waiting rows it holds."""
        return self._windows.entries + len(self._pending)

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        return self._windows.bytes + self._pending.bytes

    @property
    def groups_known(self) -> int:
        """How many groups have a number."""
        return self._windows.groups_known

    @property
    def horizon(self) -> int:
        """Closed slices that begin before this are in no window to come."""
        return self._windows.horizon

    def closes(self, until: int) -> bool:
        """Whether advancing that far could answer anything."""
        evaluation = self.aggregation.window.first_evaluation_after(self._windows.evaluated)
        return self.entries > 0 and evaluation <= until

    def push(self, partials: pa.Table) -> None:
        """Take in what a pass has collected: partials, or rows in order with their instants as `_slice`."""
        if set(self._names) <= set(partials.column_names):
            self._pending.push(partials)
        else:
            self._windows.push(partials)

    def advance(self, until: int) -> Iterator[pa.Table]:
        """Give the rows before an instant to their slices, and answer the windows that end by then."""
        rows = self._pending.take(until)
        if rows is not None:
            self._windows.push(rows)
        yield from self._windows.advance(until)

    def closed_slices(self) -> pa.Table:
        """At rest: the slices that the last `advance` closed and that a window still needs."""
        return self._windows.closed_slices()

    def open_slices(self) -> pa.Table:
        """At rest: the slices that may still receive rows, and the rows that wait."""
        return together({WINDOWS: self._windows.open_slices(), PENDING: self._pending.table})

    def restore(
        self,
        closed: Sequence[pa.Table],
        open_slices: pa.Table | None,
        evaluated: int,
        complete_after: int | None = None,
    ) -> None:
        """Go on from tables at rest."""
        self._reset()
        opened = None if open_slices is None else part(open_slices, WINDOWS)
        self._windows.restore(closed, opened, evaluated, complete_after)
        pending = None if open_slices is None else part(open_slices, PENDING)
        if pending is not None and len(pending):
            self._pending.push(pending)

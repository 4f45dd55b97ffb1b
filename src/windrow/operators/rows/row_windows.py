"""`[ROWS n SLIDE m]`: the last n rows of the whole stream, evaluated every m rows.

1. Rows wait until the watermark has passed them; then their place in the stream is final.
2. They are numbered, from the stream's first row on; a row that WHERE refuses has its number too.
3. On the axis of these numbers the window is a time window, so a `WindowAggregate` does the rest: rows
   are merged into slices, and an evaluation is due when the e-th row is final.
4. A second one, over all rows and without groups, knows when each window's first and last row were.

State at rest: the slices of both, on the axis of row numbers; the rows that wait; how many have been
numbered. Cost: that of a time window, with every row a partial, plus the sort of the rows that wait.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates import Call, aggregate
from windrow.aggregates.base import value_name
from windrow.aggregates.contents import InOrder, contents_of
from windrow.columns import HOLDS, SLICE, WINDOW_END, WINDOW_ROW, WINDOW_START, aggregate_name
from windrow.operators.aggregate.record_layout import one_chunk
from windrow.operators.aggregate.window_aggregate import WindowAggregate, WindowAggregation
from windrow.operators.rows.pending_rows import PendingRows, lifted
from windrow.operators.state.tables_at_rest import part, together

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from windrow.aggregates import Aggregate
    from windrow.slicing import Window

GROUPS, TIMES, PENDING, COUNTED = "groups", "times", "pending", "counted"
FIRST, LAST = (aggregate(Call(name, ("_instant",)), (pa.int64(),), pa.int64()) for name in ("min", "max"))
INSTANTS = [sql for item in (FIRST, LAST) for partial in item.partials for sql in partial.expressions]


class RowWindows:
    """The running state of a window of rows. `aggregation` has its window on row numbers."""

    OWN_AGGREGATES: ClassVar[tuple[Aggregate, ...]] = (FIRST, LAST)

    def __init__(self, aggregation: WindowAggregation) -> None:
        self.aggregation = aggregation
        self._window: Window = aggregation.window
        needed = map(contents_of, aggregation.aggregates)
        self._contents = dict.fromkeys(contents for contents in needed if contents is not None)
        self._reset()

    def _reset(self, begins_after: int | None = None) -> None:
        self._groups = WindowAggregate(replace(self.aggregation, time_type=pa.int64()))
        self._times = WindowAggregate(_times(self.aggregation))
        values = [*map(value_name, self.aggregation.partials), *(c.value_name for c in self._contents)]
        self._pending = PendingRows([SLICE, HOLDS, *self.aggregation.keys, *values], begins_after)
        self._counted = 0

    @property
    def entries(self) -> int:
        """How many partials and waiting rows it holds."""
        return self._groups.entries + len(self._pending)

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        return self._groups.bytes + self._times.bytes + self._pending.bytes

    @property
    def groups_known(self) -> int:
        """How many groups have a number."""
        return self._groups.groups_known

    @property
    def horizon(self) -> int:
        """Closed slices that begin with an earlier row are in no window to come."""
        return self._groups.horizon

    def closes(self, until: int) -> bool:
        """Whether the rows before an instant complete a window."""
        counted = self._counted + self._pending.before(until)
        return self._window.first_evaluation_after(self._counted) <= counted

    def push(self, partials: pa.Table) -> None:
        """Take in the rows of a batch: `_slice` is the instant, then `_holds`, the keys and the values."""
        self._pending.push(partials)

    def advance(self, until: int) -> Iterator[pa.Table]:
        """Number the rows before an instant, and answer the windows that they complete."""
        rows = self._pending.take(until)
        if rows is not None:
            numbers = pa.array(np.arange(self._counted, self._counted + len(rows)))
            self._counted += len(rows)
            instants = one_chunk(rows, SLICE)
            self._times.push(pa.table({SLICE: numbers, **dict.fromkeys(INSTANTS, instants)}))
            holds = pc.fill_null(one_chunk(rows, HOLDS), False)
            rows, numbers = rows.filter(holds).combine_chunks(), numbers.filter(holds)
            self._groups.push(self._partials(rows, numbers))
        times = list(self._times.advance(self._counted))
        known = pa.concat_tables(times) if times else None
        for answers in self._groups.advance(self._counted):
            assert known is not None  # a group is answered where the window is
            yield self._with_times(answers, known)

    def closed_slices(self) -> pa.Table:
        """At rest: the slices that the last `advance` closed and that a window still needs."""
        return together({GROUPS: self._groups.closed_slices(), TIMES: self._times.closed_slices()})

    def open_slices(self) -> pa.Table:
        """At rest: the slices that are not full, the rows that wait, and how many have been counted."""
        parts = {GROUPS: self._groups.open_slices(), TIMES: self._times.open_slices()}
        counted = pa.table({SLICE: pa.array([self._counted])})
        return together({**parts, PENDING: self._pending.table, COUNTED: counted})

    def restore(
        self,
        closed: Sequence[pa.Table],
        open_slices: pa.Table | None,
        evaluated: int,
        complete_after: int | None = None,
    ) -> None:
        """Go on from tables at rest; rows up to `complete_after` are not counted."""
        self._reset(complete_after)
        if open_slices is None:
            return
        self._counted = part(open_slices, COUNTED)[SLICE][0].as_py()
        for name, state in ((GROUPS, self._groups), (TIMES, self._times)):
            state.restore([part(table, name) for table in closed], part(open_slices, name), self._counted)
        pending = part(open_slices, PENDING)
        if len(pending):
            self._pending.push(pending)

    def _partials(self, rows: pa.Table, numbers: pa.Array) -> pa.Table:
        columns = {SLICE: numbers} | {key: rows[key] for key in self.aggregation.keys}
        for partial in self.aggregation.partials:
            columns |= dict(zip(partial.expressions, lifted(partial, rows), strict=True))
        for contents in self._contents:
            columns[contents.value_name] = rows[contents.value_name]
            if isinstance(contents, InOrder):
                columns[contents.instant_name] = numbers
            else:
                columns[contents.count_name] = np.ones(len(rows), np.int64)
        return pa.table(columns)

    def _with_times(self, answers: pa.Table, times: pa.Table) -> pa.Table:
        """Row numbers become the event times of the window's first and last row."""
        numbers = answers[WINDOW_END]
        places = pa.array(np.searchsorted(times[WINDOW_END].to_numpy(), numbers.to_numpy()))
        first, last = (times[aggregate_name(i)].take(places) for i in (0, 1))
        of_type = self.aggregation.time_type
        window = {WINDOW_START: first.cast(of_type), WINDOW_END: last.cast(of_type)}
        rest = {name: answers[name] for name in answers.column_names[2:]}
        return pa.table({**window, WINDOW_ROW: numbers, **rest})


def _times(aggregation: WindowAggregation) -> WindowAggregation:
    """When each window's first and last row were."""
    return replace(aggregation, keys=(), key_types=(), aggregates=(FIRST, LAST), time_type=pa.int64())

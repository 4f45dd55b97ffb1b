"""`[PARTITION BY k ROWS n SLIDE m]`: the last n rows of each key, evaluated every m rows of that key.

1. Rows wait until the watermark has passed them; then their place in the stream is final.
2. Each becomes a record, which for a row that WHERE refuses stands for no rows at all: it takes a place.
3. `PartitionedRows` merges them into slices, ⌈n / m⌉ a window, and answers at every m-th row.
4. The least instant of a window is that of its first row, since rows come in the order of their instants.

State at rest is written whole with every epoch: the rows that wait, the slices of each key and, for good,
how many rows each key has had. So an epoch costs what the state costs, ⌈n / m⌉ × keys, however few rows
it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates import Call, aggregate
from windrow.aggregates.base import value_name
from windrow.columns import BEGINNING, HOLDS, SLICE, WINDOW_END, WINDOW_ROW, WINDOW_START
from windrow.errors import QueryFailed
from windrow.final import PartitionedRows
from windrow.operators.aggregate.group_keys import GroupKeys
from windrow.operators.aggregate.record_layout import RecordLayout, one_chunk
from windrow.operators.rows.pending_rows import PendingRows, lifted
from windrow.operators.state.arrays_at_rest import arrays_from, arrays_table
from windrow.operators.state.tables_at_rest import part, together

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from windrow.aggregates import Aggregate, Operation
    from windrow.aggregates.base import Packing
    from windrow.operators.aggregate.window_aggregate import WindowAggregation

    Array = np.ndarray[Any, Any]

PENDING, KEYS, RANKS, ARRAYS = "pending", "keys", "ranks", "arrays"
MOST_ROWS = 1 << 20
"""Rows taken in at a time: bounds the memory for answers, of which there may be one a row."""
FIRST: Aggregate = aggregate(Call("min", ("_instant",)), (pa.int64(),), pa.int64())
HELD: Aggregate = aggregate(Call("count", ("*",)), (pa.int32(),), pa.int64())


class PartitionedRowWindows:
    """The running state of a window of rows for each key. `aggregation` has its window on row numbers."""

    OWN_AGGREGATES: ClassVar[tuple[Aggregate, ...]] = (HELD, FIRST)

    def __init__(self, aggregation: WindowAggregation) -> None:
        self.aggregation = aggregation
        partials = dict.fromkeys([*aggregation.partials, *HELD.partials, *FIRST.partials])
        self._layout = RecordLayout(list(partials), self._rewrite)
        self._reset()

    def _reset(self, begins_after: int | None = None) -> None:
        window, keys = self.aggregation.window, self.aggregation.keys
        values = map(value_name, self.aggregation.partials)
        self._pending = PendingRows([SLICE, HOLDS, *keys, *values], begins_after)
        self._keys = GroupKeys(list(self.aggregation.key_types))
        self._windows = PartitionedRows(
            window.range, window.slide, self._layout.operations, self.aggregation.algorithms
        )
        self._layout.forget_ranks()

    @property
    def entries(self) -> int:
        """How many slices it holds, and rows that wait."""
        return self._windows.entries + len(self._pending)

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        return self._windows.bytes + self._pending.bytes

    @property
    def groups_known(self) -> int:
        """How many groups have a number."""
        return len(self._keys)

    @property
    def horizon(self) -> int:
        """Nothing is closed, so nothing closed is needed."""
        return BEGINNING

    def closes(self, until: int) -> bool:
        """Whether rows become final, which may complete the window of some key."""
        return self._pending.before(until) > 0

    def push(self, partials: pa.Table) -> None:
        """Take in the rows of a batch: `_slice` is the instant, then `_holds`, the keys and the values."""
        self._pending.push(partials)

    def advance(self, until: int) -> Iterator[pa.Table]:
        """Give the rows before an instant to their keys, and answer the windows that they complete."""
        rows = self._pending.take(until)
        if rows is None:
            return
        for offset in range(0, len(rows), MOST_ROWS):
            answers = self._append(rows.slice(offset, MOST_ROWS))
            if len(answers):
                yield answers
        if self._layout.ranked_values > 10_000 + 4 * self.entries * len(self._layout.dictionaries):
            self._layout.forget_dead_ranks()

    def _append(self, rows: pa.Table) -> pa.Table:
        instants = one_chunk(rows, SLICE)
        keys = self._keys.encode([one_chunk(rows, key) for key in self.aggregation.keys])
        columns = {partial: partial.encode(lifted(partial, rows)) for partial in self.aggregation.partials}
        columns |= {partial: partial.encode(partial.lift(instants)) for partial in FIRST.partials}
        holds = one_chunk(rows, HOLDS)
        columns |= {partial: partial.encode(partial.lift(holds)) for partial in HELD.partials}
        records = self._layout.records(columns, len(rows))
        places, numbers, records = self._windows.append(keys, records, len(self._keys))
        window = {
            WINDOW_START: self._layout.answers(FIRST, records).cast(self.aggregation.time_type),
            WINDOW_END: instants.take(pa.array(places)).cast(self.aggregation.time_type),
            WINDOW_ROW: pa.array(numbers),
        }
        answers = [self._layout.answers(item, records) for item in self.aggregation.aggregates]
        answered = [*window.values(), *self._keys.columns(keys[places]), *answers]
        names = [*window, *self.aggregation.answer_names[2:]]
        # As in any GROUP BY, a key without a row that WHERE lets through has no answer.
        some = pc.greater(self._layout.answers(HELD, records), 0)
        return pa.table(answered, names=names).filter(some)

    def closed_slices(self) -> pa.Table:
        """At rest: nothing; it is all written anew each time."""
        return pa.table({SLICE: pa.array([], pa.int64())})

    def open_slices(self) -> pa.Table:
        """At rest: the rows that wait, the keys in their order, ranked values, and the windows."""
        columns = self._keys.columns(np.arange(len(self._keys)))
        numbers = {SLICE: np.arange(len(self._keys))}
        keys = pa.table(numbers | dict(zip(self.aggregation.keys, columns, strict=True)))
        ranks = {
            name: pa.table({SLICE: np.zeros(len(values), np.int64), name: values})
            for name, values in ((name, held.values) for name, held in self._dictionaries())
        }
        arrays = arrays_table(self._windows.snapshot(), self._packing)
        arrays = arrays.append_column(SLICE, pa.array(np.zeros(len(arrays), np.int64)))
        return together({PENDING: self._pending.table, KEYS: keys, **ranks, ARRAYS: arrays})

    def restore(
        self,
        closed: Sequence[pa.Table],
        open_slices: pa.Table | None,
        evaluated: int,
        complete_after: int | None = None,
    ) -> None:
        """Go on from a table at rest; rows up to `complete_after` are not counted."""
        self._reset(complete_after)
        if open_slices is None:
            return
        keys = part(open_slices, KEYS)
        if len(keys):
            self._keys.encode([one_chunk(keys, name) for name in self.aggregation.keys])
        for name, dictionary in self._dictionaries():
            dictionary.values = one_chunk(part(open_slices, name), name)
        self._windows.restore(arrays_from(part(open_slices, ARRAYS), self._packing))
        pending = part(open_slices, PENDING)
        if len(pending):
            self._pending.push(pending)

    def _dictionaries(self) -> list[tuple[str, Any]]:
        """The ranked values with a name at rest, in the order of the slots."""
        held = self._layout.dictionaries.values()
        return [(f"{RANKS} {place}", dictionary) for place, dictionary in enumerate(held)]

    def _packing(self, array: str) -> Packing:
        """How the objects of one of the arrays of the windows are packed: they are those of an operation."""
        for slot in (slot for slots in self._layout.slots.values() for slot in slots):
            if slot.column.packing is not None and array.startswith(f"{slot.column.operation.name} "):
                return slot.column.packing
        raise QueryFailed(f"its state was kept otherwise: there are no objects in {array}")

    def _rewrite(self, operation: Operation, place: int, function: Callable[[Array], Array]) -> None:
        self._windows.rewrite(operation, place, function)

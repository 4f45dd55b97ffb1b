"""The final half of one aggregate query: partials collected from Spark in, answers out.

The same code runs in the driver, for a stream, and in Spark's tasks, for `windrow.sliding()`.

1. `push`: a table of partials, one row a slice (or finer granule) and key, in any order.
2. Partials become records; those of one slice and key are merged while the slice is open.
3. `advance`: slices that no row can enter any more close; windows that end by then are assembled.
4. Records are lowered to answers: one row a window and key that has at least one row.

State at rest is two Arrow tables, the closed slices still in a window and the open ones, with keys
and ranked values as themselves; `restore` folds them again, to the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.operations import MIN_INT64
from windrow.aggregates.ordered_dictionary import OrderedDictionary
from windrow.final import KeyedWindows
from windrow.logical import aggregate_name, key_name
from windrow.operators.group_keys import GroupKeys
from windrow.operators.open_slices import OpenSlices
from windrow.slicing import composite

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from windrow.aggregates import Aggregate, Operation, Partial, RecordColumn
    from windrow.final import FinalAggregator
    from windrow.slicing import Window

    Array = np.ndarray[Any, Any]
    Records = dict[Operation, Array]

SLICE = "_slice"
BEGINNING, END_OF_TIME = -(1 << 62), 1 << 62
"""Instants before and after all event times, far enough from overflow to add a range."""


@dataclass(frozen=True)
class WindowAggregation:
    """What to compute: the windows, the key columns as collected, and the aggregates."""

    windows: tuple[Window, ...]
    """One, or several that end together (one slide and offset) in ascending order of their ranges."""
    keys: tuple[str, ...]
    key_types: tuple[pa.DataType, ...]
    aggregates: tuple[Aggregate, ...]
    algorithms: Mapping[Operation, type[FinalAggregator]]
    time_type: pa.DataType
    """The type of `window_start` and `window_end`."""

    @property
    def window(self) -> Window:
        """The longest window."""
        return self.windows[-1]

    @property
    def partials(self) -> tuple[Partial, ...]:
        """Every partial once, in order of first use."""
        return tuple(dict.fromkeys(p for aggregate in self.aggregates for p in aggregate.partials))

    @property
    def answer_names(self) -> list[str]:
        """The columns of an answer table."""
        return [
            "window_start",
            "window_end",
            *(key_name(i) for i in range(len(self.keys))),
            *(aggregate_name(i) for i in range(len(self.aggregates))),
        ]


@dataclass(frozen=True)
class _Slot:
    """Where a record column lives: which operation's matrix, and which column of it."""

    column: RecordColumn
    place: int


class WindowAggregate:
    """The running state of a `WindowAggregation`."""

    def __init__(self, aggregation: WindowAggregation) -> None:
        self.aggregation = aggregation
        self.evaluated = BEGINNING
        self._slots: dict[Partial, list[_Slot]] = {}
        widths: dict[Operation, int] = {}
        for partial in aggregation.partials:
            self._slots[partial] = []
            for column in partial.columns:
                place = widths.get(column.operation, 0)
                widths[column.operation] = place + 1
                self._slots[partial].append(_Slot(column, place))
        self._operations = list(widths.items())
        self._cuts = composite(aggregation.windows)
        self._reset()

    def _reset(self) -> None:
        self._keys = GroupKeys(list(self.aggregation.key_types))
        self._open = OpenSlices(self._operations)
        self._windows = KeyedWindows(self.aggregation.windows, self._operations, self.aggregation.algorithms)
        self._dictionaries = {
            slot: OrderedDictionary(slot.column.ranked)
            for slots in self._slots.values()
            for slot in slots
            if slot.column.ranked is not None
        }
        self._closed_rows = 0

    @property
    def entries(self) -> int:
        """How many partials the state holds, open slices included."""
        return self._windows.entries + len(self._open.starts)

    @property
    def bytes(self) -> int:
        """About how much memory the partials take."""
        width = sum(width * np.dtype(operation.dtype).itemsize for operation, width in self._operations)
        return self.entries * (12 + width)

    @property
    def live_keys(self) -> int:
        """How many groups have rows in the current window."""
        return self._windows.live_keys

    def push(self, partials: pa.Table) -> None:
        """Take in partials: a `_slice` column, the keys and the partials' expressions, by name."""
        partials = partials.combine_chunks()
        starts = self._cuts.slice_starts(_column(partials, SLICE).to_numpy())
        keys = self._number_keys(partials)
        columns = {
            partial: partial.encode([_column(partials, name) for name in partial.expressions])
            for partial in self.aggregation.partials
        }
        records = self._records(columns, len(starts))
        self._open.merge(starts, keys, records, len(self._keys))

    def advance(self, until: int) -> Iterator[pa.Table]:
        """Close the slices of all windows that end by `until`, and answer those windows."""
        for _, answers in self.advance_each(until):
            yield answers

    def advance_each(self, until: int) -> Iterator[tuple[Window, pa.Table]]:
        """The same, with the window that a table answers."""
        self._closed_rows = 0
        if until <= self.evaluated:
            return
        edge = self.aggregation.window.last_evaluation_until(until)
        closed = self._open.close(before=edge)
        self._windows.append(*closed, len(self._keys))
        for window, ends, keys, records in self._windows.evaluate(self.evaluated, until):
            yield window, self._lower(window, ends, keys, records)
        self.evaluated = until
        self._closed_rows = min(len(closed[0]), self._windows.entries)
        self._forget_dead_keys()

    def closed_slices(self) -> pa.Table:
        """At rest: the slices that the last `advance` closed and that a window still needs."""
        starts, keys, records = self._windows.held()
        new = slice(len(starts) - self._closed_rows, None)
        return self._at_rest(starts[new], keys[new], {op: rows[new] for op, rows in records.items()})

    def open_slices(self) -> pa.Table:
        """At rest: the slices that may still receive rows."""
        return self._at_rest(self._open.starts, self._open.keys, self._open.records)

    def restore(self, closed: Sequence[pa.Table], open_slices: pa.Table | None, evaluated: int) -> None:
        """Go on from tables at rest, closed ones in the order in which they were made."""
        self._reset()
        self.evaluated = evaluated
        horizon = self.aggregation.window.first_evaluation_after(evaluated) - self.aggregation.window.range
        for table in closed:
            kept = table.filter(pa.compute.greater_equal(table[SLICE], horizon)).combine_chunks()
            self._windows.append(*self._from_rest(kept), len(self._keys))
        if open_slices is not None:
            self._open.merge(*self._from_rest(open_slices.combine_chunks()), len(self._keys))

    def _number_keys(self, table: pa.Table) -> Array:
        names = self.aggregation.keys
        if not names:
            return self._keys.single(len(table))
        return self._keys.encode([_column(table, name) for name in names])

    def _records(self, columns: Mapping[Partial, Sequence[Any]], rows: int) -> Records:
        records = {
            operation: np.empty((rows, width), operation.dtype) for operation, width in self._operations
        }
        for partial, slots in self._slots.items():
            for slot, values in zip(slots, columns[partial], strict=True):
                if slot.column.ranked is not None:
                    values = self._rank(slot, values)
                records[slot.column.operation][:, slot.place] = values
        return records

    def _rank(self, slot: _Slot, values: pa.Array) -> Array:
        codes, moved = self._dictionaries[slot].encode(values)
        if moved is not None and len(moved):

            def shift(held: Array) -> Array:
                codes = ~held if slot.column.descending else held
                absent = held == MIN_INT64
                shifted = moved[np.where(absent, 0, codes)]
                return np.where(absent, MIN_INT64, ~shifted if slot.column.descending else shifted)

            self._windows.rewrite(slot.column.operation, slot.place, shift)
            held = self._open.records[slot.column.operation]
            held[:, slot.place] = shift(held[:, slot.place])
        return np.where(codes < 0, MIN_INT64, ~codes if slot.column.descending else codes)

    def _values(self, slot: _Slot, held: Array) -> Any:
        """A record column as `Partial.encode` gave it: ranks become values again."""
        if slot.column.ranked is None:
            return held
        absent = held == MIN_INT64
        codes = ~held if slot.column.descending else held
        return self._dictionaries[slot].decode(np.where(absent, -1, codes))

    def _lower(self, window: Window, ends: Array, keys: Array, records: Records) -> pa.Table:
        aggregation = self.aggregation
        starts = ends - window.range
        times = [pa.array(instants).cast(aggregation.time_type) for instants in (starts, ends)]
        answers = []
        for aggregate in aggregation.aggregates:
            slots = [slot for partial in aggregate.partials for slot in self._slots[partial]]
            held = [self._values(slot, records[slot.column.operation][:, slot.place]) for slot in slots]
            answers.append(aggregate.lower(held))
        columns = [*times, *self._keys.columns(keys), *answers]
        return pa.table(columns, names=aggregation.answer_names)

    def _at_rest(self, starts: Array, keys: Array, records: Records) -> pa.Table:
        columns: dict[str, Any] = {SLICE: pa.array(starts)}
        columns.update(zip(self.aggregation.keys, self._keys.columns(keys), strict=True))
        for partial, slots in self._slots.items():
            for place, slot in enumerate(slots):
                held = records[slot.column.operation][:, slot.place]
                columns[f"{partial}#{place}"] = pa.array(self._values(slot, held))
        return pa.table(columns)

    def _from_rest(self, table: pa.Table) -> tuple[Array, Array, Records]:
        columns = {
            partial: [
                values if slot.column.ranked is not None else values.to_numpy()
                for slot, values in (
                    (slot, _column(table, f"{partial}#{place}")) for place, slot in enumerate(slots)
                )
            ]
            for partial, slots in self._slots.items()
        }
        keys = self._number_keys(table)
        return _column(table, SLICE).to_numpy(), keys, self._records(columns, len(table))

    def _forget_dead_keys(self) -> None:
        """Number the keys and rank the values anew when most of them are no longer in use."""
        known = len(self._keys) + sum(len(d.values) for d in self._dictionaries.values())
        if known <= 10_000 + 4 * self.entries * (1 + len(self._dictionaries)):
            return
        new = self._closed_rows
        held = self._at_rest(*self._windows.held())
        self.restore([held], self.open_slices(), self.evaluated)
        self._closed_rows = min(new, self._windows.entries)  # it keeps only what the next window needs


def _column(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()

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

from windrow.aggregates.contents import contents_of
from windrow.columns import BEGINNING, SLICE, WINDOW_END, WINDOW_START, aggregate_name, key_name
from windrow.final import KeyedWindows
from windrow.operators.aggregate.contents_state import contents_states
from windrow.operators.aggregate.keyed_records import KeyedRecords
from windrow.operators.aggregate.open_slices import OpenSlices
from windrow.operators.aggregate.record_layout import one_chunk
from windrow.operators.state.tables_at_rest import part, together
from windrow.slicing import composite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from windrow.aggregates import Aggregate, Operation, Partial
    from windrow.final import FinalAggregator
    from windrow.operators.aggregate.contents_state import ContentsState
    from windrow.slicing import Window

    Array = np.ndarray[Any, Any]
    Records = dict[Operation, Array]

SLICES, CONTENTS = "slices", "_contents"
"""At rest, where a query has contents: the part of its records, and the column that tells parts apart."""
LARGE = 64 << 20
"""Structures below this size are not worth being built anew."""


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
            WINDOW_START,
            WINDOW_END,
            *(key_name(i) for i in range(len(self.keys))),
            *(aggregate_name(i) for i in range(len(self.aggregates))),
        ]


class WindowAggregate:
    """The running state of a `WindowAggregation`."""

    def __init__(self, aggregation: WindowAggregation) -> None:
        self.aggregation = aggregation
        self.evaluated = BEGINNING
        self._groups = KeyedRecords(
            aggregation.keys, aggregation.key_types, aggregation.partials, self._rewrite
        )
        self._cuts = composite(aggregation.windows)
        self._reset()

    def _reset(self) -> None:
        aggregation, operations = self.aggregation, self._groups.layout.operations
        self._groups.forget()
        self._open = OpenSlices(operations)
        self._contents = contents_states(aggregation.windows, aggregation.aggregates)
        self._windows = KeyedWindows(aggregation.windows, operations, aggregation.algorithms, self._contents)
        self._closed_rows = 0

    @property
    def entries(self) -> int:
        """How many partials and values the state holds, open slices included."""
        values = sum(contents.entries for contents in self._contents.values())
        return self._windows.entries + len(self._open.starts) + values

    @property
    def bytes(self) -> int:
        """About how much memory the partials and the structures over them take."""
        slices = self._windows.entries + len(self._open.starts)
        values = sum(contents.bytes for contents in self._contents.values())
        return slices * (12 + self._groups.layout.record_bytes) + self._windows.structure_bytes + values

    @property
    def groups_known(self) -> int:
        """How many groups have a number."""
        return len(self._groups)

    @property
    def horizon(self) -> int:
        """Closed slices that begin before this are in no window to come."""
        return self._horizon(self.evaluated)

    def _horizon(self, evaluated: int) -> int:
        if evaluated == BEGINNING:
            return BEGINNING
        window = self.aggregation.window
        return window.first_evaluation_after(evaluated) - window.range

    def closes(self, until: int) -> bool:
        """Whether advancing that far could answer anything."""
        return self.entries > 0 and self.aggregation.window.first_evaluation_after(self.evaluated) <= until

    def push(self, partials: pa.Table) -> None:
        """Take in a table of a pass: a `_slice` column, the keys, and what the pass has collected, which
        are partials by their expressions, some or all of them, or contents by their names."""
        partials = partials.combine_chunks()
        starts = self._cuts.slice_starts(one_chunk(partials, SLICE).to_numpy())
        keys = self._groups.numbers(partials)
        collected = set(partials.column_names)
        for contents, state in self._contents.items():
            if contents.value_name in collected:
                state.push(starts, keys, partials)
        ours = [p for p in self.aggregation.partials if collected.issuperset(p.expressions)]
        if self.aggregation.partials and not ours:
            return  # the passes with the partials have the same slices and keys
        records = self._groups.collected(partials, ours)
        self._open.merge(starts, keys, records, len(self._groups))

    def advance(self, until: int) -> Iterator[pa.Table]:
        """Close the slices of all windows that end by `until`, and answer those windows."""
        for _, answers in self.advance_each(until):
            yield answers

    def advance_each(self, until: int) -> Iterator[tuple[Window, pa.Table]]:
        """Close the slices of all windows that end by `until`: their answers, each table with its window."""
        self._closed_rows = 0
        if until <= self.evaluated:
            return
        edge = self.aggregation.window.last_evaluation_until(until)
        closed = self._open.close(before=edge)
        self._windows.append(*closed, len(self._groups))
        for contents in self._contents.values():
            contents.close(edge, self._horizon(until))
        most = min((contents.most_answers for contents in self._contents.values()), default=None)
        for window, ends, keys, records in self._windows.evaluate(self.evaluated, until, most):
            yield window, self._lower(window, ends, keys, records)
        self.evaluated = until
        for contents in self._contents.values():
            contents.forget(self.horizon)
        self._closed_rows = min(len(closed[0]), self._windows.entries)
        self._forget_dead_keys()

    def closed_slices(self) -> pa.Table:
        """At rest: the slices that the last `advance` closed and that a window still needs."""
        starts, keys, records = self._windows.held()
        new = slice(len(starts) - self._closed_rows, None)
        slices = self._groups.at_rest(starts[new], keys[new], {op: rows[new] for op, rows in records.items()})
        return self._with_contents(slices, lambda contents: contents.closed_at_rest())

    def held_slices(self) -> pa.Table:
        """At rest: all closed slices that a window still needs."""
        slices = self._groups.at_rest(*self._windows.held())
        return self._with_contents(slices, lambda contents: contents.held_at_rest())

    def open_slices(self) -> pa.Table:
        """At rest: the slices that may still receive rows."""
        slices = self._groups.at_rest(self._open.starts, self._open.keys, self._open.records)
        return self._with_contents(slices, lambda contents: contents.open_at_rest())

    def restore(
        self,
        closed: Sequence[pa.Table],
        open_slices: pa.Table | None,
        evaluated: int,
        complete_after: int | None = None,
    ) -> None:
        """Go on from tables at rest, closed ones in the order in which they were made.

        `complete_after`: only windows that begin later than this hold all their rows; others are not
        answered.
        """
        self._reset()
        if complete_after is not None:
            evaluated = max(evaluated, complete_after + self.aggregation.window.range)
        self.evaluated = evaluated
        for table in closed:
            kept = table.filter(pa.compute.greater_equal(table[SLICE], self.horizon)).combine_chunks()
            self._windows.append(*self._groups.from_rest(self._part(kept, SLICES)), len(self._groups))
            for contents, own in self._parts(kept):
                contents.restore_closed(*self._groups.place(own), own)
        if open_slices is not None:
            slices = self._part(open_slices.combine_chunks(), SLICES)
            self._open.merge(*self._groups.from_rest(slices), len(self._groups))
            for contents, own in self._parts(open_slices):
                contents.push(*self._groups.place(own), own)

    def _rewrite(self, operation: Operation, place: int, function: Callable[[Array], Array]) -> None:
        self._windows.rewrite(operation, place, function)
        held = self._open.records[operation]
        held[:, place] = function(held[:, place])

    def _lower(self, window: Window, ends: Array, keys: Array, records: Records) -> pa.Table:
        aggregation = self.aggregation
        starts = ends - window.range
        times = [pa.array(instants).cast(aggregation.time_type) for instants in (starts, ends)]
        answers = [self._answers(aggregate, records) for aggregate in aggregation.aggregates]
        columns = [*times, *self._groups.columns(keys), *answers]
        return pa.table(columns, names=aggregation.answer_names)

    def _answers(self, aggregate: Aggregate, records: dict[Any, Any]) -> pa.Array:
        contents = contents_of(aggregate)
        if contents is None:
            return self._groups.layout.answers(aggregate, records)
        return self._contents[contents].answers(aggregate, records[contents])

    def _with_contents(self, slices: pa.Table, at_rest: Callable[[ContentsState], Any]) -> pa.Table:
        """One table of the slices and the contents, where there are any."""
        if not self._contents:
            return slices
        parts = {str(name): self._groups.in_slices(*at_rest(state)) for name, state in self._contents.items()}
        return together({SLICES: slices, **parts}, CONTENTS)

    def _part(self, table: pa.Table, name: str) -> pa.Table:
        return part(table, name, CONTENTS) if self._contents else table

    def _parts(self, table: pa.Table) -> Iterator[tuple[ContentsState, pa.Table]]:
        for name, contents in self._contents.items():
            yield contents, part(table, str(name), CONTENTS)

    def _forget_dead_keys(self) -> None:
        """Number the keys, rank the values and build the structures anew when most is no longer in use."""
        layout = self._groups.layout
        known = self._groups.known + sum(contents.known for contents in self._contents.values())
        many = known > 10_000 + 4 * self.entries * (1 + len(layout.dictionaries))
        # A structure takes up to 4 records an entry, and one that was larger keeps its room.
        large = self._windows.structure_bytes > LARGE + 16 * self.entries * layout.record_bytes
        if not (many or large):
            return
        new = self._closed_rows
        self.restore([self.held_slices()], self.open_slices(), self.evaluated)
        self._closed_rows = min(new, self._windows.entries)  # it keeps only what the next window needs

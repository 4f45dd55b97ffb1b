"""Where the partials of a query's aggregates lie in its records, and how they get there and back.

A query has one matrix of records for each operation, and a record column of any of its partials has a
place in one of them. Values of a type that does not fit in 64 bits are held as ranks among the live ones;
a new value shifts the ranks behind it, in every record that the caller holds.

Cost: a copy of the columns; a batch that brings new ranked values rewrites one column of all records held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.operations import MIN_INT64
from windrow.aggregates.ordered_dictionary import OrderedDictionary
from windrow.errors import QueryFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from windrow.aggregates import Aggregate, Operation, Partial, RecordColumn

    Array = np.ndarray[Any, Any]
    Records = dict[Operation, Array]
    Rewrite = Callable[[Operation, int, Callable[[Array], Array]], None]


@dataclass(frozen=True)
class Slot:
    """Where a record column lives: which operation's matrix, and which column of it."""

    column: RecordColumn
    place: int


class RecordLayout:
    """The slots of a query's partials, and the ranks of its values.

    `rewrite` applies a function to one column of every record that the caller holds.
    """

    def __init__(self, partials: Sequence[Partial], rewrite: Rewrite) -> None:
        self.slots: dict[Partial, list[Slot]] = {}
        widths: dict[Operation, int] = {}
        for partial in partials:
            self.slots[partial] = []
            for column in partial.columns:
                place = widths.get(column.operation, 0)
                widths[column.operation] = place + 1
                self.slots[partial].append(Slot(column, place))
        self.operations = list(widths.items())
        self._rewrite = rewrite
        self.forget_ranks()

    def forget_ranks(self) -> None:
        """Begin anew: no value has a rank."""
        self.dictionaries = {
            slot: OrderedDictionary(slot.column.ranked)
            for slots in self.slots.values()
            for slot in slots
            if slot.column.ranked is not None
        }

    @property
    def record_bytes(self) -> int:
        """How much memory one record of each operation takes."""
        return sum(slot.column.bytes for slots in self.slots.values() for slot in slots)

    @property
    def ranked_values(self) -> int:
        """How many values have a rank."""
        return sum(len(dictionary.values) for dictionary in self.dictionaries.values())

    def records(self, columns: Mapping[Partial, Sequence[Any]], rows: int) -> Records:
        """Records from the columns that `Partial.encode` gives; a partial without any stands for no rows."""
        if len(columns) == len(self.slots):  # all is overwritten
            records = {
                operation: np.empty((rows, width), operation.dtype) for operation, width in self.operations
            }
        else:
            records = {operation: operation.empty(rows, width) for operation, width in self.operations}
        for partial, encoded in columns.items():
            for slot, values in zip(self.slots[partial], encoded, strict=True):
                if slot.column.ranked is not None:
                    values = self._rank(slot, values)
                records[slot.column.operation][:, slot.place] = values
        return records

    def answers(self, aggregate: Aggregate, records: Records) -> pa.Array:
        """The answers of one aggregate."""
        slots = [slot for partial in aggregate.partials for slot in self.slots[partial]]
        return aggregate.lower([self.values(slot, records) for slot in slots])

    def at_rest(self, records: Records) -> dict[str, pa.Array]:
        """Records as columns of their own values, by names that stay."""
        return {
            f"{partial}#{place}": self._packed(slot, records)
            for partial, slots in self.slots.items()
            for place, slot in enumerate(slots)
        }

    def from_rest(self, table: pa.Table, *, whole: bool = True) -> Records:
        """The records that `at_rest` wrote down; `whole`: of all partials, or else something is wrong."""
        columns = {
            partial: [
                self._unpacked(slot, _kept(table, f"{partial}#{place}")) for place, slot in enumerate(slots)
            ]
            for partial, slots in self.slots.items()
            if whole or f"{partial}#0" in table.column_names
        }
        return self.records(columns, len(table))

    def values(self, slot: Slot, records: Records) -> Any:
        """A record column as `Partial.encode` gave it: ranks become values again."""
        held = records[slot.column.operation][:, slot.place]
        if slot.column.ranked is None:
            return held
        absent = held == MIN_INT64
        codes = ~held if slot.column.descending else held
        return self.dictionaries[slot].decode(np.where(absent, -1, codes))

    def _packed(self, slot: Slot, records: Records) -> pa.Array:
        values = self.values(slot, records)
        return pa.array(values) if slot.column.packing is None else slot.column.packing.pack(values)

    @staticmethod
    def _unpacked(slot: Slot, values: pa.Array) -> Any:
        if slot.column.packing is not None:
            return slot.column.packing.unpack(values)
        if slot.column.ranked is not None:
            return values
        if values.null_count:  # from before there was this partial
            values = values.fill_null(slot.column.operation.identity)
        return values.to_numpy()

    def _rank(self, slot: Slot, values: pa.Array) -> Array:
        codes, moved = self.dictionaries[slot].encode(values)
        if moved is not None:
            self.move(slot, moved)
        return np.where(codes < 0, MIN_INT64, ~codes if slot.column.descending else codes)

    def forget_dead_ranks(self) -> None:
        """Rank only the values that some record still holds."""
        for slot, dictionary in self.dictionaries.items():
            used = np.zeros(len(dictionary.values), bool)

            def look(held: Array, slot: Slot = slot, used: Array = used) -> Array:
                codes = held[held != MIN_INT64]
                used[~codes if slot.column.descending else codes] = True
                return held

            self._rewrite(slot.column.operation, slot.place, look)
            self.move(slot, np.cumsum(used) - 1)
            dictionary.values = dictionary.values.filter(pa.array(used))

    def move(self, slot: Slot, moved: Array) -> None:
        """Give every record held the new rank of its value, `moved` by the old one."""
        if not len(moved):
            return  # no record holds a value

        def shift(held: Array) -> Array:
            codes = ~held if slot.column.descending else held
            absent = held == MIN_INT64
            shifted = moved[np.where(absent, 0, codes)]
            return np.where(absent, MIN_INT64, ~shifted if slot.column.descending else shifted)

        self._rewrite(slot.column.operation, slot.place, shift)


def _kept(table: pa.Table, name: str) -> pa.Array:
    if name not in table.column_names:
        held = ", ".join(column for column in table.column_names if "#" in column) or "nothing"
        raise QueryFailed(
            f"its state was kept otherwise: there is no {name.partition('#')[0]} in it, but {held}. If the "
            "state of an aggregate of your own has changed, drop the query and register it anew"
        )
    return one_chunk(table, name)


def one_chunk(table: pa.Table, name: str) -> pa.Array:
    """A column of a table as one array."""
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()

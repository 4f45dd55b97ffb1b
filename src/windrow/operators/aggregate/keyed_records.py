"""The partials of slices as arrays, and back: a number for each group, a record for each partial.

Collected tables come in with the groups and partials as Spark gave them; tables at rest have groups and
values as themselves, by names that stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from windrow.columns import SLICE
from windrow.operators.aggregate.group_keys import GroupKeys
from windrow.operators.aggregate.record_layout import RecordLayout, one_chunk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from windrow.aggregates import Operation, Partial
    from windrow.operators.aggregate.record_layout import Rewrite

    Array = np.ndarray[Any, Any]
    Records = dict[Operation, Array]


class KeyedRecords:
    """The groups seen, and where partials lie in records.

    `rewrite` applies a function to one column of every record that the caller holds.
    """

    def __init__(
        self, keys: Sequence[str], types: Sequence[pa.DataType], partials: Sequence[Partial], rewrite: Rewrite
    ) -> None:
        self.layout = RecordLayout(partials, rewrite)
        self._names = keys
        self._types = types
        self.forget()

    def forget(self) -> None:
        """Begin anew: no group has a number, and no value a rank."""
        self._keys = GroupKeys(list(self._types))
        self.layout.forget_ranks()

    def __len__(self) -> int:
        """How many groups have a number."""
        return len(self._keys)

    @property
    def known(self) -> int:
        """How many groups and values are remembered."""
        return len(self._keys) + self.layout.ranked_values

    def numbers(self, table: pa.Table) -> Array:
        """The number of the group of each row."""
        if not self._names:
            return self._keys.single(len(table))
        return self._keys.encode([one_chunk(table, name) for name in self._names])

    def columns(self, numbers: Array) -> list[pa.Array]:
        """The groups of these numbers, a column a key."""
        return self._keys.columns(numbers)

    def collected(self, table: pa.Table, partials: Iterable[Partial]) -> Records:
        """The records of a table that Spark collected, with these partials; others are of no rows."""
        columns = {
            partial: partial.encode([one_chunk(table, name) for name in partial.expressions])
            for partial in partials
        }
        return self.layout.records(columns, len(table))

    def at_rest(self, starts: Array, numbers: Array, records: Records) -> pa.Table:
        """Slices as a table of their groups and values."""
        return self.in_slices(starts, numbers, self.layout.at_rest(records))

    def in_slices(self, starts: Array, numbers: Array, columns: Mapping[str, Any]) -> pa.Table:
        """A table of columns, behind the slice and the group of each row."""
        places: dict[str, Any] = {SLICE: pa.array(starts)}
        places.update(zip(self._names, self.columns(numbers), strict=True))
        return pa.table(places | dict(columns))

    def place(self, table: pa.Table) -> tuple[Array, Array]:
        """Starts and groups of a table at rest."""
        return one_chunk(table, SLICE).to_numpy(), self.numbers(table)

    def from_rest(self, table: pa.Table, *, whole: bool = True) -> tuple[Array, Array, Records]:
        """The slices of a table at rest; unless it is to be whole, a partial that it lacks is of no rows."""
        return *self.place(table), self.layout.from_rest(table, whole=whole)

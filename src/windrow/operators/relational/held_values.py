"""One row for each different value that somebody holds, under its code.

`KeyCodes` tells values apart; here is what they look like, so that a value can be given again when the row
that brought it has long gone. Rows stand in parts, each at least twice as long as all behind it, so that
adding some copies few; when less than half of them are held, those that are move to a new one.

Time: O(log n) a row, amortised, of copying whole columns. Space: up to twice the values that are held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from windrow.operators.aggregate.record_layout import one_chunk
from windrow.operators.state.key_codes import KeyCodes
from windrow.operators.state.key_words import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Array = np.ndarray[Any, Any]

FEW = 1024
"""So many rows may stay that nobody holds."""
NOWHERE = -1


class HeldValues:
    """Rows by the code of their value.

    >>> values = HeldValues({"x": pa.int64(), "y": pa.string()}, ["x"])
    >>> codes = values.take(pa.table({"x": [7, 8, 7], "y": ["a", "b", "a"]}), 3)
    >>> codes.tolist(), values.rows(codes[:2]).to_pylist()
    ([0, 1, 0], [{'x': 7, 'y': 'a'}, {'x': 8, 'y': 'b'}])
    >>> values.let_go(codes)
    >>> len(values)
    0
    """

    def __init__(self, types: Mapping[str, pa.DataType], by: Sequence[str]) -> None:
        """Rows with these columns. Those in `by` tell values apart, and the others follow from them."""
        self._schema = pa.schema(list(types.items()))
        self._by = list(by)
        self._keys = KeyCodes([types[name] for name in by])
        self._places = np.empty(0, np.int64)
        """Where the row of each code stands, counted through all parts."""
        self._parts = [self._schema.empty_table()]
        self._begins = np.zeros(2, np.int64)
        """Where each part begins, and the last one ends."""

    def __len__(self) -> int:
        """How many values are held."""
        return len(self._keys)

    @property
    def capacity(self) -> int:
        """One more than the largest code ever given."""
        return self._keys.capacity

    @property
    def bytes(self) -> int:
        """How much memory they take."""
        return self._keys.bytes + self._places.nbytes + sum(int(part.nbytes) for part in self._parts)

    def take(self, rows: pa.Table, count: int) -> Array:
        """The code of the value of each row, held once more by the row. `count`: how many rows there are,
        also if they have no columns."""
        codes = self._keys.take([one_chunk(rows, name) for name in self._by], count)
        if len(self._places) < self.capacity:
            room = np.full(2 * self.capacity - len(self._places), NOWHERE, np.int64)
            self._places = np.concatenate([self._places, room])
        fresh = np.flatnonzero(self._places[codes] == NOWHERE)
        if len(fresh):
            self._places[codes[fresh[::-1]]] = fresh[::-1]  # of several rows with one value the first
            fresh = fresh[self._places[codes[fresh]] == fresh]
            begin = int(self._begins[-1])
            self._places[codes[fresh]] = np.arange(begin, begin + len(fresh))
            self._append(self._plain(rows, fresh), len(fresh))
        return codes

    def rows(self, codes: Array) -> pa.Table:
        """The rows of values that are held; what is equal to others is written alike in them."""
        places = self._places[codes]
        if len(self._parts) == 1:
            return self._parts[0].take(pa.array(places))
        parts = np.searchsorted(self._begins, places, side="right") - 1
        order = np.argsort(parts, kind="stable")
        ends = np.searchsorted(parts[order], np.arange(len(self._parts)), side="right")
        pieces = [
            part.take(pa.array(places[some] - begin))
            for part, begin, some in zip(
                self._parts, self._begins[:-1], np.split(order, ends[:-1]), strict=True
            )
        ]
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return pa.concat_tables(pieces).combine_chunks().take(pa.array(back))

    def let_go(self, codes: Array) -> None:
        """Each code is held once less; the row of one that nobody holds is forgotten."""
        self._keys.let_go(codes)
        self._places[codes[~self._keys.is_held(codes)]] = NOWHERE
        if self._begins[-1] > 2 * len(self._keys) + FEW:
            held = np.flatnonzero(self._places != NOWHERE)
            self._parts = [self.rows(held)]
            self._begins = np.array([0, len(held)])
            self._places[held] = np.arange(len(held))

    def _plain(self, rows: pa.Table, places: Array) -> pa.Table:
        """Some rows as they are kept."""
        some = rows.select(self._schema.names).take(pa.array(places)).combine_chunks().cast(self._schema)
        columns = {
            name: plain(one_chunk(some, name)) if name in self._by else some[name]
            for name in self._schema.names
        }
        return pa.table(columns, schema=self._schema)

    def _append(self, part: pa.Table, count: int) -> None:
        """A part more, and fewer parts if it is long."""
        self._parts.append(part)
        self._begins = np.append(self._begins, self._begins[-1] + count)
        sizes = np.diff(self._begins)
        first = len(sizes) - 1
        while first and sizes[first - 1] < 2 * sizes[first:].sum():
            first -= 1
        if first < len(sizes) - 1:
            self._parts[first:] = [pa.concat_tables(self._parts[first:]).combine_chunks()]
            self._begins = np.delete(self._begins, np.arange(first + 1, len(sizes)))

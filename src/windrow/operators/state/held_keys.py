"""The keys of groups by their codes, for as long as somebody holds them: from rows to codes, and back to
columns.

Cost: a hash look-up a row. Space: each key that is held, and as many again that are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from windrow.operators.state.key_codes import KeyCodes
from windrow.operators.state.key_words import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    Array = np.ndarray[Any, Any]

FEW = 1024
"""So many keys that nobody holds are not worth being forgotten."""
UNKNOWN = -1


class HeldKeys:
    """The keys that are held, and their codes.

    >>> keys = HeldKeys([pa.string()])
    >>> codes = keys.take([pa.array(["JFK", "LGA", "JFK"])], 3)
    >>> codes.tolist(), keys.columns(np.array([1, 0]))[0].to_pylist()
    ([0, 1, 0], ['LGA', 'JFK'])
    """

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self._codes = KeyCodes(types)
        self._values = [pa.array([], of_type) for of_type in types]
        self._places = np.full(0, UNKNOWN, np.int64)
        """Where the key of a code stands among the values."""

    def __len__(self) -> int:
        """How many keys are held."""
        return len(self._codes)

    @property
    def capacity(self) -> int:
        """One more than the largest code ever given."""
        return self._codes.capacity

    @property
    def bytes(self) -> int:
        """How much memory they take."""
        return self._codes.bytes + sum(column.nbytes for column in self._values) + self._places.nbytes

    def take(self, columns: Sequence[pa.Array], rows: int) -> Array:
        """The code of each row's key, held once more by the row."""
        if not rows:
            return np.empty(0, np.int64)
        columns = [plain(column) for column in columns]
        codes = self._codes.take(columns, rows)
        if self.capacity > len(self._places):
            more = max(self.capacity, 2 * len(self._places)) - len(self._places)
            self._places = np.concatenate([self._places, np.full(more, UNKNOWN, np.int64)])
        new = np.flatnonzero(self._places[codes] == UNKNOWN)
        if len(new):
            self._remember(columns, codes, new)
        return codes

    def let_go(self, codes: Array) -> None:
        """Each code is held once less."""
        self._codes.let_go(codes)
        self._places[codes[~self._codes.is_held(codes)]] = UNKNOWN

    def columns(self, codes: Array) -> list[pa.Array]:
        """The key columns of codes that are held."""
        places = pa.array(self._places[codes])
        return [column.take(places) for column in self._values]

    def _remember(self, columns: Sequence[pa.Array], codes: Array, new: Array) -> None:
        """Keep the values of keys that nobody has held."""
        known = len(self._values[0]) if self._values else 0
        if known > FEW + 2 * len(self._codes):
            held = np.flatnonzero(self._places != UNKNOWN)
            places = pa.array(self._places[held])
            self._values = [column.take(places) for column in self._values]
            self._places[held] = np.arange(len(held))
            known = len(held)
        self._places[codes[new[::-1]]] = new[::-1]  # the first row of each
        rows = new[self._places[codes[new]] == new]
        self._places[codes[rows]] = np.arange(known, known + len(rows))
        self._values = [
            pa.concat_arrays([column, more.take(pa.array(rows)).cast(column.type)])
            for column, more in zip(self._values, columns, strict=True)
        ]

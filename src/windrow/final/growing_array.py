"""An array that grows at its end and is dropped from its front: how entries are kept, in slice order.

Time: O(1) a row amortised. Space: up to twice the most rows that it has held.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class GrowingArray:
    """An array that grows at its end and is dropped from its front, in amortised constant time."""

    def __init__(self, empty: Array) -> None:
        self._data = empty
        self._first = 0
        self._end = 0

    def append(self, more: Array) -> None:
        """Add rows at the end."""
        self.extend(len(more))[:] = more

    def extend(self, rows: int) -> Array:
        """Add rows at the end, and return them to be filled."""
        if self._end + rows > len(self._data):
            held = self._end - self._first
            room = np.empty((2 * (held + rows), *self._data.shape[1:]), self._data.dtype)
            room[:held] = self._data[self._first : self._end]
            self._data, self._first, self._end = room, 0, held
        self._end += rows
        return self._data[self._end - rows : self._end]

    def drop(self, rows: int) -> None:
        """Forget the first rows."""
        self._first += rows

    @property
    def view(self) -> Array:
        """The rows held, without a copy."""
        return self._data[self._first : self._end]

    @property
    def bytes(self) -> int:
        """What it takes, room to grow included."""
        return self._data.nbytes

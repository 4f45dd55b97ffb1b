"""What is to happen at which instant, in a queue into which it already comes in order.

The chunks in which it came, oldest first; the oldest is dropped when all of it is due. State for inputs whose
rows end in the order in which they come: Golab 2006, §3.5.3.

Time: O(1) an entry, and O(log) of a chunk for each cut through one. Space: two words an entry, and one chunk.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.columns import BEGINNING, END_OF_TIME
from windrow.errors import InputError

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]


class FifoRing:
    """Numbers, each due at an instant that is not before that of the number that came before.

    >>> ring = FifoRing()
    >>> ring.push(np.array([10, 20, 20]), np.array([0, 1, 2]))
    >>> ring.next(), len(ring)
    (10, 3)
    >>> ring.pop(20)
    (array([10]), array([0]))
    """

    def __init__(self) -> None:
        self._chunks: deque[tuple[Array, Array]] = deque()
        self._last = BEGINNING

    def __len__(self) -> int:
        """How many there are."""
        return sum(len(instants) for instants, _ in self._chunks)

    @property
    def bytes(self) -> int:
        """How much memory they take."""
        return 16 * len(self)

    def push(self, instants: Array, numbers: Array) -> None:
        """More of them, in order."""
        if not len(instants):
            return
        if instants[0] < self._last or np.any(instants[1:] < instants[:-1]):
            raise InputError(
                "a FIFO ring takes what is due in the order in which it comes; use a CalendarQueue"
            )
        self._last = int(instants[-1])
        self._chunks.append((instants, numbers))

    def pop(self, until: int) -> tuple[Array, Array]:
        """Take out all that are due before an instant: the instants, and the numbers."""
        due = []
        while self._chunks and self._chunks[0][0][-1] < until:
            due.append(self._chunks.popleft())
        if self._chunks and self._chunks[0][0][0] < until:
            instants, numbers = self._chunks[0]
            end = int(np.searchsorted(instants, until))
            due.append((instants[:end], numbers[:end]))
            self._chunks[0] = instants[end:], numbers[end:]
        if not due:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return np.concatenate([instants for instants, _ in due]), np.concatenate(
            [numbers for _, numbers in due]
        )

    def next(self) -> int:
        """When the next is due; END_OF_TIME if there is none."""
        return int(self._chunks[0][0][0]) if self._chunks else END_OF_TIME

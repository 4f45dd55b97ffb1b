"""Rows of two sides, chained by their keys, which meet those of the other side with the same key.

A chain is a block of entries, one behind the other: the slot of a row, and when it ends. It doubles when it
is full, and is freed with its last row. Rows come in the order of their instants, both sides merged; each
goes into the chain of its side and meets the chain of the other. Expiration is lazy: who goes through a chain
takes those out of it that have ended, so that nobody meets them again; and when rows are let go, a chain of
which more than half has ended is cleaned.

Time: O(1) a row, amortised, and O(1) for each row that it meets, however many are kept. Space: 32 bytes a row
and 64 a key, up to four times that as they grow, and the keys that are held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.operators.state.chain_kernels import (
    DONE,
    FULL,
    NEXT_LEFT,
    NEXT_RIGHT,
    NO_ROOM,
    NONE,
    NOT_YET,
    SIZE,
    TOO_MANY,
    TOUCHED,
    TS,
    WORDS,
    copy,
    let_go,
    meet,
)
from windrow.operators.state.key_codes import KeyCodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    Array = np.ndarray[Any, Any]

PAIRS_AT_ONCE = 1 << 20
"""So many pairs are expanded at a time: with a few columns some tens of megabytes."""


class MeetsTooMany(Exception):
    """A row meets more rows than it may: `row` of those that came."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


class KeyChains:
    """The rows of both sides that are kept, by slot."""

    def __init__(self, key_types: Sequence[pa.DataType], most_pairs: int) -> None:
        self._keys = KeyCodes(key_types)
        self._most_pairs = most_pairs
        self._chains = np.empty((0, 2 * WORDS), np.int64)
        self._entries = np.empty((1, 3), np.int64)
        self._free_blocks = np.full(64, NONE, np.int64)
        """Where the first free block of each size begins."""
        self._end = np.zeros(1, np.int64)
        """How many entries are in blocks, free or not."""
        self._codes, self._free_slots = np.empty((2, 0), np.int64)
        self._free = 0
        self._pairs_a_row = 1.0
        self.touched = 0
        """How many rows have been inserted, met, cleaned up and let go."""

    def __len__(self) -> int:
        """How many rows are kept."""
        return self.capacity - self._free

    @property
    def capacity(self) -> int:
        """How many slots there are."""
        return len(self._codes)

    @property
    def bytes(self) -> int:
        """How much memory they take."""
        arrays = (self._chains, self._entries, self._codes, self._free_slots)
        return self._keys.bytes + sum(array.nbytes for array in arrays)

    def codes(self, keys: Sequence[pa.Array], rows: int) -> Array:
        """The codes of some rows' keys, which are held until these rows are let go."""
        codes = self._keys.take(keys, rows)
        missing = self._keys.capacity - len(self._chains)
        if missing > 0:
            more = np.zeros((max(missing, len(self._chains)), 2 * WORDS), np.int64)
            self._chains = np.concatenate([self._chains, more])
        return codes

    def slots(self, codes: Array) -> Array:
        """Slots for some rows, of which these are the codes."""
        rows, before = len(codes), self.capacity
        if rows > self._free:
            more = max(rows - self._free, before)
            self._codes = np.concatenate([self._codes, np.empty(more, np.int64)])
            # The last is given first.
            new = np.arange(self.capacity - 1, before - 1, -1)
            self._free_slots = np.concatenate([new, self._free_slots])
            self._free += more
        self._free -= rows
        slots = self._free_slots[self._free : self._free + rows][::-1].copy()
        self._codes[slots] = codes
        return slots

    def meet(
        self, arrived: Array, codes: Array, slots: Array, lefts: int, probe: bool = True
    ) -> Iterator[tuple[Array, Array]]:
        """Insert rows, the first `lefts` of which are of the left side, each side in the order of its
        instants; gives the pairs that they make, in the order of theirs, some at a time: two rows of slots,
        left and right, and three of instants. Of rows and of pairs these are when they come, and until when
        they live and are there for the user.

        Without `probe` rows meet nobody: they have, before.
        """
        at = np.array([0, lefts, NOT_YET, 0, 0, 0, 0])
        rows = arrived.shape[1]
        # A guess at how many there will be, so that they come in one piece.
        room = min(PAIRS_AT_ONCE, 1024 + int(1.25 * self._pairs_a_row * rows))
        of_slots, instants = np.empty((2, room), np.int64), np.empty((3, room), np.int64)
        found = count = 0
        outcome = FULL
        while outcome != DONE:
            state = (self._chains, self._entries, self._free_blocks, self._end)
            limits = (probe, self._most_pairs)
            outcome, count = meet(
                arrived, codes, slots, lefts, *limits, *state, at, of_slots, instants, count
            )
            if outcome == TOO_MANY:
                raise MeetsTooMany(_row_at(at, arrived[TS], lefts))
            if outcome == NO_ROOM:
                self._renew_entries()
            elif count:
                yield of_slots[:, :count], instants[:, :count]
                found += count
                of_slots, instants, count = np.empty_like(of_slots), np.empty_like(instants), 0
        self._pairs_a_row = found / max(1, rows)
        self.touched += int(at[TOUCHED])

    def let_go(self, side: int, slots: Array, until: int) -> None:
        """Forget rows of a side: all that have ended by an instant."""
        codes = self._codes[slots]
        self.touched += let_go(codes, WORDS * side, until, self._chains, self._entries, self._free_blocks)
        self._keys.let_go(codes)
        self._free_slots[self._free : self._free + len(slots)] = slots
        self._free += len(slots)

    def _renew_entries(self) -> None:
        """Entries with room for as many again as chains have, and one more block."""
        rooms = np.int64(1) << self._chains[:, SIZE::WORDS] >> 1
        largest = int(rooms.max(initial=0))
        entries = np.empty((2 * (int(rooms.sum()) + 2 * largest) + 64, 3), np.int64)
        self._free_blocks[:] = NONE
        copy(self._chains, self._entries, entries, self._end)
        self._entries = entries


def _row_at(at: Array, ts: Array, lefts: int) -> int:
    """The row that was meeting others."""
    left, right = int(at[NEXT_LEFT]), int(at[NEXT_RIGHT])
    return left if left < lefts and (right == len(ts) or ts[left] <= ts[right]) else right

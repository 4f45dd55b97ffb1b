"""Small numbers for the pairs (key, value) that the entries of a window use.

A pair has its number as long as an entry uses it. Pairs that no entry uses any more are kept, since
most values come back, and purged together when they are the greater part.

Time: O(1) for a pair, purging included. Space: O(1) for a pair in use.
Source: an open-addressing hash table (Knuth, The Art of Computer Programming 3, §6.4, algorithm L);
deferred purging is from Golab, Garg & Özsu 2004, §4.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.machine_code import compiled

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

FEWEST_PURGED = 4096
"""Fewer unused pairs than this are not worth a pass over all."""

KNOWN, USED = 0, 1


class PairNumbers:
    """Numbers from 0 on, without gaps, for pairs of a key and the code of a value."""

    def __init__(self) -> None:
        self._tally = np.zeros(2, np.int64)  # pairs known, pairs used
        self.keys = np.zeros(0, np.int32)  # per pair, as the next two; longer than pairs are known
        self.codes = np.zeros(0, np.int32)
        self._uses = np.zeros(0, np.int64)
        self._reserve(16)

    @property
    def known(self) -> int:
        """How many numbers are given: all below this one."""
        return int(self._tally[KNOWN])

    @property
    def room(self) -> int:
        """How many numbers there can be before the arrays grow."""
        return len(self.keys)

    @property
    def bytes(self) -> int:
        """What the table takes."""
        return sum(array.nbytes for array in (self.keys, self.codes, self._uses, self._table))

    def use(self, keys: Array, codes: Array) -> Array:
        """The number of each pair, which then has one more use."""
        numbers = np.empty(len(keys), np.int32)
        keys, codes = np.array(keys, np.int32), np.array(codes, np.int32)
        done = 0
        while True:
            done += _use(
                keys[done:], codes[done:], self.keys, self.codes, self._uses, self._table, self._tally,
                numbers[done:],
            )  # fmt: skip
            if done == len(numbers):
                return numbers
            self._reserve(2 * self.room)

    def release(self, numbers: Array) -> None:
        """Take one use from each of these pairs."""
        _release(numbers, self._uses, self._tally)

    @property
    def worth_purging(self) -> bool:
        """Whether most pairs are unused, so that the time to purge them is that of having met them."""
        known, used = self._tally.tolist()
        return bool(known - used > max(FEWEST_PURGED, used))

    def purge(self) -> Array:
        """Forget the unused pairs. Returns the old numbers of the others, which ascend."""
        kept = np.flatnonzero(self._uses[: self.known])
        self.keys, self.codes, self._uses = self.keys[kept], self.codes[kept], self._uses[kept]
        self._tally[:] = len(kept)
        self._reserve(max(16, len(kept)))
        return kept

    def recode(self, moved: Array) -> None:
        """The values of the pairs get other codes, by the old ones."""
        self.codes[: self.known] = moved[self.codes[: self.known]]
        self._reserve(self.room)

    def _reserve(self, room: int) -> None:
        """Make room for `room` pairs, in a table of which at least half is free."""
        more = (0, room - len(self.keys))
        self.keys, self.codes = np.pad(self.keys, more), np.pad(self.codes, more)
        self._uses = np.pad(self._uses, more)
        self._table = np.full(2 << (room - 1).bit_length(), -1, np.int32)
        _index(self.keys[: self.known], self.codes[: self.known], self._table)


@compiled
def _find(key: int, code: int, keys: Array, codes: Array, table: Array) -> int:
    """The slot of a pair, or the free one where it belongs."""
    mask = len(table) - 1
    mixed = (np.uint64(key) << np.uint64(32) | np.uint64(np.uint32(code))) * np.uint64(0x9E3779B97F4A7C15)
    slot = int(mixed >> np.uint64(32)) & mask
    while table[slot] >= 0 and (keys[table[slot]] != key or codes[table[slot]] != code):
        slot = (slot + 1) & mask
    return slot


@compiled
def _index(keys: Array, codes: Array, table: Array) -> None:
    for pair in range(len(keys)):
        table[_find(keys[pair], codes[pair], keys, codes, table)] = pair


@compiled
def _use(
    wanted_keys: Array, wanted_codes: Array, keys: Array, codes: Array, uses: Array, table: Array,
    tally: Array, numbers: Array,
) -> int:  # fmt: skip
    """How many pairs have got their numbers before there was no room for a new one."""
    for i in range(len(wanted_keys)):
        slot = _find(wanted_keys[i], wanted_codes[i], keys, codes, table)
        pair = table[slot]
        if pair < 0:
            pair = tally[KNOWN]
            if pair == len(keys):
                return i
            tally[KNOWN] += 1
            table[slot], keys[pair], codes[pair] = pair, wanted_keys[i], wanted_codes[i]
        tally[USED] += uses[pair] == 0
        uses[pair] += 1
        numbers[i] = pair
    return len(wanted_keys)


@compiled
def _release(numbers: Array, uses: Array, tally: Array) -> None:
    for pair in numbers:
        uses[pair] -= 1
        tally[USED] -= uses[pair] == 0

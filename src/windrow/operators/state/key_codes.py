"""Small integers for keys of several columns, so that state is arrays indexed by key instead of hash tables.

A key is forgotten with its last holder, and its code is given again: what is kept is of the size of the keys
that are held, however many there have been. Two rows have one code if all their columns are equal, where NULL
equals NULL, NaN equals NaN, and −0.0 equals 0.0.

A table with open addressing and linear probing. An entry has 31 bits of the key's hash beside its code: most
keys that are not equal are told apart there, and to grow, or to close the gap that a forgotten key leaves,
needs no look at keys. The words of a key stand under its code, its bytes in an arena.

Time: O(1) a row and a word of its key, amortised. Space: up to four times what the most keys took that were
held at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.types as pat

from windrow.machine_code import compiled
from windrow.operators.state.key_words import key_words, words_a_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    Array = np.ndarray[Any, Any]

FEWEST = 16
"""Room for so many keys at first; a power of two."""
EMPTY = -1
"""An entry of the table without a key; any other is 31 bits of a hash, and the 32 bits of a code."""
CODE = 0xFFFFFFFF
GIVEN, FREE, END, DEAD = range(4)
"""Places of the counts: codes ever given, those of them that are free, the end of the arena, dead bytes in
it."""
FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""Spreads the bits of a word: 2^64 divided by the golden ratio."""


class KeyCodes:
    """The codes of the keys that are held.

    >>> import pyarrow as pa
    >>> keys = KeyCodes([pa.string()])
    >>> codes = keys.take([pa.array(["JFK", "LGA", "JFK"])])
    >>> codes.tolist(), len(keys)
    ([0, 1, 0], 2)
    >>> keys.let_go(codes[1:])
    >>> keys.find([pa.array(["JFK", "LGA"])]).tolist()
    [0, -1]
    >>> keys.take([pa.array(["EWR", None])]).tolist()
    [1, 2]
    """

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self._types = [one.value_type if pat.is_dictionary(one) else one for one in types]
        self._entries = np.full(2 * FEWEST, EMPTY, np.int64)
        self._words = np.zeros((FEWEST, words_a_key(self._types)), np.uint64)
        self._hashes, self._holders, self._begins, self._lengths = np.zeros((4, FEWEST), np.int64)
        self._free = np.empty(FEWEST, np.int64)
        self._arena = np.empty(0, np.uint8)
        self._counts = np.zeros(4, np.int64)

    def __len__(self) -> int:
        """How many keys are held."""
        return int(self._counts[GIVEN] - self._counts[FREE])

    @property
    def capacity(self) -> int:
        """One more than the largest code ever given."""
        return int(self._counts[GIVEN])

    @property
    def bytes(self) -> int:
        """How much memory the keys take, room to grow included."""
        return sum(array.nbytes for array in (self._entries, *self._of_codes(), self._free, self._arena))

    def take(self, columns: Sequence[pa.Array], rows: int | None = None) -> Array:
        """The code of each row's key, held once more by the row. `rows` says how many where there are no
        columns: they have one key."""
        return self._look_up(columns, rows, hold=True)

    def find(self, columns: Sequence[pa.Array], rows: int | None = None) -> Array:
        """The code of each row's key; −1 where nobody holds it."""
        return self._look_up(columns, rows, hold=False)

    def let_go(self, codes: Array) -> None:
        """Each code is held once less; one that nobody holds is free for another key."""
        _let_go(codes, self._entries, self._hashes, self._holders, self._lengths, self._free, self._counts)
        if self._counts[DEAD] * 2 > self._counts[END]:
            self._renew_arena(0)

    def is_held(self, codes: Array) -> Array:
        """Whether anybody holds the key of each code."""
        return self._holders[codes] > 0

    def _look_up(self, columns: Sequence[pa.Array], rows: int | None, hold: bool) -> Array:
        count = len(columns[0]) if rows is None else rows
        typed = zip(columns, self._types, strict=True)
        same = [column if column.type == of_type else column.cast(of_type) for column, of_type in typed]
        keys = key_words(same, count)
        codes = np.empty(count, np.int64)
        done = 0
        while True:
            table = (self._entries, *self._of_codes(), self._arena, self._free, self._counts)
            done = _look_up(keys.words, keys.starts, keys.data, codes, done, hold, *table)
            if done == count:
                return codes
            self._make_room(int(keys.starts[done + 1] - keys.starts[done]))

    def _of_codes(self) -> tuple[Array, ...]:
        """What is known of the key of each code."""
        return self._words, self._hashes, self._holders, self._begins, self._lengths

    def _make_room(self, length: int) -> None:
        """Room for another key, which has so many bytes."""
        if self._counts[FREE] == 0 and self._counts[GIVEN] == len(self._holders):
            self._words, self._hashes, self._holders, self._begins, self._lengths = (
                np.concatenate([array, np.zeros_like(array)]) for array in self._of_codes()
            )
            self._free = np.empty(len(self._holders), np.int64)
            entries = np.full(2 * len(self._entries), EMPTY, np.int64)
            _move(self._entries, entries)
            self._entries = entries
        if self._counts[END] + length > len(self._arena):
            self._renew_arena(length)

    def _renew_arena(self, length: int) -> None:
        """Keep the bytes of those keys that are held, with room for as many again and for `length` more."""
        alive = int(self._counts[END] - self._counts[DEAD])
        arena = np.empty(2 * (alive + length), np.uint8)
        _copy_held(self._arena, arena, self._holders, self._begins, self._lengths, self._counts)
        self._arena = arena


def _hash_of(words: Array, data: Array, begin: int, end: int) -> np.int64:
    """31 bits."""
    mixed = np.uint64(end - begin)
    for word in words:
        mixed = (mixed ^ word) * FACTOR
        mixed ^= mixed >> np.uint64(32)
    word = np.uint64(0)
    for place in range(begin, end):
        word = (word << np.uint64(8)) | np.uint64(data[place])
        if (place - begin) % 8 == 7 or place == end - 1:
            mixed = (mixed ^ word) * FACTOR
            mixed ^= mixed >> np.uint64(32)
            word = np.uint64(0)
    return np.int64((mixed * FACTOR) >> np.uint64(33))


def _look_up_all(
    words: Array,
    starts: Array,
    data: Array,
    codes: Array,
    first: int,
    hold: bool,
    entries: Array,
    held_words: Array,
    hashes: Array,
    holders: Array,
    begins: Array,
    lengths: Array,
    arena: Array,
    free: Array,
    counts: Array,
) -> int:
    """Write the codes of rows from `first` on; returns the row at which there is no room, or how many there
    are."""
    mask = len(entries) - 1
    for row in range(first, len(words)):
        begin, end = starts[row], starts[row + 1]
        hashed = _hash(words[row], data, begin, end)
        place = hashed & mask
        found = EMPTY
        while entries[place] != EMPTY:
            code = entries[place] & CODE
            if entries[place] >> 32 == hashed and lengths[code] == end - begin:
                equal = True
                for column in range(words.shape[1]):
                    equal &= held_words[code, column] == words[row, column]
                at = 0
                while equal and at < end - begin:
                    equal = arena[begins[code] + at] == data[begin + at]
                    at += 1
                if equal:
                    found = code
                    break
            place = (place + 1) & mask
        if found == EMPTY and hold:
            if counts[END] + end - begin > len(arena) or (
                counts[FREE] == 0 and counts[GIVEN] == len(holders)
            ):
                return row
            if counts[FREE]:
                counts[FREE] -= 1
                found = free[counts[FREE]]
            else:
                found = counts[GIVEN]
                counts[GIVEN] += 1
            entries[place] = (hashed << 32) | found
            hashes[found], begins[found], lengths[found] = hashed, counts[END], end - begin
            for column in range(words.shape[1]):
                held_words[found, column] = words[row, column]
            for at in range(end - begin):
                arena[counts[END] + at] = data[begin + at]
            counts[END] += end - begin
        if hold:
            holders[found] += 1
        codes[row] = found
    return len(words)


def _let_go_of_all(
    codes: Array, entries: Array, hashes: Array, holders: Array, lengths: Array, free: Array, counts: Array
) -> None:
    mask = len(entries) - 1
    for code in codes:
        holders[code] -= 1
        if holders[code]:
            continue
        gap = hashes[code] & mask
        while entries[gap] & CODE != code or entries[gap] == EMPTY:
            gap = (gap + 1) & mask
        # Whatever stands behind the gap and could stand in it moves there, and leaves a gap in its turn.
        place = (gap + 1) & mask
        while entries[place] != EMPTY:
            if (place - (entries[place] >> 32)) & mask >= (place - gap) & mask:
                entries[gap] = entries[place]
                gap = place
            place = (place + 1) & mask
        entries[gap] = EMPTY
        free[counts[FREE]] = code
        counts[FREE] += 1
        counts[DEAD] += lengths[code]


def _move_entries(entries: Array, larger: Array) -> None:
    mask = len(larger) - 1
    for entry in entries:
        if entry != EMPTY:
            place = (entry >> 32) & mask
            while larger[place] != EMPTY:
                place = (place + 1) & mask
            larger[place] = entry


def _copy_held_bytes(
    arena: Array, copy: Array, holders: Array, begins: Array, lengths: Array, counts: Array
) -> None:
    end = 0
    for code in range(counts[GIVEN]):
        if holders[code]:
            for at in range(lengths[code]):
                copy[end + at] = arena[begins[code] + at]
            begins[code] = end
            end += lengths[code]
    counts[END], counts[DEAD] = end, 0


_hash = compiled(_hash_of, inline="always")
_look_up = compiled(_look_up_all, nogil=True)
_let_go = compiled(_let_go_of_all, nogil=True)
_move = compiled(_move_entries, nogil=True)
_copy_held = compiled(_copy_held_bytes, nogil=True)

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

from windrow.machine_code import compiled
from windrow.operators.state.key_codes import KeyCodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    Array = np.ndarray[Any, Any]

PAIRS_AT_ONCE = 1 << 20
"""So many pairs are expanded at a time: with a few columns some tens of megabytes."""
LEFT, RIGHT = 0, 1
TS, LIVE, EXP = range(3)
"""The instants of a row, or of a pair: when it comes, until when it lives, and when it ends for the user."""
SLOT = TS
"""The words of an entry are a slot in place of the first, and LIVE and EXP. Of the first entry of a free
block, SLOT is where the next free block begins."""
BEGIN, SIZE, LENGTH, KEPT = range(4)
"""The words of a chain: its block, how many entries are in it, and how many rows have come and are not let
go. The size is a power: there is room for 2^(size − 1) entries; none if it is 0. The two chains of a key
stand side by side, in one line of the processor's cache."""
WORDS, SMALLEST = 4, 2
AHEAD = 64
"""So many rows are looked ahead: with 200,000 rows in each of two windows that made meeting a third
quicker."""
NONE, NOT_YET = -1, -2
"""In place of where a block begins: nowhere; in AT: the row has not been inserted yet."""
NEXT_LEFT, NEXT_RIGHT, AT, STAYS, PAIRS, TOUCHED, SEEN = range(7)
"""How far the rows of a batch have come: the next row of each side, which entry the first of these meets
next, how many of those before stay in the chain, how many it has met; and how many rows were touched."""
DONE, FULL, NO_ROOM, TOO_MANY = range(4)


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
            outcome, count = _meet(
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
        self.touched += _let_go(codes, WORDS * side, until, self._chains, self._entries, self._free_blocks)
        self._keys.let_go(codes)
        self._free_slots[self._free : self._free + len(slots)] = slots
        self._free += len(slots)

    def _renew_entries(self) -> None:
        """Entries with room for as many again as chains have, and one more block."""
        rooms = np.int64(1) << self._chains[:, SIZE::WORDS] >> 1
        largest = int(rooms.max(initial=0))
        entries = np.empty((2 * (int(rooms.sum()) + 2 * largest) + 64, 3), np.int64)
        self._free_blocks[:] = NONE
        _copy(self._chains, self._entries, entries, self._end)
        self._entries = entries


def _row_at(at: Array, ts: Array, lefts: int) -> int:
    """The row that was meeting others."""
    left, right = int(at[NEXT_LEFT]), int(at[NEXT_RIGHT])
    return left if left < lefts and (right == len(ts) or ts[left] <= ts[right]) else right


def _see_ahead(codes: Array, first: int, end: int, chains: Array, entries: Array) -> int:
    """Touch what the next rows will need, which is seldom in the processor's cache: for many places in memory
    at once it waits no longer than for one. The sum is nothing, but somebody must want it."""
    seen = 0
    for row in range(first, end):
        seen += chains[codes[row], BEGIN]
    for row in range(first, end):
        both = chains[codes[row]]
        seen += entries[both[BEGIN], SLOT] + entries[both[WORDS + BEGIN], SLOT]
    return seen


def _block_of(size: int, entries: Array, free_blocks: Array, end: Array) -> int:
    """Where a free block of a size begins; NONE if there is no room for it."""
    begin = free_blocks[size]
    if begin != NONE:
        free_blocks[size] = entries[begin, SLOT]
        return begin
    begin = end[0]
    if begin + (1 << size >> 1) > len(entries):
        return NONE
    end[0] = begin + (1 << size >> 1)
    return begin


def _free_block_of(chain: Array, entries: Array, free_blocks: Array) -> None:
    """Take its block from a chain."""
    if chain[SIZE]:
        entries[chain[BEGIN], SLOT] = free_blocks[chain[SIZE]]
        free_blocks[chain[SIZE]] = chain[BEGIN]
    chain[SIZE] = chain[LENGTH] = 0


def _meet_others(
    arrived: Array,
    codes: Array,
    slots: Array,
    lefts: int,
    probe: bool,
    most_pairs: int,
    chains: Array,
    entries: Array,
    free_blocks: Array,
    end: Array,
    at: Array,
    of_slots: Array,
    instants: Array,
    count: int,
) -> tuple[int, int]:
    """Go on from `at`, with so many pairs; returns how that ended, and how many pairs there are."""
    ts, rows = arrived[TS], arrived.shape[1]
    seen_left, seen_right, seen = at[NEXT_LEFT], at[NEXT_RIGHT], 0
    while at[NEXT_LEFT] < lefts or at[NEXT_RIGHT] < rows:
        left, right = at[NEXT_LEFT], at[NEXT_RIGHT]
        is_left = left < lefts and (right == rows or ts[left] <= ts[right])
        if is_left and left == seen_left:
            seen_left = min(left + AHEAD, lefts)
            seen += _look_ahead(codes, left, seen_left, chains, entries)
        elif not is_left and right == seen_right:
            seen_right = min(right + AHEAD, rows)
            seen += _look_ahead(codes, right, seen_right, chains, entries)
        row, mine, theirs = (left, 0, WORDS) if is_left else (right, WORDS, 0)
        now, live, exp = arrived[TS, row], arrived[LIVE, row], arrived[EXP, row]
        slot, both = slots[row], chains[codes[row]]
        if at[AT] == NOT_YET:
            chain = both[mine : mine + WORDS]
            if chain[LENGTH] == (1 << chain[SIZE] >> 1):
                size, length = max(SMALLEST, chain[SIZE] + 1), chain[LENGTH]
                begin = _block(size, entries, free_blocks, end)
                if begin == NONE:
                    return NO_ROOM, count
                for place in range(chain[LENGTH]):
                    for word in range(3):
                        entries[begin + place, word] = entries[chain[BEGIN] + place, word]
                _free_block(chain, entries, free_blocks)
                chain[BEGIN], chain[SIZE], chain[LENGTH] = begin, size, length
            place = chain[BEGIN] + chain[LENGTH]
            entries[place, SLOT], entries[place, LIVE], entries[place, EXP] = slot, live, exp
            chain[LENGTH] += 1
            chain[KEPT] += 1
            at[AT] = at[STAYS] = at[PAIRS] = 0
            at[TOUCHED] += 1
        if probe:
            other = both[theirs : theirs + WORDS]
            place, stays = at[AT], at[STAYS]
            while place < other[LENGTH]:
                entry = other[BEGIN] + place
                if entries[entry, LIVE] > now:
                    if count == of_slots.shape[1] or at[PAIRS] == most_pairs:
                        at[AT], at[STAYS] = place, stays
                        return TOO_MANY if at[PAIRS] == most_pairs else FULL, count
                    met = entries[entry, SLOT]
                    of_slots[LEFT, count] = slot if is_left else met
                    of_slots[RIGHT, count] = met if is_left else slot
                    instants[TS, count] = now
                    instants[LIVE, count] = min(live, entries[entry, LIVE])
                    instants[EXP, count] = min(exp, entries[entry, EXP])
                    count += 1
                    at[PAIRS] += 1
                    if stays < place:
                        for word in range(3):
                            entries[other[BEGIN] + stays, word] = entries[entry, word]
                    stays += 1
                at[TOUCHED] += 1
                place += 1
            other[LENGTH] = stays
        at[AT] = NOT_YET
        at[NEXT_LEFT] += is_left
        at[NEXT_RIGHT] += not is_left
    at[SEEN] = seen
    return DONE, count


def _let_go_of_rows(
    codes: Array, mine: int, until: int, chains: Array, entries: Array, free_blocks: Array
) -> int:
    """Let rows go whose keys have these codes; returns how many were touched."""
    touched = len(codes)
    for code in codes:
        chain = chains[code, mine : mine + WORDS]
        chain[KEPT] -= 1
        if chain[KEPT] == 0:
            _free_block(chain, entries, free_blocks)
        elif chain[LENGTH] > 2 * chain[KEPT]:
            touched += chain[LENGTH]
            stays = 0
            for entry in range(chain[BEGIN], chain[BEGIN] + chain[LENGTH]):
                if entries[entry, LIVE] > until:
                    for word in range(3):
                        entries[chain[BEGIN] + stays, word] = entries[entry, word]
                    stays += 1
            chain[LENGTH] = stays
    return touched


def _copy_chains(chains: Array, entries: Array, copies: Array, end: Array) -> None:
    """Write all blocks one behind the other."""
    end[0] = 0
    for code in range(len(chains)):
        for mine in range(0, 2 * WORDS, WORDS):
            chain = chains[code, mine : mine + WORDS]
            for place in range(chain[LENGTH]):
                for word in range(3):
                    copies[end[0] + place, word] = entries[chain[BEGIN] + place, word]
            chain[BEGIN] = end[0]
            end[0] += 1 << chain[SIZE] >> 1


_look_ahead = compiled(_see_ahead, inline="always")
_block = compiled(_block_of, inline="always")
_free_block = compiled(_free_block_of, inline="always")
_meet = compiled(_meet_others, nogil=True)
_let_go = compiled(_let_go_of_rows, nogil=True)
_copy = compiled(_copy_chains, nogil=True)

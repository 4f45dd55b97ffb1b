"""What happens in chains of rows by key, in machine code: rows are inserted, meet others, are let go.

Chains, entries and free blocks are those of `KeyChains`, which says what they are for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.machine_code import compiled

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

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
WORDS = 4
"""A chain has so many words; those of the left chain of a key stand before those of the right one."""
SMALLEST = 2
"""The size of a chain's first block: most chains of two rows never move."""
AHEAD = 64
"""So many rows are looked ahead: with 200,000 rows in each of two windows that made meeting a third
quicker."""
NONE, NOT_YET = -1, -2
"""In place of where a block begins: nowhere; in AT: the row has not been inserted yet."""
NEXT_LEFT, NEXT_RIGHT, AT, STAYS, PAIRS, TOUCHED, SEEN = range(7)
"""How far the rows of a batch have come: the next row of each side, which entry the first of these meets
next, how many of those before stay in the chain, how many it has met; how many rows were touched, and a sum
that nobody needs."""
DONE, FULL, NO_ROOM, TOO_MANY = range(4)
"""How meeting ends: all rows have met all; there is no room for another pair, or for a larger block; a row
meets more others than it may."""


def _see_ahead(codes: Array, first: int, end: int, chains: Array, entries: Array) -> int:
    """Touch what the next rows will need, which is seldom in the processor's cache: for many places in memory
    at once it waits no longer than for one. The sum means nothing; without it there would be nothing to
    do."""
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
meet = compiled(_meet_others, nogil=True)
let_go = compiled(_let_go_of_rows, nogil=True)
copy = compiled(_copy_chains, nogil=True)

"""Blocked two stacks for windows of a fixed number of values: every window from three pieces.

A block is `m` windows in a row. The windows that start at p ∈ [k·m, (k+1)·m) share what lies between the
end of their block of starts and the beginning of their block of ends, so that

    window [p, p + w) = back[p]  (from p to the end of its block: a backward scan)
                      ⊕ middle   (the same for the block)
                      ⊕ front[p] (from the beginning of the block of ends to p + w - 1: a forward scan)

The totals of the forward scans feed the next middles, through two stacks over w/m totals. A block is short
enough to stay in the first-level cache; memory sees one read of the values that enter, one of those
that leave and one write, whatever the window. Scans are chains, each step waiting for the one before
(4 cycles for a float), so four blocks are scanned in one loop, which also asks for the next four.

Windows shorter than 16 are doubled instead: windows of 2s values come from two of s each.

| | |
|---|---|
| needs | associative, commutative |
| time | 3 operations a value and 1/m more; flat in w |
| space | 2 w/m totals and 8 m values |
| source | blocks: van Herk 1992, Gil & Werman 1993; TwoStacks: Shein 2019, §2.3.2; middles: our own |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.final.arrays.bind import bind
from windrow.final.arrays.prefetch import LINE, prefetch_to_read, prefetch_to_write

if TYPE_CHECKING:
    from windrow.final.arrays.joins import Join

    Array = np.ndarray[Any, Any]

    join: Any

LANES = 4
BLOCKS = range(65, 96)
"""Lengths of a block for long windows. Measured: 1.4 ns a value at w = 1024, 1.5 with blocks of about 110,
1.7 with 230, where a group of lanes and the next one, being prefetched, crowd the first-level cache; and at
powers of two the lanes compete for the same cache lines."""
DOUBLING_BELOW = 16
TILE = 512
"""Values that doubling works on at a time, to stay in the first-level cache."""

index = np.uint64  # Numba checks signed indexes for being negative, in every step of the loop


def slide_blocked(values: Array, window: int, op: Join, out: Array, blocks: range = BLOCKS) -> int:
    """Full windows of `window` values into `out`; returns how many were written before a NaN came up.

    That is all of them, `len(values) - window + 1`, if `op` can order NaN or if there is none.
    """
    identity = out.dtype.type(op.identity(out.dtype))
    if window == 1:
        np.copyto(out, values)
        return len(values)
    if window < DOUBLING_BELOW:
        return int(bind(_double, join=op.function)(values, window, op.needs_numbers, out))
    block = block_length(window, blocks)
    return int(bind(_slide, join=op.function)(values, window, block, op.needs_numbers, identity, out))


def accumulate(values: Array, op: Join, out: Array, blocks: range = BLOCKS) -> int:
    """The windows that are not full yet: out[i] holds values[: i + 1]. Returns as `slide_blocked`."""
    identity = out.dtype.type(op.identity(out.dtype))
    return int(bind(_accumulate, join=op.function)(values, blocks[-1], op.needs_numbers, identity, out))


def block_length(window: int, blocks: range = BLOCKS) -> int:
    """Windows a block: all of a short window; for a long one, the length that divides it best.

    The remainder is added up one by one, for every block.

    >>> block_length(17), block_length(1_001), block_length(1_048_576)
    (16, 83, 93)
    """
    if window - 1 <= blocks[-1]:
        return window - 1
    return min(reversed(blocks), key=lambda length: (window - 1) % length)


def _slide(values: Array, window: int, m: int, needs_numbers: bool, identity: Any, out: Array) -> int:
    ends = window - 1
    whole = ends // m - 1  # totals in a middle
    rest = ends - (whole + 1) * m  # and single values before them
    back = np.empty(LANES * m, out.dtype)
    front = np.empty(LANES * m, out.dtype)
    totals = np.empty(whole + 1, out.dtype)  # the later stack of totals, as they come
    suffixes = np.empty(whole + 1, out.dtype)  # the earlier one: aggregates from each to the border
    held = 0
    later = identity
    left = 0
    if needs_numbers and _has_nan(values[: ends - whole * m]):
        return 0
    while held < whole:
        lanes = LANES if whole - held >= LANES else 1
        start = ends - (whole - held) * m
        entering = values[start : start + lanes * m]
        if needs_numbers and _has_nan(entering):
            return 0
        _scan_blocks(entering, m, identity, front)
        for lane in range(lanes):
            totals[held] = front[lane * m + m - 1]
            later = join(later, totals[held])
            held += 1
    count = len(values) - ends
    done = 0
    while done < count:
        lanes = LANES if count - done >= LANES * m else 1
        length = min(lanes * m, count - done)
        entering = values[done + ends : done + ends + length]
        if needs_numbers and _has_nan(entering):
            return done
        _scan_blocks_back(values[done : done + lanes * m], m, identity, back)
        _scan_blocks(entering, m, identity, front)
        answers = out[done : done + length]
        _prefetch(answers, LANES * m)
        if m == ends:
            _finish(back, identity, front, answers)  # no middles
            done += length
            continue
        for lane in range(lanes):
            first = lane * m
            last = min(first + m, length)
            after = done + first + m
            middle = _fold(values[after : after + rest], identity)
            if whole:
                if left == 0:
                    later = identity
                    while held:
                        held -= 1
                        later = join(totals[held], later)
                        suffixes[left] = later
                        left += 1
                    later = identity
                left -= 1
                middle = join(middle, join(suffixes[left], later))
                totals[held] = front[last - 1]
                later = join(later, totals[held])
                held += 1
            _finish(back[first:last], middle, front[first:last], answers[first:last])
        done += length
    return count


def _accumulate(values: Array, m: int, needs_numbers: bool, identity: Any, out: Array) -> int:
    front = np.empty(LANES * m, out.dtype)
    carried = identity
    done = 0
    while done < len(values):
        length = LANES * m if len(values) - done >= LANES * m else min(m, len(values) - done)
        entering = values[done : done + length]
        if needs_numbers and _has_nan(entering):
            return done
        _scan_blocks(entering, m, identity, front)
        _prefetch(out[done : done + length], LANES * m)
        for first in range(0, length, m):
            last = min(first + m, length)
            _prepend(carried, front[first:last], out[done + first : done + last])
            carried = join(carried, front[last - 1])
        done += length
    return done


def _double(values: Array, window: int, needs_numbers: bool, out: Array) -> int:
    one = np.empty(TILE + DOUBLING_BELOW, out.dtype)
    other = np.empty(TILE + DOUBLING_BELOW, out.dtype)
    count = len(values) - window + 1
    for done in range(0, count, TILE):
        tile = values[done : min(done + TILE, count) + window - 1]
        answers = out[done : min(done + TILE, count)]
        if needs_numbers and _has_nan(tile):
            return done
        for i in range(TILE, 2 * TILE, LINE // out.itemsize):
            prefetch_to_read(tile, i)
            prefetch_to_write(answers, i)
        if window < 4:
            _widen(tile, 1, tile, window, answers)
        elif window < 8:
            _widen(tile, 1, tile, window >> 1, one)
            _widen(one, window >> 1, tile, window, answers)
        else:
            _widen(tile, 1, tile, window >> 2, one)
            _widen(one, window >> 2, tile, window >> 1, other)
            _widen(other, window >> 1, tile, window, answers)
    return count


def _widen(narrow: Array, span: int, values: Array, window: int, wide: Array) -> None:
    """Windows of `window` values, which is 2 span or 2 span + 1, from those of span values."""
    count = min(len(values) - window + 1, len(wide))
    wide = wide[:count]
    narrow, shifted = narrow[:count], narrow[span : span + count]
    if window == 2 * span:
        for i in range(count):
            wide[i] = join(narrow[i], shifted[i])
    else:
        last = values[window - 1 : window - 1 + count]
        for i in range(count):
            wide[i] = join(join(narrow[i], shifted[i]), last[i])


def _prefetch(answers: Array, count: int) -> None:
    """The places of the `count` answers after these."""
    for i in range(len(answers), len(answers) + count, LINE // answers.itemsize):
        prefetch_to_write(answers, i)


def _has_nan(values: Array) -> bool:
    found = False
    for i in range(len(values)):
        found |= values[i] != values[i]
    return found


def _fold(values: Array, identity: Any) -> Any:
    total = identity
    for i in range(len(values)):
        total = join(total, values[i])
    return total


def _finish(back: Array, middle: Any, front: Array, out: Array) -> None:
    for i in range(len(out)):
        out[i] = join(join(back[i], middle), front[i])


def _prepend(before: Any, front: Array, out: Array) -> None:
    for i in range(len(out)):
        out[i] = join(before, front[i])


def _scan_blocks(values: Array, m: int, identity: Any, front: Array) -> None:
    """Running aggregates, starting anew at every block: of four whole blocks, or of one."""
    if len(values) < LANES * m:
        total = identity
        for place in range(len(values)):
            total = join(total, values[place])
            front[place] = total
        return
    second, third, fourth = index(m), index(2 * m), index(3 * m)
    a = b = c = d = identity
    for step in range(m):
        prefetch_to_read(values, LANES * (m + step))
        i = index(step)
        a = join(a, values[i])
        b = join(b, values[i + second])
        c = join(c, values[i + third])
        d = join(d, values[i + fourth])
        front[i] = a
        front[i + second] = b
        front[i + third] = c
        front[i + fourth] = d


def _scan_blocks_back(values: Array, m: int, identity: Any, back: Array) -> None:
    """Fold the values of each block from its end to its beginning."""
    if len(values) < LANES * m:
        total = identity
        for place in range(len(values) - 1, -1, -1):
            total = join(total, values[place])
            back[place] = total
        return
    second, third, fourth = index(m), index(2 * m), index(3 * m)
    a = b = c = d = identity
    for step in range(m):
        prefetch_to_read(values, LANES * (m + step))
        i = index(m - 1 - step)
        a = join(a, values[i])
        b = join(b, values[i + second])
        c = join(c, values[i + third])
        d = join(d, values[i + fourth])
        back[i] = a
        back[i + second] = b
        back[i + third] = c
        back[i + fourth] = d

"""B-Int: aggregates of base intervals, whose lengths are powers of two.

An entry completes the intervals that end with it and corrects no others, one operation a slide
amortised; a range is covered by the fewest complete intervals, which are more than in a tree that is
always up to date.

| | |
|---|---|
| needs | associative |
| time | about 1 operation to insert and up to 2 log n to answer; n log n for all ranges |
| space | 2n for powers of two, otherwise up to 4n |
| ranges | many |
| source | B-Int, Shein 2019, §2.3.2 |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from numba import njit

from windrow.final.base import needs_associativity
from windrow.final.rings import (
    BEGIN,
    END,
    FIRST,
    MASK,
    OFFSET,
    RingAggregator,
    Slots,
)

if TYPE_CHECKING:
    import numpy as np

    from windrow.final.specialise import KernelPart

    Array = np.ndarray[Any, Any]

    combine: Any
    copy_record: Any


@njit(inline="always")
def _place(offset: int, mask: int, number: int, level: int) -> int:
    """Where the interval of 2^level entries that holds an entry lies; the rings lie one behind the other."""
    capacity = mask + 1
    return 2 * offset + 2 * capacity - (2 * capacity >> level) + ((number & mask) >> level)


def _insert(
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int,
    records: Array, entry: int,
) -> None:  # fmt: skip
    offset, mask, number = state[key, OFFSET], state[key, MASK], state[key, END]
    copy_record(records, entry, aggregates, _place(offset, mask, number, 0))
    level, size = 1, 2
    while size <= mask + 1 and (number + 1) % size == 0:
        left = _place(offset, mask, number - size // 2, level - 1)
        right = _place(offset, mask, number, level - 1)
        combine(aggregates, left, aggregates, right, aggregates, _place(offset, mask, number, level))
        level += 1
        size *= 2
    state[key, END] = number + 1


def _evict(values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int) -> None:
    state[key, BEGIN] += 1


def _query(
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int,
    range_: int, out: Array, answer: int,
) -> None:  # fmt: skip
    offset, mask = state[key, OFFSET], state[key, MASK]
    number, end = state[key, FIRST + range_], state[key, END]
    is_first = True
    while number < end:
        level, size = 0, 1
        while 2 * size <= mask + 1 and number % (2 * size) == 0 and number + 2 * size <= end:
            level += 1
            size *= 2
        place = _place(offset, mask, number, level)
        if is_first:
            copy_record(aggregates, place, out, answer)
        else:
            combine(out, answer, aggregates, place, out, answer)
        is_first = False
        number += size


def _move(
    old_values: Array, old_aggregates: Array, old_links: Array, offset: int, mask: int,
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int,
) -> None:  # fmt: skip
    new_offset, new_mask = state[key, OFFSET], state[key, MASK]
    begin, end = state[key, BEGIN], state[key, END]
    for number in range(begin, end):
        source = _place(offset, mask, number, 0)
        copy_record(old_aggregates, source, aggregates, _place(new_offset, new_mask, number, 0))
    level, size = 1, 2
    while size <= new_mask + 1:
        for number in range((begin + size - 1) // size * size, end - size + 1, size):
            left = _place(new_offset, new_mask, number, level - 1)
            right = _place(new_offset, new_mask, number + size // 2, level - 1)
            combine(
                aggregates, left, aggregates, right, aggregates, _place(new_offset, new_mask, number, level)
            )
        level += 1
        size *= 2


class BaseIntervals(RingAggregator):
    """A ring of entries, one of pairs of them, one of pairs of pairs, and so on."""

    name: ClassVar[str] = "b_int"
    many_ranges: ClassVar[bool] = True
    repeatable: ClassVar[bool] = False
    slots: ClassVar[Slots] = Slots(aggregates=2)
    parts: ClassVar[tuple[KernelPart, ...]] = (
        ("insert", _insert),
        ("evict", _evict),
        ("query", _query),
        ("move", _move),
    )

    refusal = staticmethod(needs_associativity)

"""SlickDeque for operations that select: a deque of the values that may still be an answer.

A new value removes the values before it that it outdoes; they can never be an answer again. What is
left descends from the head, which answers the longest range; a shorter one is answered by the first
value that lies in it, found by bisection. Each column of a record has a deque of its own.

| | |
|---|---|
| needs | selective (`combine` returns one of its arguments, as max does), associative |
| time | fewer than 2 operations a slide amortised, n at worst (after a descending input) |
| | a range costs a bisection and no operation |
| space | 2 to 2n, as the input has it |
| ranges | many |
| source | SlickDeque (Non-Inv), Shein 2019, §4.2.1.2; the bisection is our own |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from windrow.final.base import needs_selection
from windrow.final.rings import (
    BEGIN,
    END,
    FIRST,
    MARK_1,
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


COUNT = MARK_1  # entries so far: in this structure BEGIN and END count places of the deque


def _insert(
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int,
    records: Array, entry: int,
) -> None:  # fmt: skip
    offset, mask, scratch = state[key, OFFSET], state[key, MASK], key * (state.shape[1] - FIRST)
    while state[key, END] > state[key, BEGIN]:
        combine(values, offset + ((state[key, END] - 1) & mask), records, entry, totals, scratch)
        if totals[scratch, 0] != records[entry, 0]:
            break
        state[key, END] -= 1
    place = offset + (state[key, END] & mask)
    copy_record(records, entry, values, place)
    links[place] = state[key, COUNT]
    state[key, COUNT] += 1
    state[key, END] += 1


def _evict(values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int) -> None:
    head = state[key, OFFSET] + (state[key, BEGIN] & state[key, MASK])
    if state[key, END] > state[key, BEGIN] and links[head] < state[key, state.shape[1] - 1]:
        state[key, BEGIN] += 1


def _query(
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int,
    range_: int, out: Array, answer: int,
) -> None:  # fmt: skip
    offset, mask, first = state[key, OFFSET], state[key, MASK], state[key, FIRST + range_]
    low, high = state[key, BEGIN], state[key, END] - 1
    while low < high:
        middle = (low + high) // 2
        if links[offset + (middle & mask)] < first:
            low = middle + 1
        else:
            high = middle
    copy_record(values, offset + (low & mask), out, answer)


class SlickDequeNonInv(RingAggregator):
    """The ring holds the deque: values, and the numbers of their entries."""

    name: ClassVar[str] = "slick_deque_non_inv"
    many_ranges: ClassVar[bool] = True
    repeatable: ClassVar[bool] = False
    slots: ClassVar[Slots] = Slots(values=1, links=1, totals=True)
    parts: ClassVar[tuple[KernelPart, ...]] = (("insert", _insert), ("evict", _evict), ("query", _query))
    counted: ClassVar[int] = COUNT
    by_column: ClassVar[bool] = True

    refusal = staticmethod(needs_selection)

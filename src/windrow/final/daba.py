"""DABA, the de-amortised banker's aggregator: two stacks that are turned over a little at every step.

The front is kept in four stretches, [begin, left), [left, right), [right, accumulator) and
[accumulator, back); the back is [back, end). Every insertion and eviction moves the borders by one and
corrects at most two aggregates, so that the front is complete exactly when it is needed, and no slide
costs much more than another: the choice where the slowest answer counts.

| | |
|---|---|
| needs | associative |
| time | 5 operations a slide amortised, 8 at worst |
| space | 2n |
| ranges | one |
| source | DABA, Shein 2019, §2.3.2 |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from windrow.final.base import needs_associativity
from windrow.final.rings import (
    BEGIN,
    END,
    MARK_1,
    MARK_2,
    MARK_3,
    MARK_4,
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
    balance: Any


LEFT, RIGHT, ACCUMULATOR, BACK = MARK_1, MARK_2, MARK_3, MARK_4
# What the aggregate of an entry covers: before LEFT up to BACK, from LEFT up to RIGHT, from RIGHT on
# everything since RIGHT, from ACCUMULATOR up to BACK, from BACK on everything since BACK.


def _insert(
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int,
    records: Array, entry: int,
) -> None:  # fmt: skip
    offset, mask, number = state[key, OFFSET], state[key, MASK], state[key, END]
    place = offset + (number & mask)
    copy_record(records, entry, values, place)
    if state[key, BACK] == number:
        copy_record(records, entry, aggregates, place)
    else:
        combine(aggregates, offset + ((number - 1) & mask), records, entry, aggregates, place)
    state[key, END] = number + 1
    balance(values, aggregates, totals, links, state, key)


def _evict(values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int) -> None:
    state[key, BEGIN] += 1
    balance(values, aggregates, totals, links, state, key)


def _query(
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int,
    range_: int, out: Array, answer: int,
) -> None:  # fmt: skip
    offset, mask = state[key, OFFSET], state[key, MASK]
    oldest, newest = offset + (state[key, BEGIN] & mask), offset + ((state[key, END] - 1) & mask)
    if state[key, BACK] == state[key, END]:
        copy_record(aggregates, oldest, out, answer)
    elif state[key, BEGIN] == state[key, BACK]:
        copy_record(aggregates, newest, out, answer)
    else:
        combine(aggregates, oldest, aggregates, newest, out, answer)


def _balance(values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int) -> None:
    begin, end = state[key, BEGIN], state[key, END]
    if begin == state[key, BACK]:  # the front is empty: the back becomes the front as it is
        state[key, LEFT] = state[key, RIGHT] = state[key, ACCUMULATOR] = state[key, BACK] = end
        return
    if state[key, LEFT] == state[key, BACK]:  # the front is complete: turn over, in name only
        state[key, LEFT] = begin
        state[key, ACCUMULATOR] = state[key, BACK] = end
    if state[key, LEFT] == state[key, RIGHT]:
        state[key, LEFT] += 1
        state[key, RIGHT] += 1
        state[key, ACCUMULATOR] += 1
        return
    offset, mask = state[key, OFFSET], state[key, MASK]
    left, right, accumulator = state[key, LEFT], state[key, RIGHT], state[key, ACCUMULATOR]
    place, before = offset + (left & mask), offset + ((accumulator - 1) & mask)
    is_last = accumulator == state[key, BACK]
    if right != accumulator:
        combine(aggregates, place, aggregates, before, aggregates, place)
    if not is_last:
        combine(aggregates, place, aggregates, offset + (accumulator & mask), aggregates, place)
    state[key, LEFT] = left + 1
    if is_last:
        copy_record(values, before, aggregates, before)
    else:
        combine(values, before, aggregates, offset + (accumulator & mask), aggregates, before)
    state[key, ACCUMULATOR] = accumulator - 1


class DABA(RingAggregator):
    """Two stacks without a spike."""

    name: ClassVar[str] = "daba"
    many_ranges: ClassVar[bool] = False
    repeatable: ClassVar[bool] = False
    slots: ClassVar[Slots] = Slots(values=1, aggregates=1)
    parts: ClassVar[tuple[KernelPart, ...]] = (
        ("balance", _balance),
        ("insert", _insert),
        ("evict", _evict),
        ("query", _query),
    )

    refusal = staticmethod(needs_associativity)

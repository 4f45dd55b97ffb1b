"""Two stacks: a queue made of a front stack, which knows what follows each entry, and a back stack.

Entries are pushed on the back, whose total is kept; the oldest leaves from the front. When the front is
empty, the back is turned over onto it: a spike of n operations, once in n slides.

| | |
|---|---|
| needs | associative |
| time | 3 operations a slide amortised, n at worst |
| space | 2n |
| ranges | one |
| source | TwoStacks, Shein 2019, §2.3.2 |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from windrow.final.base import needs_associativity
from windrow.final.rings import BEGIN, END, MARK_1, MASK, OFFSET, RingAggregator, Slots

if TYPE_CHECKING:
    import numpy as np

    from windrow.final.specialise import KernelPart

    Array = np.ndarray[Any, Any]

    combine: Any
    copy_record: Any


BORDER = MARK_1  # where the back stack begins


def _insert(
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int,
    records: Array, entry: int,
) -> None:  # fmt: skip
    number = state[key, END]
    copy_record(records, entry, values, state[key, OFFSET] + (number & state[key, MASK]))
    if state[key, BORDER] == number:
        copy_record(records, entry, totals, key)
    else:
        combine(totals, key, records, entry, totals, key)
    state[key, END] = number + 1


def _evict(values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int) -> None:
    if state[key, BORDER] == state[key, BEGIN]:
        offset, mask, last = state[key, OFFSET], state[key, MASK], state[key, END] - 1
        copy_record(values, offset + (last & mask), aggregates, offset + (last & mask))
        for number in range(last - 1, state[key, BEGIN] - 1, -1):
            place, behind = offset + (number & mask), offset + ((number + 1) & mask)
            combine(values, place, aggregates, behind, aggregates, place)
        state[key, BORDER] = last + 1
    state[key, BEGIN] += 1


def _query(
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int,
    range_: int, out: Array, answer: int,
) -> None:  # fmt: skip
    oldest = state[key, OFFSET] + (state[key, BEGIN] & state[key, MASK])
    if state[key, BORDER] == state[key, BEGIN]:
        copy_record(totals, key, out, answer)
    elif state[key, BORDER] == state[key, END]:
        copy_record(aggregates, oldest, out, answer)
    else:
        combine(aggregates, oldest, totals, key, out, answer)


class TwoStacks(RingAggregator):
    """A front stack of suffix aggregates, and the total of a back stack."""

    name: ClassVar[str] = "two_stacks"
    many_ranges: ClassVar[bool] = False
    repeatable: ClassVar[bool] = False
    slots: ClassVar[Slots] = Slots(values=1, aggregates=1, totals=True)
    parts: ClassVar[tuple[KernelPart, ...]] = (("insert", _insert), ("evict", _evict), ("query", _query))

    refusal = staticmethod(needs_associativity)

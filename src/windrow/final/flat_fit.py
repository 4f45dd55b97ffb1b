"""FlatFIT: a jump table over the window. Each answer shortens the way of the next ones.

An entry keeps an aggregate and a link: the aggregate covers the entries from itself up to the one that
the link names. An answer follows the links from the start of its range to the end and, on the way back,
makes every entry that it met reach to the end. The way back needs no stack: the links point backwards
while the way is being walked.

| | |
|---|---|
| needs | associative |
| time | 3 operations a slide amortised, n at worst (once in n + 1 slides); 3n at most for all ranges |
| space | 2n |
| ranges | many |
| source | FlatFIT, Shein 2019, ch. 3; the walk without a stack is our own |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

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


def _insert(
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int,
    records: Array, entry: int,
) -> None:  # fmt: skip
    number = state[key, END]
    place = state[key, OFFSET] + (number & state[key, MASK])
    copy_record(records, entry, aggregates, place)
    links[place] = number + 1
    state[key, END] = number + 1


def _evict(values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int) -> None:
    state[key, BEGIN] += 1


def _query(
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int,
    range_: int, out: Array, answer: int,
) -> None:  # fmt: skip
    offset, mask, end = state[key, OFFSET], state[key, MASK], state[key, END]
    number, before = state[key, FIRST + range_], -1
    while number != end:
        place = offset + (number & mask)
        following = links[place]
        links[place] = before
        before, number = number, following
    behind = offset + (before & mask)  # the last one reaches to the end already
    number = links[behind]
    links[behind] = end
    while number >= 0:
        place = offset + (number & mask)
        combine(aggregates, place, aggregates, behind, aggregates, place)
        number, links[place] = links[place], end
        behind = place
    copy_record(aggregates, behind, out, answer)


class FlatFIT(RingAggregator):
    """Aggregates and how far each of them reaches."""

    name: ClassVar[str] = "flat_fit"
    many_ranges: ClassVar[bool] = True
    repeatable: ClassVar[bool] = False
    slots: ClassVar[Slots] = Slots(aggregates=1, links=1)
    parts: ClassVar[tuple[KernelPart, ...]] = (("insert", _insert), ("evict", _evict), ("query", _query))

    refusal = staticmethod(needs_associativity)

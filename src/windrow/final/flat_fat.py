"""FlatFAT: a binary tree over the window, in an array without pointers.

The leaves are a ring of entries; an inner node is the aggregate of its two children, so an entry
corrects one node a level, and a range is put together from the fewest nodes that cover it. The root
alone answers a full window of a commutative operation.

| | |
|---|---|
| needs | associative |
| time | log n operations a slide, amortised and at worst; n log n for all ranges |
| | 2 log n more where the window is not a power of two or the order counts |
| space | 2n for powers of two, otherwise up to 4n |
| ranges | many |
| source | FlatFAT, Shein 2019, §2.3.2 |
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

    COMMUTATIVE: bool
    combine: Any
    copy_record: Any


def _insert(
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int,
    records: Array, entry: int,
) -> None:  # fmt: skip
    tree, leaves, number = 2 * state[key, OFFSET], state[key, MASK] + 1, state[key, END]
    node = leaves + (number & state[key, MASK])
    copy_record(records, entry, aggregates, tree + node)
    while node > 1:
        node >>= 1
        combine(aggregates, tree + 2 * node, aggregates, tree + 2 * node + 1, aggregates, tree + node)
    state[key, END] = number + 1


def _evict(values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int) -> None:
    state[key, BEGIN] += 1  # its leaf is in no range any more, and will be written over


def _query(
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int,
    range_: int, out: Array, answer: int,
) -> None:  # fmt: skip
    tree, leaves = 2 * state[key, OFFSET], state[key, MASK] + 1
    number, end = state[key, FIRST + range_], state[key, END]
    if COMMUTATIVE and end - number == leaves:
        copy_record(aggregates, tree + 1, out, answer)
        return
    is_first = True
    while number < end:
        # The largest node that begins here and ends within the range; none goes around the ring's end.
        node, size = leaves + (number & state[key, MASK]), 1
        while node & 1 == 0 and node > 1 and number + 2 * size <= end:
            node >>= 1
            size *= 2
        if is_first:
            copy_record(aggregates, tree + node, out, answer)
        else:
            combine(out, answer, aggregates, tree + node, out, answer)
        is_first = False
        number += size


def _move(
    old_values: Array, old_aggregates: Array, old_links: Array, offset: int, mask: int,
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int,
) -> None:  # fmt: skip
    tree, leaves = 2 * state[key, OFFSET], state[key, MASK] + 1
    old_tree, old_leaves = 2 * offset, mask + 1
    for number in range(state[key, BEGIN], state[key, END]):
        source = old_tree + old_leaves + (number & mask)
        copy_record(old_aggregates, source, aggregates, tree + leaves + (number & state[key, MASK]))
    for node in range(leaves - 1, 0, -1):
        combine(aggregates, tree + 2 * node, aggregates, tree + 2 * node + 1, aggregates, tree + node)


class FlatFAT(RingAggregator):
    """Node 1 is the root, 2i and 2i + 1 are the children of i, the leaves come last."""

    name: ClassVar[str] = "flat_fat"
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

"""SlickDeque for invertible operations: a running total for each range.

An entry is added to the total of every range when it comes, and taken out of a range's total when it
leaves that range. Queries of the same range share a total whatever their slides.

| | |
|---|---|
| needs | invertible (integers and decimals; floats only when a hint asks for it, since they drift) |
| time | 2 operations a slide and range, amortised and at worst |
| space | n, and one record a range |
| ranges | many |
| source | SlickDeque (Inv), Shein 2019, §4.2.1.1 |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from windrow.final.base import needs_an_inverse
from windrow.final.rings import BEGIN, END, FIRST, MASK, OFFSET, RingAggregator, Slots

if TYPE_CHECKING:
    import numpy as np

    from windrow.final.specialise import KernelPart

    Array = np.ndarray[Any, Any]

    combine: Any
    copy_record: Any
    inverse: Any


def _insert(
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int,
    records: Array, entry: int,
) -> None:  # fmt: skip
    number, ranges = state[key, END], state.shape[1] - FIRST
    copy_record(records, entry, values, state[key, OFFSET] + (number & state[key, MASK]))
    for r in range(ranges):
        total = key * ranges + r
        if state[key, FIRST + r] == number:
            # Nothing is left, so nothing may be left over: neither rounding nor an infinity.
            copy_record(records, entry, totals, total)
        else:
            combine(totals, total, records, entry, totals, total)
    state[key, END] = number + 1


def _leave(
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int, range_: int
) -> None:
    total = key * (state.shape[1] - FIRST) + range_
    oldest = state[key, OFFSET] + (state[key, FIRST + range_] & state[key, MASK])
    inverse(totals, total, values, oldest, totals, total)


def _evict(values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int) -> None:
    state[key, BEGIN] += 1


def _query(
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int,
    range_: int, out: Array, answer: int,
) -> None:  # fmt: skip
    copy_record(totals, key * (state.shape[1] - FIRST) + range_, out, answer)


class SlickDequeInv(RingAggregator):
    """The entries, and a total a range."""

    name: ClassVar[str] = "slick_deque_inv"
    many_ranges: ClassVar[bool] = True
    repeatable: ClassVar[bool] = False
    slots: ClassVar[Slots] = Slots(values=1, totals=True)
    parts: ClassVar[tuple[KernelPart, ...]] = (
        ("insert", _insert),
        ("leave", _leave),
        ("evict", _evict),
        ("query", _query),
    )

    refusal = staticmethod(needs_an_inverse)

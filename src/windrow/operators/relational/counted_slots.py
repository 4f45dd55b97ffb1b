"""The different values of the rows in each slot, with their counts, so that they can leave together.

Space: an entry for each value of each slot and group, and at most as many again that have not been added up
yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.final.values.changing_frequencies import Entries
from windrow.operators.aggregate.record_layout import one_chunk

if TYPE_CHECKING:
    import pyarrow as pa

    from windrow.operators.relational.counted_rows import CountedRows

    Array = np.ndarray[Any, Any]

FEW = 1024
"""So many entries of a slot are not worth being added up."""


class CountedSlots:
    """The values of slots, and what is found among those that are alive."""

    def __init__(self, state: CountedRows) -> None:
        self.state = state
        self.contents = state.contents
        self._slots: dict[int, tuple[Array, Array, int]] = {}
        """By slot: numbers of values, how often each occurs, and how many of them have been added up."""
        self._gone = np.empty(0, np.int32)

    @property
    def bytes(self) -> int:
        """About how much memory the entries take."""
        return sum(pairs.nbytes + counts.nbytes for pairs, counts, _ in self._slots.values())

    def change(
        self,
        pairs: Array,
        ts: Array,
        slots: Array,
        ends: Array,
        slide: int,
        answers_from: Array,
        groups: Array,
    ) -> list[Any]:
        """What is found for the groups that are answered at each evaluation; rows come at `ts`, with the
        numbers of their values, and go behind their slots."""
        is_value = pairs >= 0
        pairs, ts, slots = pairs[is_value], ts[is_value], slots[is_value]
        self._enter(pairs, np.ones(len(pairs), np.int64), slots)
        nothing = np.empty(0, np.int32), np.empty(0, np.int64), 0
        expired = [self._slots.pop(slot, nothing) for slot in (ends - slide).tolist()]
        gone = [np.concatenate([one[place] for one in (nothing, *expired)]) for place in (0, 1)]
        to = np.cumsum([len(one[0]) for one in expired], dtype=np.int64)
        # Behind the last evaluation, the rest of the rows.
        come = Entries(pairs, np.ones(len(pairs), np.int64), np.append(np.searchsorted(ts, ends), len(pairs)))
        self._gone = np.concatenate([self._gone, gone[0]])
        left = Entries(gone[0], gone[1], np.append(to, len(gone[0])))
        return self.state.change(come, left, np.append(answers_from, answers_from[-1]), groups)

    def entered(self, pairs: Array, slots: Array) -> tuple[Array, Array, Array]:
        """The different values among the rows that have come: how often each has, and the slots."""
        is_value = pairs >= 0
        pairs, slots = pairs[is_value], slots[is_value]
        order = np.lexsort((pairs, slots))
        pairs, slots = pairs[order], slots[order]
        first = np.flatnonzero(np.append(True, (pairs[1:] != pairs[:-1]) | (slots[1:] != slots[:-1])))
        first = first[: len(pairs)]
        return pairs[first], np.diff(np.append(first, len(pairs))), slots[first]

    def let_go(self) -> None:
        """Forget the values that have left, now that all is answered."""
        gone = [self._gone]
        self._gone = np.empty(0, np.int32)
        for slot, (pairs, counts, added) in self._slots.items():
            if len(pairs) > FEW + 2 * added:
                self._slots[slot], surplus = _added_up(pairs, counts)
                gone.append(surplus)
        moved = self.state.let_go(np.concatenate(gone))
        if moved is not None:
            self._slots = {
                slot: (moved[pairs], counts, added) for slot, (pairs, counts, added) in self._slots.items()
            }

    def restore(self, groups: Array, slots: Array, table: pa.Table) -> None:
        """Take in the values of slots."""
        pairs = self.state.enter(groups, one_chunk(table, self.contents.value_name))
        counts = one_chunk(table, self.contents.count_name).to_numpy()
        self._enter(pairs, counts, slots)
        nothing = np.empty(0, np.int64)
        come = Entries(pairs, counts, np.array([len(pairs)]))
        gone = Entries(nothing.astype(np.int32), nothing, np.zeros(1, np.int64))
        self.state.change(come, gone, np.zeros(2, np.int64), nothing)

    def _enter(self, pairs: Array, counts: Array, slots: Array) -> None:
        if not len(slots):
            return
        order = np.argsort(slots, kind="stable")
        distinct, first = np.unique(slots[order], return_index=True)
        for slot, which in zip(distinct.tolist(), np.split(order, first[1:]), strict=True):
            entries = (pairs[which], counts[which])
            if slot in self._slots:
                *held, added = self._slots[slot]
                more, often = (np.concatenate(both) for both in zip(held, entries, strict=True))
                self._slots[slot] = more, often, added
            else:
                self._slots[slot] = *entries, 0


def _added_up(pairs: Array, counts: Array) -> tuple[tuple[Array, Array, int], Array]:
    """Each value once, and the numbers that are held once less for it."""
    order = np.argsort(pairs, kind="stable")
    pairs, counts = pairs[order], counts[order]
    is_first = np.append(True, pairs[1:] != pairs[:-1])
    first = np.flatnonzero(is_first)
    return (pairs[first], np.add.reduceat(counts, first), len(first)), pairs[~is_first]

"""The columns of rows that are kept: the batches in which they came, out of which rows are taken by slot.

A batch is dropped with its last row. Where more rows have ended than are kept, batches of which the most have
are written anew without them; and small batches are put together, each with the one before it while that is
about as small, so that there are few.

Time: O(1) a row and column, amortised, O(log) of it in batches of few rows. Space: at most twice the rows
that are kept, and 24 bytes for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    Array = np.ndarray[Any, Any]

LARGE = 1 << 16
"""A batch of so many rows is not put together with others."""
PLACE_BITS = 32
"""A row's spot is the number of its batch and, in these bits, its place there."""
NOWHERE = -1


@dataclass(eq=False)
class Batch:
    """Rows that came together, or were put together."""

    number: int
    rows: pa.Table
    slots: Array
    """Whose place in the batch it was, or still is."""
    kept: int
    """How many of the rows are."""

    @property
    def spots(self) -> Array:
        """The spots of its rows."""
        return (self.number << PLACE_BITS) + np.arange(len(self.slots))


class KeptBatches:
    """The columns of rows that have slots."""

    def __init__(self) -> None:
        self._batches: list[Batch] = []
        self._spots = np.empty(0, np.int64)

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        return self._spots.nbytes + sum(batch.rows.nbytes + batch.slots.nbytes for batch in self._batches)

    def add(self, rows: pa.Table, slots: Array) -> None:
        """Keep the rows of a batch, in these slots."""
        if not len(slots):
            return
        missing = int(slots.max()) + 1 - len(self._spots)
        if missing > 0:
            more = np.full(max(missing, len(self._spots)), NOWHERE, np.int64)
            self._spots = np.concatenate([self._spots, more])
        taken = {batch.number for batch in self._batches}
        number = next(number for number in range(len(taken) + 1) if number not in taken)
        batch = Batch(number, rows, slots, len(slots))
        self._batches.append(batch)
        self._spots[slots] = batch.spots

    def take(self, names: Sequence[str], slots: Array) -> pa.Table:
        """Some columns of the rows in some slots, in one chunk each."""
        if not names:
            return pa.table({})
        spots = self._spots[slots]
        begins = np.zeros(1 + max(batch.number for batch in self._batches), np.int64)
        begin = 0
        for batch in self._batches:
            begins[batch.number] = begin
            begin += len(batch.slots)
        places = begins[spots >> PLACE_BITS] + (spots & ((1 << PLACE_BITS) - 1))
        all_rows = pa.concat_tables([batch.rows.select(list(names)) for batch in self._batches])
        return all_rows.take(pa.array(places)).combine_chunks()

    def let_go(self, slots: Array) -> None:
        """Forget the rows in some slots."""
        numbers = self._spots[slots] >> PLACE_BITS
        self._spots[slots] = NOWHERE
        gone = np.bincount(numbers, minlength=1 + max((batch.number for batch in self._batches), default=0))
        for batch in self._batches:
            batch.kept -= int(gone[batch.number])
        self._batches = [batch for batch in self._batches if batch.kept]
        self._tidy_up()

    def kept(self) -> list[pa.Table]:
        """All rows that are kept, in the order in which they came."""
        return [self._without_gone([batch]).rows for batch in self._batches]

    def _tidy_up(self) -> None:
        """Keep little of what nobody wants, and few batches."""
        kept = sum(batch.kept for batch in self._batches)
        if sum(len(batch.slots) for batch in self._batches) > 2 * kept:
            for place, batch in enumerate(self._batches):
                if 2 * batch.kept <= len(batch.slots):
                    self._replace(place, place + 1)
        while len(self._batches) > 1:
            before, last = self._batches[-2:]
            if max(before.kept, last.kept) > LARGE or before.kept > 2 * last.kept:
                break
            self._replace(len(self._batches) - 2, len(self._batches))

    def _replace(self, first: int, end: int) -> None:
        """Put one batch in place of some, without the rows that are gone."""
        batch = self._without_gone(self._batches[first:end])
        self._spots[batch.slots] = batch.spots
        self._batches[first:end] = [batch]

    def _without_gone(self, batches: Sequence[Batch]) -> Batch:
        tables, slots = [], []
        for batch in batches:
            if batch.kept == len(batch.slots):
                tables.append(batch.rows)
                slots.append(batch.slots)
            else:
                is_kept = self._spots[batch.slots] == batch.spots
                tables.append(batch.rows.filter(pa.array(is_kept)))
                slots.append(batch.slots[is_kept])
        rows = pa.concat_tables(tables).combine_chunks()
        return Batch(batches[0].number, rows, np.concatenate(slots), sum(map(len, slots)))

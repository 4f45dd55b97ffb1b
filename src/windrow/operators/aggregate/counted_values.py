"""The different values of a query's windows with their counts: entries of slices in, what was asked out.

1. `push`: entries of a slice, key and value, in any order. Entries alike are added up when there are
   twice as many as there were after the last time; until then they are as good as one.
2. `close`: the slices that no row can enter any more; of frequent items only the commonest stay.
3. `slide`: the questions of all aggregates over these values, answered from one set of counts.

A value of an entry is a code; the rest of a slice, by which FREQUENT_ITEMS knows what it has not kept,
has none. At rest, values are themselves, and the rest is a NULL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.contents import OfCounts
from windrow.aggregates.questions import Distinct, DistinctTotals, Each, OverRest
from windrow.final.steps import MOST_ANSWERS
from windrow.final.values.frequencies import Frequencies
from windrow.final.values.frequency_trees import REST
from windrow.operators.aggregate.open_slices import slice_order
from windrow.operators.aggregate.ordered_values import MOST_IN_ANSWERS
from windrow.operators.aggregate.record_layout import one_chunk
from windrow.operators.aggregate.value_numbers import numbers_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.aggregates import Aggregate
    from windrow.aggregates.contents import Counts
    from windrow.final.steps import Steps
    from windrow.slicing import Window

    Array = np.ndarray[Any, Any]


class ValueEntries(NamedTuple):
    """Values of slices and keys, in slice order."""

    starts: Array
    keys: Array
    codes: Array
    counts: Array

    def part(self, which: Any) -> ValueEntries:
        """Some of them."""
        return ValueEntries(*(column[which] for column in self))


FEW = 1 << 20
"""So many entries of open slices are not worth being added up."""
NO_ENTRIES = ValueEntries(
    np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64)
)


class CountedValues:
    """The running state of one `Counts`."""

    def __init__(self, contents: Counts, windows: Sequence[Window], aggregates: Sequence[OfCounts]) -> None:
        self._contents = contents
        self._aggregates = aggregates
        self._questions = list(dict.fromkeys(q for item in aggregates for q in item.questions))
        self._ordered = any(not isinstance(q, Distinct | DistinctTotals) for q in self._questions)
        self._numbers = numbers_for(contents.of_type)
        self._frequencies = Frequencies(windows, self._questions)
        self._open = NO_ENTRIES
        self._merge_at = FEW
        self._fresh = NO_ENTRIES

    @property
    def entries(self) -> int:
        """How many values of slices and keys it holds."""
        return self._frequencies.entries + len(self._open.starts)

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        return self._frequencies.bytes + sum(column.nbytes for column in self._open) + self._values.nbytes

    @property
    def known(self) -> int:
        """How many values have a number."""
        return len(self._numbers)

    @property
    def most_answers(self) -> int:
        """How many answers may be made at a time: as many as can be held where they list values."""
        if not any(isinstance(question, Each | OverRest) for question in self._questions):
            return MOST_ANSWERS
        keys = self._frequencies.held()[1]
        longest = int(np.bincount(keys).max()) if len(keys) else 1
        return max(MOST_IN_ANSWERS // longest, 1)

    def forget(self, horizon: int) -> None:
        """Nothing to do: counts let go of what leaves the window."""

    @property
    def _values(self) -> pa.Array:
        return self._numbers.values

    def push(self, starts: Array, keys: Array, table: pa.Table) -> None:
        """Take in entries of slices that are open: a value and a count each."""
        values = one_chunk(table, self._contents.value_name)
        counts = one_chunk(table, self._contents.count_name).to_numpy()
        new = self._entries(starts, keys, values, counts)
        if values.null_count:
            new = new.part(pc.is_valid(values).to_numpy(False))
        new = new.part(slice_order(new.starts))
        if len(self._open.starts):
            new = ValueEntries(*map(np.concatenate, zip(self._open, new, strict=True)))
            new = new.part(slice_order(new.starts))
        self._open = new

    def close(self, before: int, horizon: int) -> None:
        """Slices that start before an instant are complete; those before the horizon nobody needs."""
        end = int(np.searchsorted(self._open.starts, before))
        closed, self._open = self._open.part(slice(end)), self._open.part(slice(end, None))
        if len(self._open.starts) > self._merge_at:
            self._open = _merged(self._open)
            self._merge_at = max(FEW, 2 * len(self._open.starts))
        if self._contents.kept is not None:
            closed = _commonest(_merged(closed), self._contents.kept, self._numbers.ranks())
        self._frequencies.append(*closed)
        self._fresh = closed.part(slice(int(np.searchsorted(closed.starts, horizon)), None))

    def slide(self, steps: Steps) -> list[list[Any]]:
        """What was found: by range, then by question."""
        ranks = self._numbers.ranks() if self._ordered else None
        weights = None
        if DistinctTotals() in self._questions:
            made = (item.weights(self._values) for item in self._aggregates)
            weights = next(matrix for matrix in made if matrix is not None)
        return self._frequencies.slide(steps, ranks, weights)

    def answers(self, aggregate: Aggregate, found: list[Any]) -> pa.Array:
        """The answers of one aggregate, from what was found for a range."""
        assert isinstance(aggregate, OfCounts)
        own = [found[self._questions.index(question)] for question in aggregate.questions]
        return aggregate.lower([*own, self._numbers.decode])

    def closed_at_rest(self) -> tuple[Array, Array, dict[str, Any]]:
        """What the last `close` closed: starts, keys and columns."""
        return self._at_rest(self._fresh)

    def held_at_rest(self) -> tuple[Array, Array, dict[str, Any]]:
        """All that is closed and in a window."""
        return self._at_rest(ValueEntries(*self._frequencies.held()))

    def open_at_rest(self) -> tuple[Array, Array, dict[str, Any]]:
        """What is open."""
        return self._at_rest(self._open)

    def restore_closed(self, starts: Array, keys: Array, table: pa.Table) -> None:
        """Take in slices that were closed."""
        values = one_chunk(table, self._contents.value_name)
        counts = one_chunk(table, self._contents.count_name).to_numpy()
        self._frequencies.append(*self._entries(starts, keys, values, counts))

    def _at_rest(self, entries: ValueEntries) -> tuple[Array, Array, dict[str, Any]]:
        values = self._numbers.decode(entries.codes)
        columns = {self._contents.value_name: values, self._contents.count_name: entries.counts}
        return entries.starts, entries.keys, columns

    def _entries(self, starts: Array, keys: Array, values: pa.Array, counts: Array) -> ValueEntries:
        codes = np.full(len(values), REST, np.int32)
        codes[pc.is_valid(values).to_numpy(False)] = self._numbers.encode(values.drop_null())
        return ValueEntries(starts, keys, codes, counts)


def _merged(entries: ValueEntries) -> ValueEntries:
    """In slice order, the counts of entries alike added up."""
    starts, keys, codes, counts = entries
    if not len(starts):
        return entries
    order = _order(entries)
    starts, keys, codes, counts = entries.part(order)
    changes = (np.diff(starts) != 0) | (np.diff(keys) != 0) | (np.diff(codes) != 0)
    first = np.concatenate([[0], np.flatnonzero(changes) + 1])
    return ValueEntries(starts[first], keys[first], codes[first], np.add.reduceat(counts, first))


def _order(entries: ValueEntries) -> Array:
    """By slice, key and code; as one number, if they fit in one, which took a seventh of the time."""
    starts, keys, codes, _ = entries
    changes = np.concatenate([[0], np.flatnonzero(np.diff(starts)) + 1])
    slices = np.repeat(np.arange(len(changes)), np.diff(np.append(changes, len(starts))))
    most_keys, most_codes = int(keys.max()) + 1, int(codes.max()) + 1
    if len(changes) * most_keys * most_codes < 1 << 62:
        return np.argsort((slices * most_keys + keys) * most_codes + codes)
    return np.lexsort((codes, keys, starts))


def _commonest(entries: ValueEntries, kept: int, ranks: Array) -> ValueEntries:
    """The `kept` greatest counts of each slice and key and, where there are so many, the least of them as
    the rest: a value that was not kept occurs at most so often in the slice."""
    if not len(entries.starts):
        return entries
    # They come by slice and key: within each, by count and then by value.
    group = np.cumsum((np.diff(entries.starts, prepend=0) != 0) | (np.diff(entries.keys, prepend=-1) != 0))
    starts, keys, codes, counts = entries.part(
        np.lexsort((ranks[entries.codes], group * (int(entries.counts.max()) + 1) - entries.counts))
    )
    first = np.concatenate([[0], np.flatnonzero((np.diff(starts) != 0) | (np.diff(keys) != 0)) + 1])
    place = np.arange(len(starts)) - np.repeat(first, np.diff(np.append(first, len(starts))))
    top = ValueEntries(starts, keys, codes, counts).part(place < kept)
    rest = ValueEntries(starts, keys, np.full(len(codes), REST, np.int32), counts).part(place == kept - 1)
    both = ValueEntries(*map(np.concatenate, zip(top, rest, strict=True)))
    return both.part(np.argsort(both.starts, kind="stable"))

"""The entries that all windows of a tree share: closed slices in order, each linked to its key's others.

An entry is the partial of one slice and key. Entries are numbered as they come, and keep their numbers
when older ones are dropped; links are entry numbers, so that dropping is free and a number below `base`
means "no longer held". A key has no list of its own: it costs one row of numbers, whatever it has had.

*Jumps* find a key's oldest entry in a window. Each entry has a link to the entry before it and one that
reaches further, as far as makes the way to any older entry logarithmic (Myers, An applicative random-access
stack, 1983).

Time: O(1) an entry. Space: 44 bytes an entry, 48 a key, and the records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.final.growing_array import GrowingArray
from windrow.machine_code import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.aggregates import Operation

    Array = np.ndarray[Any, Any]
    Records = dict[Operation, Array]

NONE = -1
"""Stands for no entry, and for no key."""

# An entry's links: the key's entry before it and the one behind it, the one that it jumps back to, and how
# many entries the jump passes.
PREVIOUS, FOLLOWING, JUMP, LEAP = range(4)


class Entries:
    """Starts, keys, links and records of the entries held."""

    def __init__(self, operations: Sequence[tuple[Operation, int]]) -> None:
        self._starts = GrowingArray(np.empty(0, np.int64))
        self._keys = GrowingArray(np.empty(0, np.int32))
        self._links = GrowingArray(np.empty((0, 4), np.int64))
        self._records = {
            operation: GrowingArray(np.empty((0, columns), operation.dtype))
            for operation, columns in operations
        }
        self._newest = np.empty(0, np.int64)  # of each key, for linking
        self.base = 0
        """The number of the oldest entry held."""

    def __len__(self) -> int:
        return len(self._starts.view)

    @property
    def starts(self) -> Array:
        """Where each entry's slice begins."""
        return self._starts.view

    @property
    def keys(self) -> Array:
        """The key of each entry."""
        return self._keys.view

    @property
    def links(self) -> Array:
        """A row of links an entry."""
        return self._links.view

    def records(self, operation: Operation) -> Array:
        """The records of an operation."""
        return self._records[operation].view

    def append(self, starts: Array, keys: Array, records: Records, key_count: int) -> None:
        """Add closed slices, in slice order; key numbers are below `key_count`."""
        if key_count > len(self._newest):
            self._newest = wider(self._newest, key_count)
        self._starts.append(starts)
        self._keys.append(keys)
        for operation, rows in records.items():
            self._records[operation].append(rows)
        self._links.extend(len(starts))
        _link(self.keys, self.base, len(self) - len(starts), self._newest, self.links)

    def before(self, instant: int) -> int:
        """How many entries begin before an instant."""
        return int(np.searchsorted(self.starts, instant))

    def drop(self, rows: int) -> None:
        """Forget the oldest entries."""
        for array in (self._starts, self._keys, self._links, *self._records.values()):
            array.drop(rows)
        self.base += rows

    @property
    def bytes(self) -> int:
        """What the links and the keys take."""
        return self._links.bytes + self._newest.nbytes


def wider(by_key: Array, key_count: int) -> Array:
    """Room for more keys, which have no entries."""
    known = len(by_key)
    more = np.full((max(key_count, 2 * known) - known, *by_key.shape[1:]), NONE, by_key.dtype)
    return np.concatenate([by_key, more])


@compiled
def _link(keys: Array, base: int, begin: int, newest: Array, links: Array) -> None:
    for place in range(begin, len(keys)):
        key = keys[place]
        previous = newest[key]
        newest[key] = base + place
        links[place, PREVIOUS], links[place, FOLLOWING] = previous, NONE
        links[place, JUMP], links[place, LEAP] = previous, 1
        if previous < base:
            continue
        links[previous - base, FOLLOWING] = base + place
        far, leap = links[previous - base, JUMP], links[previous - base, LEAP]
        if far >= base and links[far - base, LEAP] == leap:
            # Two jumps of the same length in a row become one.
            links[place, JUMP], links[place, LEAP] = links[far - base, JUMP], 2 * leap + 1

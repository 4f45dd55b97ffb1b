"""What is to happen at which instant, in a queue from which it is taken in order, however it came.

A circle of partitions of one width, from now on: a calendar with a page for each of the next days. An entry
is put on its page as it comes, without order. A page is sorted when its turn comes, and then becomes that of
the day behind the last. What lies behind the last waits by itself, and is looked through once a lap. How many
partitions there are, and how wide they are, goes by how many entries there are and how long they stay: it is
chosen anew when as many have come as there were.

Time: O(1) an entry, amortised, and its share of the sorting of a partition. Space: at most four times three
words an entry. Source: Golab 2006, §3.5.3, after Brown 1988.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.columns import BEGINNING, END_OF_TIME
from windrow.machine_code import compiled

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

FEWEST = 5
"""There are never fewer partitions."""
IN_PARTITION = 1024
"""About so many entries are in a partition, where there are enough: few enough to be sorted in the cache."""
SMALL = 1024
"""Below so many entries it does not matter how wide the partitions are."""
INSTANT, NUMBER, NEXT = range(3)
"""The words of an entry: when, what, and which entry of its partition comes behind it."""
NONE = -1
GIVEN, FREE = range(2)
"""Places of the counts: entries of the pool that were ever in use, the first of those that no longer are."""


class CalendarQueue:
    """Numbers, each due at an instant. What is due at END_OF_TIME never is, and is not kept.

    >>> queue = CalendarQueue()
    >>> queue.push(np.array([30, 10, 20]), np.array([0, 1, 2]))
    >>> queue.next(), len(queue)
    (10, 3)
    >>> queue.pop(21)
    (array([10, 20]), array([1, 2]))
    """

    _heads: Array
    """The first entry of each partition, and of what lies behind the last."""
    _leasts: Array
    """The least instant in each of them."""
    _sizes: Array
    """How many entries are in each of them."""
    _front: int
    """The turn of the partition at the front: how many have had theirs before it."""

    def __init__(self) -> None:
        self._now = BEGINNING
        self._sorted: tuple[Array, Array] = _nothing(), _nothing()
        self._lay_out(_nothing(), _nothing())

    def __len__(self) -> int:
        """How many there are."""
        return len(self._sorted[0]) + int(self._sizes.sum())

    @property
    def bytes(self) -> int:
        """How much memory they take."""
        arrays = (*self._sorted, self._pool, self._heads, self._leasts, self._sizes)
        return sum(array.nbytes for array in arrays)

    @property
    def partitions(self) -> list[tuple[int, int]]:
        """The first and the last instant of each partition, in the order of their places."""
        count = len(self._heads) - 1
        turns = (self._front + (place - self._front) % count for place in range(count))
        begins = [self._begin + turn * self._width for turn in turns]
        return [(begin, begin + self._width - 1) for begin in begins]

    def push(self, instants: Array, numbers: Array) -> None:
        """More of them, in any order."""
        if len(instants) and instants.max() >= END_OF_TIME:
            ends = instants < END_OF_TIME
            instants, numbers = instants[ends], numbers[ends]
        self._pushed += len(instants)
        held = len(self)
        if self._pushed >= max(SMALL, held) or not held:
            self._renew(instants, numbers)
        else:
            self._put(instants, numbers)

    def pop(self, until: int) -> tuple[Array, Array]:
        """Take out all that are due before an instant: the instants in order, and the numbers, those of one
        instant in order."""
        until = min(until, END_OF_TIME)
        self._now = max(self._now, until)
        if not len(self):
            return _nothing(), _nothing()
        due = self._turn_to(until)
        instants, numbers = self._sorted
        if due:
            instants, numbers = (np.concatenate(arrays) for arrays in zip(self._sorted, *due, strict=True))
            order = np.lexsort((numbers, instants))
            instants, numbers = instants[order], numbers[order]
        end = int(np.searchsorted(instants, until))
        # Copies: what is left must not keep alive what was given away.
        self._sorted = instants[end:].copy(), numbers[end:].copy()
        if len(self._pool) > SMALL and len(self) * 4 < len(self._pool):
            self._renew(_nothing(), _nothing())
        return instants[:end], numbers[:end]

    def next(self) -> int:
        """When the next is due; END_OF_TIME if there is none."""
        least = int(self._leasts.min())
        return min(least, int(self._sorted[0][0])) if len(self._sorted[0]) else least

    def _turn_to(self, until: int) -> list[tuple[Array, Array]]:
        """Turn the circle until the partition of an instant is at its front; gives the entries of those that
        have had their turn."""
        count, before = len(self._heads) - 1, self._front
        last = max(before, (until - 1 - self._begin) // self._width)
        self._front = max(before, (until - self._begin) // self._width)
        if self._leasts.min() >= until:
            return []
        places = (before + np.arange(min(last - before + 1, count))) % count
        due = [self._collect(int(place)) for place in places[self._sizes[places] > 0]]
        if self._leasts[count] < self._begin + (last + 1) * self._width:
            self._put(*self._collect(count))
            due.append(self._collect(self._front % count))
        return due

    def _renew(self, instants: Array, numbers: Array) -> None:
        """Lay the partitions out for all that there is, and these."""
        all_of = [self._sorted, (instants, numbers)]
        all_of += [self._collect(place) for place in map(int, np.flatnonzero(self._sizes))]
        self._sorted = _nothing(), _nothing()
        self._lay_out(*(np.concatenate(arrays) for arrays in zip(*all_of, strict=True)))

    def _lay_out(self, instants: Array, numbers: Array) -> None:
        """Partitions for these entries and no others."""
        held = len(instants)
        count = max(FEWEST, held // IN_PARTITION)
        self._begin, self._width, self._front, self._pushed = self._now, 1, 0, 0
        if held:
            if self._now == BEGINNING:
                self._begin = int(instants.min())
            # A few that stay much longer than the others wait behind the last partition.
            end = int(instants.max()) + 1
            most = int(np.partition(instants, held * 9 // 10)[held * 9 // 10]) + 1
            end = end if end - self._begin <= 2 * (most - self._begin) else most
            self._width = max(1, -((self._begin - end) // count))
        self._pool = np.empty((max(16, 2 * held), 3), np.int64)
        self._heads = np.full(count + 1, NONE, np.int64)
        self._leasts = np.full(count + 1, END_OF_TIME, np.int64)
        self._sizes = np.zeros(count + 1, np.int64)
        self._counts = np.array([0, NONE])
        self._put(instants, numbers)

    def _put(self, instants: Array, numbers: Array) -> None:
        """Put entries into their partitions."""
        needed = int(self._sizes.sum()) + len(instants)
        if needed > len(self._pool):
            self._pool = np.concatenate([self._pool, np.empty((needed, 3), np.int64)])
        partitions = (self._heads, self._leasts, self._sizes)
        _put(instants, numbers, self._begin, self._width, self._front, self._pool, *partitions, self._counts)

    def _collect(self, place: int) -> tuple[Array, Array]:
        """Take all entries out of a partition, or out of what is behind the last."""
        entries = np.empty((2, self._sizes[place]), np.int64)
        _take_out(place, entries, self._pool, self._heads, self._leasts, self._sizes, self._counts)
        return entries[0], entries[1]


def _nothing() -> Array:
    return np.empty(0, np.int64)


def _put_into_partitions(
    instants: Array,
    numbers: Array,
    begin: int,
    width: int,
    front: int,
    pool: Array,
    heads: Array,
    leasts: Array,
    sizes: Array,
    counts: Array,
) -> None:
    count = len(heads) - 1
    for row in range(len(instants)):
        turn = max(front, (instants[row] - begin) // width)
        place = count if turn >= front + count else turn % count
        if counts[FREE] == NONE:
            entry = counts[GIVEN]
            counts[GIVEN] += 1
        else:
            entry = counts[FREE]
            counts[FREE] = pool[entry, NEXT]
        pool[entry, INSTANT], pool[entry, NUMBER] = instants[row], numbers[row]
        pool[entry, NEXT], heads[place] = heads[place], entry
        leasts[place] = min(leasts[place], instants[row])
        sizes[place] += 1


def _take_out_of_partition(
    place: int, entries: Array, pool: Array, heads: Array, leasts: Array, sizes: Array, counts: Array
) -> None:
    entry = heads[place]
    for at in range(sizes[place] - 1, -1, -1):
        entries[0, at], entries[1, at] = pool[entry, INSTANT], pool[entry, NUMBER]
        behind = pool[entry, NEXT]
        pool[entry, NEXT] = counts[FREE]
        counts[FREE] = entry
        entry = behind
    heads[place], leasts[place], sizes[place] = NONE, END_OF_TIME, 0


_put = compiled(_put_into_partitions, nogil=True)
_take_out = compiled(_take_out_of_partition, nogil=True)

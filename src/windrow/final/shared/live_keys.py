"""Which keys answer at each evaluation, and from which of their entries on: made once, for all operations.

Keys stand in a list by their latest entry, the most recent one first; entries come in slice order, so
moving a key to the front is all that an entry costs. The keys that have an answer at an evaluation are
those from the front of the list to the first whose latest entry lies before the window: no window needs a
list of its own, and keys that fell silent are never visited.

The oldest entry of a key in the window is found by reading the entries from the window's beginning on,
twice as many as there are answers: where keys are about equally frequent, nearly all are found (all, where
each has an entry in every slice). The others follow the jumps of `entries.py`.

Time: O(1) an entry, whatever the number of windows; O(log n) an evaluation; O(1) an answer, O(log n) at
worst. Space: 40 bytes a key; 32 an answer of the piece that is being made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.final.shared.entries import JUMP, NONE, PREVIOUS, wider
from windrow.final.shared.evaluations import Evaluations, Ticks, entries_before
from windrow.final.steps import MOST_ANSWERS
from windrow.machine_code import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from windrow.final.shared.entries import Entries

    Array = np.ndarray[Any, Any]

# A key's row: its latest entry, its neighbours in the list, and, of the last evaluation that came across
# one of its entries in the beginning of the window, the number and that entry.
LATEST, NEWER, OLDER, SEEN, FIRST = range(5)


@dataclass(frozen=True)
class AnswerSpans:
    """Some answers, in ascending order of their ends. A key's entries from `first` to `last` make one."""

    windows: Array
    ends: Array
    keys: Array
    first: Array
    last: Array


class LiveKeys:
    """The keys by their latest entry, as of the last evaluation."""

    def __init__(self) -> None:
        self._by_key = np.empty((0, 5), np.int64)
        # entries pushed, the front of the list, evaluations so far
        self._cursor = np.array([0, NONE, 0], np.int64)

    def grow(self, key_count: int) -> None:
        """Make room for key numbers below `key_count`."""
        if key_count > len(self._by_key):
            self._by_key = wider(self._by_key, key_count)

    @property
    def pushed(self) -> int:
        """Entries before this one have been seen by an evaluation."""
        return int(self._cursor[0])

    @property
    def bytes(self) -> int:
        """What the keys take."""
        return self._by_key.nbytes

    def rewind(self, base: int) -> None:
        """Begin anew at the oldest entry held."""
        self._by_key[:] = NONE
        self._cursor[:2] = base, NONE

    def evaluate(
        self, entries: Entries, ticks: Ticks, evaluations: Evaluations, most_answers: int | None = None
    ) -> Iterator[AnswerSpans]:
        """What the evaluations answer: `most_answers` (else MOST_ANSWERS) at a time, or those of one."""
        room = max(most_answers or MOST_ANSWERS, len(self._by_key))
        self._cursor[0] = max(self.pushed, entries.base)
        narrow, wide, filled = _room(room)
        oldest = np.zeros(len(ticks), np.int64)
        for stretch in evaluations.stretches():
            done = 0
            while done < len(stretch.packed):
                done, filled = _answer(
                    stretch.packed, done, stretch.begin, stretch.bits, ticks.ranges, oldest,
                    entries.starts, entries.keys, entries.links, entries.base,
                    self._by_key, self._cursor, narrow, wide, filled,
                )  # fmt: skip
                if done < len(stretch.packed):
                    yield _spans(narrow, wide, filled)
                    narrow, wide, filled = _room(room)
        if filled:
            yield _spans(narrow, wide, filled)


def _room(answers: int) -> tuple[Array, Array, int]:
    return np.empty((2, answers), np.int32), np.empty((3, answers), np.int64), 0


def _spans(narrow: Array, wide: Array, filled: int) -> AnswerSpans:
    windows, keys = narrow[:, :filled]
    ends, first, last = wide[:, :filled]
    return AnswerSpans(windows, ends, keys, first, last)


@compiled
def _answer(
    packed: Array, done: int, begin: int, bits: int, ranges: Array, oldest: Array,
    starts: Array, keys: Array, links: Array, base: int,
    by_key: Array, cursor: Array, narrow: Array, wide: Array, filled: int,
) -> tuple[int, int]:  # fmt: skip
    """Evaluate until the room is full; returns how many evaluations are done, and answers made."""
    pushed, front, stamp = cursor[0] - base, cursor[1], cursor[2]
    room = narrow.shape[1]
    in_window = (1 << bits) - 1
    while done < len(packed):
        window, end = packed[done] & in_window, begin + (packed[done] >> bits)
        while pushed < len(starts) and starts[pushed] < end:
            front = _to_front(by_key, keys[pushed], front)
            by_key[front, LATEST] = base + pushed
            pushed += 1
        begins = end - ranges[window]
        answers = filled
        key = front
        while key != NONE:
            last = by_key[key, LATEST] - base
            if last < 0 or starts[last] < begins:
                break
            if answers == room:
                cursor[0], cursor[1], cursor[2] = base + pushed, front, stamp
                return done, filled
            narrow[1, answers] = key
            wide[2, answers] = base + last
            answers += 1
            key = by_key[key, OLDER]
        stamp += 1
        from_here = oldest[window] = entries_before(starts, begins, oldest[window])
        for place in range(min(pushed, from_here + 2 * (answers - filled)) - 1, from_here - 1, -1):
            key = keys[place]
            by_key[key, SEEN] = stamp
            by_key[key, FIRST] = place
        for answer in range(filled, answers):
            key = narrow[1, answer]
            first = by_key[key, FIRST]
            if by_key[key, SEEN] != stamp:
                first = _oldest(starts, links, base, wide[2, answer] - base, begins)
            narrow[0, answer] = window
            wide[0, answer] = end
            wide[1, answer] = base + first
        filled = answers
        done += 1
    cursor[0], cursor[1], cursor[2] = base + pushed, front, stamp
    return done, filled


@compiled
def _to_front(by_key: Array, key: int, front: int) -> int:
    if key == front:
        return key
    if by_key[key, LATEST] != NONE:  # it stands further back
        newer, older = by_key[key, NEWER], by_key[key, OLDER]
        by_key[newer, OLDER] = older
        if older != NONE:
            by_key[older, NEWER] = newer
    by_key[key, OLDER] = front
    if front != NONE:
        by_key[front, NEWER] = key
    return key


@compiled
def _oldest(starts: Array, links: Array, base: int, place: int, begins: int) -> int:
    """The oldest entry of a key that is in the window, from one that is."""
    while True:
        far, previous = links[place, JUMP] - base, links[place, PREVIOUS] - base
        if far >= 0 and starts[far] >= begins:
            place = far
        elif previous >= 0 and starts[previous] >= begins:
            place = previous
        else:
            return place

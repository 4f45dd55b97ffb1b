"""Which entries enter and leave the window at each evaluation, and which keys then have an answer.

Entries are the partials of closed slices, one a slice and key, in slice order; the schedule is made
once and followed by the final aggregator of every operation. Keys with entries in the window form a
live list, so an evaluation costs what it answers: a key with one entry costs one entry, not every
slice of the window, and stretches without any live key are skipped.

Time: O(1) an entry and O(1) an answer. Space: O(1) a key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from windrow.slicing import Window

    Array = np.ndarray[Any, Any]

MOST_ANSWERS = 1 << 20
"""Answers made at a time: bounds memory, and is large enough to write whole Parquet row groups."""

MOST_EVALUATIONS = 1 << 16


@dataclass(frozen=True)
class Schedule:
    """A run of evaluations. Entry numbers count from the first entry ever appended."""

    ends: Array
    """The evaluated instants, ascending."""
    evict_to: Array
    """Entries before this one have left the window."""
    push_to: Array
    """Entries before this one have entered it."""
    block: Array
    """Start of the range-aligned block that the window ends in; it splits the window in two."""
    block_from: Array
    """The first entry that starts in that block or behind it."""
    answers_from: Array
    """Where each evaluation's answers begin; one more than evaluations, the last is the total."""
    keys: Array
    """The key of each answer."""

    @property
    def answer_ends(self) -> Array:
        """The evaluated instant of each answer."""
        return np.repeat(self.ends, np.diff(self.answers_from))


class Liveness:
    """The keys that have entries in the window, and where the next evaluation goes on."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.entries = np.zeros(0, np.int64)  # per key, entries in the window
        self.place = np.zeros(0, np.int64)  # per key, its place in `live`
        self.live = np.zeros(0, np.int32)
        # next evaluation, evicted, pushed, block_from, live keys
        self.cursor = np.zeros(5, np.int64)

    def grow(self, keys: int) -> None:
        """Make room for key numbers below `keys`."""
        if keys > len(self.entries):
            room = max(keys, 2 * len(self.entries))
            self.entries = np.concatenate([self.entries, np.zeros(room - len(self.entries), np.int64)])
            self.place = np.resize(self.place, room)
            self.live = np.resize(self.live, room)

    @property
    def live_keys(self) -> int:
        """How many keys have entries in the window now."""
        return int(self.cursor[4])

    @property
    def evicted(self) -> int:
        """Entries before this number are no longer needed."""
        return int(self.cursor[1])

    def evaluate(self, starts: Array, keys: Array, base: int, after: int, until: int) -> Iterator[Schedule]:
        """The evaluations e with after < e ≤ until, some at a time.

        `starts` and `keys` hold the entries numbered `base` and on. A schedule must be followed
        before the next one is asked for.
        """
        window = self.window
        self.cursor[0] = window.first_evaluation_after(after)
        room = max(MOST_ANSWERS, len(self.live))
        while True:
            answers = np.empty(room, np.int32)
            steps = np.empty((6, MOST_EVALUATIONS + 1), np.int64)
            count = _evaluate(
                starts, keys, base, until, window.range, window.slide, window.offset,
                self.entries, self.place, self.live, self.cursor, steps, answers,
            )  # fmt: skip
            if count == 0:
                return
            ends, evict_to, push_to, block, block_from = steps[:5, :count]
            answers_from = steps[5, : count + 1]
            yield Schedule(
                ends, evict_to, push_to, block, block_from, answers_from, answers[: answers_from[-1]]
            )


@njit(cache=True)
def _evaluate(
    starts: Array, keys: Array, base: int, until: int, range_: int, slide: int, offset: int,
    entries: Array, place: Array, live: Array, cursor: Array, steps: Array, answers: Array,
) -> int:  # fmt: skip
    end, evicted, pushed, block_from, alive = cursor
    tail = base + len(starts)
    count = 0
    total = 0
    while count < steps.shape[1] - 1:
        if alive == 0:
            # Nothing is live: go straight to the first evaluation that the next entry is part of.
            if pushed == tail:
                break
            start = starts[pushed - base]
            end = max(end, start + slide - (start - offset) % slide)
        if end > until:
            break
        while pushed < tail and starts[pushed - base] < end:
            key = keys[pushed - base]
            if entries[key] == 0:
                place[key] = alive
                live[alive] = key
                alive += 1
            entries[key] += 1
            pushed += 1
        while evicted < pushed and starts[evicted - base] < end - range_:
            key = keys[evicted - base]
            entries[key] -= 1
            if entries[key] == 0:
                alive -= 1
                last = live[alive]
                live[place[key]] = last
                place[last] = place[key]
            evicted += 1
        # A step without answers is recorded too, so that the aggregators let go of the same entries.
        if count > 0 and total + alive > len(answers):
            break
        block = end - 1 - (end - 1) % range_
        block_from = max(block_from, evicted)
        while block_from < pushed and starts[block_from - base] < block:
            block_from += 1
        steps[0, count] = end
        steps[1, count] = evicted
        steps[2, count] = pushed
        steps[3, count] = block
        steps[4, count] = block_from
        steps[5, count] = total
        answers[total : total + alive] = live[:alive]
        total += alive
        count += 1
        end += slide
    steps[5, count] = total
    cursor[0] = end
    cursor[1] = evicted
    cursor[2] = pushed
    cursor[3] = block_from
    cursor[4] = alive
    return count

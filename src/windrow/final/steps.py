"""The steps of windows: which entries enter and leave at each evaluation, and which keys then have an answer.

Entries are the partials of closed slices, one a slice and key, in slice order; steps are made
once and followed by the final aggregator of every operation. Keys with entries in the window form a
live list, so an evaluation costs what it answers: a key with one entry costs one entry, not every
slice of the window, and stretches without any live key are skipped.

Time: O(1) an entry and range, and O(1) an answer. Space: O(1) a key and range.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.machine_code import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from windrow.slicing import Window

    Array = np.ndarray[Any, Any]

MOST_ANSWERS = 1 << 20
"""Answers made at a time: bounds memory, and is large enough to write whole Parquet row groups."""

MOST_EVALUATIONS = 1 << 16


@dataclass(frozen=True)
class Steps:
    """A run of evaluations of ranges that end together, a step each.

    Entry numbers count from the first one ever. Arrays with two dimensions have a row a range,
    in ascending order of the ranges.
    """

    ends: Array
    """The evaluated instants, ascending."""
    push_to: Array
    """Entries before this one have entered the window."""
    evict_to: Array
    """Entries before this one have left the range."""
    block: Array
    """Start of the range-aligned block that the window ends in; it splits the range in two."""
    block_from: Array
    """The first entry that starts in that block or behind it."""
    answers_from: Array
    """Where each evaluation's answers begin; one more than evaluations, the last is the total."""
    answer_keys: Array
    """The key of each answer; rows are longer than there are answers."""

    @property
    def room(self) -> int:
        """How many answers a row has room for."""
        return int(self.answer_keys.shape[1])

    def keys(self, range_: int) -> Array:
        """The key of each answer of a range."""
        return self.answer_keys[range_, : self.answers_from[range_, -1]]

    def answer_ends(self, range_: int) -> Array:
        """The evaluated instant of each answer of a range."""
        return np.repeat(self.ends, np.diff(self.answers_from[range_]))


class Liveness:
    """The keys that have entries in each range, and where the next evaluation goes on.

    The windows have one slide and offset, so that they end together; ranges ascend.
    """

    def __init__(self, windows: Sequence[Window]) -> None:
        self.windows = windows
        self.ranges = np.array([window.range for window in windows], np.int64)
        ranges = len(windows)
        self.entries = np.zeros((ranges, 0), np.int64)  # per key, entries in the range
        self.place = np.zeros((ranges, 0), np.int64)  # per key, its place in `live`
        self.live = np.zeros((ranges, 0), np.int32)
        self.cursor = np.zeros(2, np.int64)  # next evaluation, pushed
        self.by_range = np.zeros((3, ranges), np.int64)  # evicted, block_from, live keys

    def grow(self, keys: int) -> None:
        """Make room for key numbers below `keys`."""
        known = self.entries.shape[1]
        if keys > known:
            more = ((0, 0), (0, max(keys, 2 * known) - known))
            self.entries = np.pad(self.entries, more)
            self.place = np.pad(self.place, more)
            self.live = np.pad(self.live, more)

    @property
    def evicted(self) -> int:
        """Entries before this number are no longer needed."""
        return int(self.by_range[0, -1])

    def evaluate(
        self,
        starts: Array,
        keys: Array,
        base: int,
        after: int,
        until: int,
        most_answers: int | None = None,
    ) -> Iterator[Steps]:
        """The evaluations e with after < e ≤ until, some at a time.

        `starts` and `keys` hold the entries numbered `base` and on. Steps must be followed
        before the next are asked for. They have at most `most_answers` (else MOST_ANSWERS), or those of
        one evaluation.
        """
        window, ranges = self.windows[0], len(self.windows)
        self.cursor[0] = window.first_evaluation_after(after)
        room = max((most_answers or MOST_ANSWERS) // ranges, self.live.shape[1])
        most = max(MOST_EVALUATIONS // ranges, 1)
        while True:
            answers = np.empty((ranges, room), np.int32)
            steps = np.empty((2, most), np.int64)
            by_range = np.empty((4, ranges, most + 1), np.int64)
            count = _evaluate(
                starts, keys, base, until, self.ranges, window.slide, window.offset,
                self.entries, self.place, self.live, self.cursor, self.by_range, steps, by_range, answers,
            )  # fmt: skip
            if count == 0:
                return
            # Contiguous, as they are anyway with one range: kernels are compiled for one kind of array.
            answers_from = np.ascontiguousarray(by_range[3, :, : count + 1])
            evict_to, block, block_from = np.ascontiguousarray(by_range[:3, :, :count])
            yield Steps(
                steps[0, :count], steps[1, :count], evict_to, block, block_from, answers_from,
                np.ascontiguousarray(answers[:, : answers_from[:, -1].max()]),
            )  # fmt: skip


@compiled
def _evaluate(
    starts: Array, keys: Array, base: int, until: int, ranges: Array, slide: int, offset: int,
    entries: Array, place: Array, live: Array, cursor: Array, state: Array,
    steps: Array, by_range: Array, answers: Array,
) -> int:  # fmt: skip
    end, pushed = cursor
    evicted, block_froms, alive = state[0], state[1], state[2]
    longest = len(ranges) - 1
    tail = base + len(starts)
    count = 0
    totals = np.zeros(len(ranges), np.int64)
    while count < steps.shape[1]:
        if alive[longest] == 0:
            # Nothing is live: go straight to the first evaluation that the next entry is part of.
            if pushed == tail:
                break
            start = starts[pushed - base]
            end = max(end, start + slide - (start - offset) % slide)
        if end > until:
            break
        while pushed < tail and starts[pushed - base] < end:
            key = keys[pushed - base]
            for r in range(len(ranges)):
                if entries[r, key] == 0:
                    place[r, key] = alive[r]
                    live[r, alive[r]] = key
                    alive[r] += 1
                entries[r, key] += 1
            pushed += 1
        full = False
        for r in range(len(ranges)):
            oldest = evicted[r]
            while oldest < pushed and starts[oldest - base] < end - ranges[r]:
                key = keys[oldest - base]
                entries[r, key] -= 1
                if entries[r, key] == 0:
                    alive[r] -= 1
                    last = live[r, alive[r]]
                    live[r, place[r, key]] = last
                    place[r, last] = place[r, key]
                oldest += 1
            evicted[r] = oldest
            full |= count > 0 and totals[r] + alive[r] > answers.shape[1]
        if full:
            break
        # A step without answers is recorded too, so that the aggregators let go of the same entries.
        steps[0, count] = end
        steps[1, count] = pushed
        for r in range(len(ranges)):
            block = end - 1 - (end - 1) % ranges[r]
            block_from = max(block_froms[r], evicted[r])
            while block_from < pushed and starts[block_from - base] < block:
                block_from += 1
            block_froms[r] = block_from
            by_range[0, r, count] = evicted[r]
            by_range[1, r, count] = block
            by_range[2, r, count] = block_from
            by_range[3, r, count] = totals[r]
            # One by one: to check the shapes of two slices takes seconds to compile.
            for number in range(alive[r]):
                answers[r, totals[r] + number] = live[r, number]
            totals[r] += alive[r]
        count += 1
        end += slide
    for r in range(len(ranges)):
        by_range[3, r, count] = totals[r]
    cursor[0] = end
    cursor[1] = pushed
    return count

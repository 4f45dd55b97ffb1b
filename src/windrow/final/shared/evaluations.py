"""Which windows end when: the evaluations of thousands of windows, in order, some at a time.

Every window ticks by its own slide and offset, and no common multiple of them is ever formed. A stretch of
time is filled window by window, each tick packed with its window's number into one integer, and sorted; the
stretch is as long as fits in memory. Ticks at which no entry is in the window, of any key, are jumped
over: a window of ten seconds costs nothing while its stream is silent for a week.

Time: O(log n) an evaluation, n entries; a window that has nothing to answer costs one search. (Measured:
sorting takes 7 ns an evaluation, where a heap of ten thousand windows takes 80.)
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

MOST_EVALUATIONS = 1 << 18
"""Evaluations sorted at a time, and one more a window: 2 MB, which stay in the cache."""
NEVER = 1 << 62
"""Behind all event times, and far enough from overflow to add a range."""


class Ticks:
    """Ranges, slides and offsets of the windows, as arrays."""

    def __init__(self, windows: Sequence[Window]) -> None:
        columns = [(window.range, window.slide, window.offset) for window in windows]
        self.ranges, self.slides, self.offsets = np.array(columns, np.int64).reshape(-1, 3).T.copy()

    def __len__(self) -> int:
        return len(self.ranges)

    def first_after(self, instants: Array | int) -> Array:
        """For each window, its first evaluation after an instant."""
        return instants + self.slides - (instants - self.offsets) % self.slides


@dataclass(frozen=True)
class Stretch:
    """The evaluations of a stretch of time, in order of their ends, at one end in order of the windows."""

    begin: int
    bits: int
    """How many bits of a packed evaluation are its window's number."""
    packed: Array
    """The end less `begin`, then the window, in one integer each."""


class Evaluations:
    """The evaluations e of each window with after < e ≤ until that some entry is part of."""

    def __init__(self, ticks: Ticks, starts: Array, after: Array | int, until: Array | int) -> None:
        self._by_window = ticks.ranges, ticks.slides, ticks.offsets, _each(until, len(ticks))
        self._starts = starts
        self._next = ticks.first_after(_each(after, len(ticks)))
        _begin(starts, *self._by_window, self._next)

    @property
    def earliest(self) -> int:
        """The earliest end of all; NEVER where there is none."""
        return int(np.min(self._next, initial=NEVER))

    def stretches(self) -> Iterator[Stretch]:
        """All of them, in order."""
        windows = len(self._next)
        bits = max(windows - 1, 1).bit_length()
        packed = np.empty(MOST_EVALUATIONS + windows, np.int64)
        longest = NEVER >> bits
        length = min(int(MOST_EVALUATIONS / np.sum(1 / self._by_window[1])) + 1, longest) if windows else 1
        while (begin := self.earliest) < NEVER:
            upcoming = self._next.copy()
            count = _fill(self._starts, *self._by_window, begin, begin + length, bits, packed, upcoming)
            if count < 0:  # They do not fit. A microsecond does: no window ends twice in it.
                length = max(length // 2, 1)
                continue
            self._next = upcoming
            yield Stretch(begin, bits, np.sort(packed[:count]))
            if count < MOST_EVALUATIONS // 4:
                length = min(2 * length, longest)


def _each(instants: Array | int, windows: int) -> Array:
    return np.broadcast_to(np.asarray(instants, np.int64), (windows,)).copy()


@compiled
def _begin(
    starts: Array, ranges: Array, slides: Array, offsets: Array, until: Array, upcoming: Array
) -> None:
    """Move every window to the first of its evaluations that has an entry."""
    for w in range(len(ranges)):
        tick, _ = _live(starts, 0, upcoming[w], ranges[w], slides[w], offsets[w], until[w])
        upcoming[w] = tick


@compiled
def _fill(
    starts: Array, ranges: Array, slides: Array, offsets: Array, until: Array, begin: int, end: int,
    bits: int, packed: Array, upcoming: Array,
) -> int:  # fmt: skip
    """Pack the evaluations before `end` and move the windows behind them; -1 if they do not fit."""
    count = 0
    for w in range(len(ranges)):
        tick, entered = upcoming[w], 0
        while tick < end:
            if count == len(packed):
                return -1
            packed[count] = ((tick - begin) << bits) | w
            count += 1
            tick, entered = _live(
                starts, entered, tick + slides[w], ranges[w], slides[w], offsets[w], until[w]
            )
        upcoming[w] = tick
    return count


@compiled
def _live(
    starts: Array, entered: int, tick: int, range_: int, slide: int, offset: int, until: int
) -> tuple[int, int]:
    """The first evaluation from `tick` on that has an entry, or NEVER; and how many are known to."""
    while tick <= until:
        if entered > 0 and starts[entered - 1] >= tick - range_:
            return tick, entered
        latest = entries_before(starts, tick, entered)
        if latest > entered:
            entered = latest
            continue
        if entered == len(starts):
            break
        # Nothing is in the window until the next entry comes.
        start = starts[entered]
        tick = start + slide - (start - offset) % slide
    return NEVER, entered


@compiled
def entries_before(starts: Array, instant: int, known: int) -> int:
    """How many entries begin before an instant, of which the first `known` do: a search in growing steps."""
    step = 1
    low, high = known, known
    while high < len(starts) and starts[high] < instant:
        low = high + 1
        high += step
        step *= 2
    high = min(high, len(starts))
    while low < high:
        middle = (low + high) // 2
        if starts[middle] < instant:
            low = middle + 1
        else:
            high = middle
    return low

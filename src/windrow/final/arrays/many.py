"""Many windows at once: each from the next shorter one, where their differences repeat.

A window of r + d values is one of r values and the d before it. If the windows are all of 1 … w values,
or evenly spaced, every answer is one operation that the processor does for several values at a time, and
memory only sees the answers being written.

| | |
|---|---|
| needs | associative, commutative |
| time | 1 operation an answer, and one sliding window for each different distance |
| space | the values of one sliding window for each different distance beyond 1 |
| source | our own |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.final.arrays.answers import answer
from windrow.final.arrays.bind import bind
from windrow.final.arrays.frames import LastValues
from windrow.final.arrays.joins import ADD, Join, extreme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.final.arrays.column import Column
    from windrow.final.arrays.frames import Frame

    Array = np.ndarray[Any, Any]

    join: Any

TILE = 2048
"""Answers of a window that are made before those of the next one: they stay in the first-level cache."""


def chained(op: str, column: Column, frames: Sequence[Frame]) -> bool:
    """Whether the windows share enough: at least two of them for each different distance.

    Only for floats that are all there; others are slid one window after the other.
    """
    if (
        op not in ("sum", "avg", "min", "max")
        or column.values.dtype != np.float64
        or column.missing is not None
    ):
        return False
    if not all(isinstance(frame, LastValues) and frame.every == 1 for frame in frames):
        return False
    distances = np.diff(_ascending(frames))
    return 2 * len(np.unique(distances)) <= len(distances)


def slide_chained(op: str, column: Column, frames: Sequence[Frame], rows: Array) -> None:
    """Fill `rows`, one for each frame."""
    windows = _ascending(frames)
    length = len(column.values)
    base = "sum" if op == "avg" else op
    distances, which = np.unique(np.diff(windows), return_inverse=True)
    between = np.empty((len(distances), length))
    for distance, row in zip(distances, between):
        answer(base, column, LastValues(length, int(distance)), row)
    order = {int(window): place for place, window in enumerate(windows)}
    made = rows if _is_ascending(frames) else np.empty((len(windows), length))
    answer(base, column, LastValues(length, int(windows[0])), made[0])
    bind(_chain, join=_careful(base, column).function)(windows, which, between, made)
    if made is not rows:
        for frame, row in zip(frames, rows, strict=True):
            row[:] = made[order[frame.longest]]
    if op == "avg":
        for frame, row in zip(frames, rows, strict=True):
            frame.divide(row)


def _chain(windows: Array, which: Array, between: Array, out: Array) -> None:
    length = out.shape[1]
    for begin in range(0, length, TILE):
        end = min(begin + TILE, length)
        for k in range(1, len(windows)):
            window = windows[k - 1]
            whole = min(max(window, begin), end)  # from here on the longer window has something to add
            shorter, longer = out[k - 1], out[k]
            longer[begin:whole] = shorter[begin:whole]
            before = between[which[k - 1], whole - window : end - window]
            _add(shorter[whole:end], before, longer[whole:end])


def _add(shorter: Array, before: Array, longer: Array) -> None:
    for i in range(len(longer)):
        longer[i] = join(before[i], shorter[i])


def _careful(op: str, column: Column) -> Join:
    if op == "sum":
        return ADD
    return extreme(op, skip_nan=False)[int(np.isnan(column.values).any())]


def _ascending(frames: Sequence[Frame]) -> Array:
    return np.unique([frame.longest for frame in frames])


def _is_ascending(frames: Sequence[Frame]) -> bool:
    return bool(np.all(np.diff([frame.longest for frame in frames]) > 0))

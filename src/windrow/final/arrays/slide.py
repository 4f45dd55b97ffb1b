"""`slide()`: sliding-window aggregates of an array or a pandas Series, one answer a value.

The kernels are those of the final step, for one key and scalars (`blocked.py`, `bounded.py`). Nothing is
ever subtracted from floats: answers do not drift, and are right again after a NaN or an infinity has left.

Cost: for sums, means, minima and maxima of floats about two to three times a copy of the values (memcpy),
whatever the window; extra memory 1/40 of a window. Others say in their files.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from windrow.aggregates.catalogue import SYNONYMS
from windrow.errors import InputError, suggestion
from windrow.final.arrays.answers import answer, result_type
from windrow.final.arrays.blocked import BLOCKS
from windrow.final.arrays.bounded import lower_bounds
from windrow.final.arrays.column import column
from windrow.final.arrays.frames import Frame, LastDuration, LastValues
from windrow.final.arrays.many import chained, slide_chained

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.final.arrays.column import Column

    Array = np.ndarray[Any, Any]

KNOWN = frozenset(
    {
        "avg", "count", "max", "mean", "min", "std", "stddev", "stddev_pop", "stddev_samp", "sum", "var_pop",
        "var_samp", "variance",
    }
)  # fmt: skip
WINDOW = "a window must be a positive number of values, or a duration"
DURATIONS = (str, timedelta, np.timedelta64)  # pandas' Timedelta is a timedelta


def slide(
    values: Any,
    op: str = "sum",
    window: Any = None,
    *,
    times: Any = None,
    slide: int = 1,
    partial: bool = True,
    skip_nan: bool | None = None,
    out: Array | None = None,
    _blocks: range = BLOCKS,
) -> Any:
    """Aggregate the last `window` values at every value; at the beginning there are fewer.

    >>> slide([3, 1, 4, 1, 5, 9, 2, 6], "max", 3)
    array([3, 3, 4, 4, 5, 9, 9, 9])

    Many windows at once are a list, and give a column each:

    >>> slide([3, 1, 4, 1, 5], "sum", [1, 2, 4])
    array([[ 3,  3,  3],
           [ 1,  4,  4],
           [ 4,  5,  8],
           [ 1,  5,  9],
           [ 5,  6, 11]])

    A window of time needs to know the time of each value, ascending; at time t it holds the values with
    t - window < time ≤ t. A Series that is indexed by time needs no `times`.

    >>> at = pd.Series(pd.to_datetime(["2024-05-01 12:00", "2024-05-01 12:04", "2024-05-01 12:07"]))
    >>> slide([1.0, 2.0, 4.0], "mean", "5 minutes", times=at)
    array([1. , 1.5, 3. ])

    values: an array, a masked array, a list or a pandas Series; the answers are of the same kind, and a
        Series keeps its index.
    op: sum, count, mean (avg), min, max, var_samp (var, variance), var_pop, std (stddev, stddev_samp) or
        stddev_pop.
    window: how many values, how long ("5 minutes", a timedelta), or a list of these. If `times` are numbers,
        so is the window, in the same unit.
    slide: answer only at every so many values, counted from the first.
    partial: whether windows that are not full yet, at the beginning, are answered. Otherwise there are
        `len(values) - window + 1` answers, as in NumPy's sliding_window_view.
    skip_nan: whether NaN is a missing value, which aggregates pass over, as pandas does; by default if the
        values are a pandas object. In an array NaN is a value, above every number as in Spark SQL.
        A window without values gives NaN, or NA where the values have a mask.
    out: an array to write the answers to: of one window, with the right length and type.
    """
    name = _known(op)
    numbers = column(values, skip_nan)
    every = _number(slide, "slide must be a positive number of values")
    many = isinstance(window, list | tuple | range | np.ndarray | pd.Index) and np.ndim(window) == 1
    windows = list(window) if many else [window]
    if not windows:
        raise InputError("the list of windows is empty; give one window at least")
    if many and not partial:
        raise InputError("partial=False needs a single window: the answers of several differ in number")
    frames = _frames(numbers, windows, times, every, partial, _blocks)
    kind = result_type(name, numbers)
    rows = _rows(out, (len(windows), frames[0].size), kind)
    masks = []
    if many and chained(name, numbers, frames):
        slide_chained(name, numbers, frames, rows)
    else:
        for frame, row in zip(frames, rows, strict=True):
            mask = answer(name, numbers, frame, row)
            if mask is not None:
                masks.append(mask)
    if out is not None:
        return out
    empty = np.stack(masks) if masks else None
    return numbers.wrap(rows, empty, frames[0].ends, windows if many else None)


def _known(op: str) -> str:
    name = "var_samp" if op == "var" else str(op).lower()
    if name not in KNOWN:
        close = suggestion(name, KNOWN) or f"there are {', '.join(sorted(KNOWN))}"
        raise InputError(f"there is no aggregate {op!r}; {close}")
    return SYNONYMS.get(name, name)


def _rows(out: Array | None, shape: tuple[int, int], kind: np.dtype[Any]) -> Array:
    """Room for the answers, a row a window; `out` itself if it was given."""
    if out is None:
        return np.empty(shape, kind)
    if shape[0] != 1 or out.shape != shape[1:] or out.dtype != kind:
        raise InputError(f"out must be an array of {shape[1]} {kind} values, for a single window")
    if not out.flags.c_contiguous:
        raise InputError("out must be contiguous")
    return out[np.newaxis]


def _frames(
    numbers: Column, windows: Sequence[Any], times: Any, every: int, partial: bool, blocks: range
) -> list[Frame]:
    length = len(numbers.values)
    if times is None and any(isinstance(window, DURATIONS) for window in windows):
        index = getattr(numbers.source, "index", None)
        if not isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex):
            raise InputError(f"a window of time ({windows[0]!r}) needs times=, the time of each value")
        times = index
    if times is None:
        return [LastValues(length, _number(window, WINDOW), every, partial, blocks) for window in windows]
    if not partial:
        raise InputError("partial=False is for windows of a number of values; with times they are never full")
    instants = _instants(times, length)
    return [
        LastDuration(length, lower_bounds(instants, _duration(window, times), every), every)
        for window in windows
    ]


def _number(given: Any, rule: str) -> int:
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 1:
        raise InputError(f"{rule}, not {given!r}")
    return int(given)


def _instants(times: Any, length: int) -> Array:
    """Times as numbers, of nanoseconds where they are times."""
    instants = np.asarray(
        times.tz_convert(None) if isinstance(times, pd.DatetimeIndex) and times.tz else times
    )
    if instants.dtype.kind == "O":
        instants = pd.to_datetime(instants, utc=True).tz_localize(None).to_numpy()
    if instants.ndim != 1 or len(instants) != length:
        raise InputError(f"times must be one for each value: {length}, not {instants.shape}")
    if instants.dtype.kind not in "mMiuf":
        raise InputError(f"times must be times or numbers, not {instants.dtype}; use pandas.to_datetime")
    if instants.dtype.kind in "mM":
        if np.isnat(instants).any():
            raise InputError("times must not be missing (NaT); drop those values first")
        instants = instants.astype(f"{instants.dtype.kind}8[ns]").view(np.int64)
    descents = np.flatnonzero(~(instants[1:] >= instants[:-1]))
    if len(descents):
        raise InputError(f"times must be ascending; the one at {descents[0] + 1} is not; sort by time first")
    return np.ascontiguousarray(instants)


def _duration(window: Any, times: Any) -> Any:
    """A duration in the unit of the times."""
    if np.asarray(times).dtype.kind in "iuf":
        if isinstance(window, bool) or not isinstance(window, int | float | np.number) or not window > 0:
            raise InputError(f"times are numbers, so a window must be a positive one too, not {window!r}")
        return window
    try:
        duration = pd.Timedelta(window) if isinstance(window, DURATIONS) else pd.NaT
    except ValueError:
        duration = pd.NaT
    if duration is pd.NaT or duration <= pd.Timedelta(0):
        raise InputError(f"with times, a window must be a duration such as '5 minutes', not {window!r}")
    return np.int64(duration.value)

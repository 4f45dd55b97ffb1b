"""Sliding-window max and sum of one array of floats, by Windrow and by libraries that have them.

- memcpy: a copy of the values into the array of the answers. Nothing that reads them and writes as many
  answers can be faster.
- Windrow: `windrow.final.slide`, into the same array.
- Windrow, new array: the same without `out`; the answers' memory is given page by page while it is filled.
- pandas, polars, bottleneck, numbagg: their rolling windows, as fast as they offer them; all of them make
  a new array, and all but polars' maintain sums by subtraction.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

import bottleneck
import numbagg
import numpy as np
import pandas as pd
import polars

from windrow.final import slide

MEMCPY, WINDROW, WINDROW_NEW = "memcpy", "Windrow", "Windrow, new array"
PEERS = ("bottleneck", "polars", "pandas", "numbagg")
OPS = ("max", "sum")

Run = Callable[[], float]


def versions() -> dict[str, str]:
    """Who was compared."""
    return {name: version(name) for name in ("numpy", "numba", *PEERS)}


def ours(values: np.ndarray, out: np.ndarray, op: str, window: int) -> dict[str, Run]:
    """The copy and Windrow, each a run that returns its seconds."""
    return {
        MEMCPY: _timed(lambda: np.copyto(out, values)),
        WINDROW: _timed(lambda: slide(values, op, window, out=out)),
        WINDROW_NEW: _timed(lambda: slide(values, op, window)),
    }


def peers(values: np.ndarray, op: str, window: int) -> dict[str, Run]:
    """The others; numbagg has no moving maximum."""
    return {name: _timed(call) for name, call in calls(values, op, window).items()}


def calls(values: np.ndarray, op: str, window: int) -> dict[str, Callable[[], object]]:
    """What each peer is asked: windows that are not full yet are answered too."""
    series, column = pd.Series(values, copy=False), polars.Series(values)
    found: dict[str, Callable[[], object]] = {
        "bottleneck": lambda: getattr(bottleneck, f"move_{op}")(values, window, min_count=1),
        "polars": lambda: getattr(column, f"rolling_{op}")(window, min_samples=1),
        "pandas": lambda: getattr(series.rolling(window, min_periods=1), op)(),
    }
    if hasattr(numbagg, f"move_{op}"):
        found["numbagg"] = lambda: getattr(numbagg, f"move_{op}")(values, window=window, min_count=1)
    return found


def compare(values: np.ndarray, op: str, window: int) -> dict[str, bool]:
    """Whether each peer's answers are Windrow's: the same maxima, sums within 1e-9 of what went in."""
    mine = slide(values, op, window)
    allowed = 1e-9 * slide(np.abs(values), "sum", window) if op == "sum" else 0.0
    return {
        name: bool(np.all(np.abs(np.asarray(call()) - mine) <= allowed))
        for name, call in calls(values, op, window).items()
    }


def extra_megabytes(values: np.ndarray, out: np.ndarray, window: int) -> float:
    """How much the peak of the process grows by one call. To be asked first: a peak never falls."""
    slide(values[: 1 << 16], "max", 1 << 10, out=out[: 1 << 16])  # compiled before it counts
    before = _peak()
    slide(values, "max", window, out=out)
    return _peak() - before


def _peak() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def _timed(call: Callable[[], object]) -> Run:
    def run() -> float:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    return run

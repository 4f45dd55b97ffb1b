"""Measure what a slide costs with each final aggregator on this machine.

Every algorithm runs the operations that it accepts over the same entries: some keys, each with an entry
in every slice, evaluated at every slice, in the calls that a stream makes. The fastest of a few runs
counts; the first one compiles and is thrown away.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.aggregates.operations import ADD_FLOATS, ADD_INTEGERS, GREATEST, MOMENTS
from windrow.final.choose import FINAL_AGGREGATORS
from windrow.final.keyed_windows import KeyedWindows
from windrow.slicing import Window

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from windrow.aggregates import Operation
    from windrow.final.base import FinalAggregator

    Array = np.ndarray[Any, Any]

OPERATIONS = ((ADD_INTEGERS, 2), (ADD_FLOATS, 2), (GREATEST, 2), (MOMENTS, 3))
"""With the columns that a query of a few aggregates has of them."""
SLICES = (1, 2, 4, 8, 16, 64, 256, 1024)
KEYS = 500
"""Enough to leave the first cache, as those of a query do."""
FURTHER = 4
FEWEST_SLIDES = 128
"""Or as many as the window has slices, so that what happens once a window is part of the average."""
MOST_SLICES = {"recalculate": 64}
"""Linear, as is seen by then."""


def measure_slides(
    progress: Callable[[str], None] = lambda _: None, slices: tuple[int, ...] = SLICES, repeats: int = 5
) -> dict[str, Any]:
    """The table of costs, as it is written down."""
    table: dict[str, dict[str, list[list[float | None]]]] = {}
    for name, algorithm in FINAL_AGGREGATORS.items():
        progress(name)
        table[name] = {
            operation.name: [
                _point(algorithm, operation, columns, n, repeats)
                for n in slices
                if n <= MOST_SLICES.get(name, n)
            ]
            for operation, columns in OPERATIONS
            if algorithm.refusal(operation.algebra) is None
        }
    return {"keys": KEYS, "columns": {o.name: c for o, c in OPERATIONS}, "nanoseconds": table}


def write(table: dict[str, Any], path: Path) -> None:
    """A line a list of points, so that two tables can be compared."""
    lines = []
    for name, by_operation in table["nanoseconds"].items():
        rows = [f"   {json.dumps(o)}: {json.dumps(points)}" for o, points in by_operation.items()]
        lines.append(f"  {json.dumps(name)}: {{\n" + ",\n".join(rows) + "\n  }")
    head = ", ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in table.items() if k != "nanoseconds")
    path.write_text(f'{{{head},\n "nanoseconds": {{\n' + ",\n".join(lines) + "\n }\n}\n", encoding="utf-8")


def _point(
    algorithm: type[FinalAggregator], operation: Operation, columns: int, slices: int, repeats: int
) -> list[float | None]:
    one = _nanoseconds(algorithm, operation, columns, [slices], repeats)
    further = None
    if algorithm.many_ranges:
        ranges = sorted({max(1, slices * part // FURTHER) for part in range(1, FURTHER + 1)})
        several = _nanoseconds(algorithm, operation, columns, ranges, repeats)
        further = max((several - one) / (len(ranges) - 1), 0.1) if len(ranges) > 1 else one
        further = round(further, 1)
    return [slices, round(one, 1), further]


def _nanoseconds(
    algorithm: type[FinalAggregator], operation: Operation, columns: int, ranges: list[int], repeats: int
) -> float:
    slides = max(FEWEST_SLIDES, max(ranges)) + max(ranges)  # the first ones fill the window
    starts = np.repeat(np.arange(slides), KEYS)
    keys = np.tile(np.arange(KEYS, dtype=np.int32), slides)
    values = np.random.default_rng(1).integers(1, 1_000, (len(keys), columns)).astype(operation.dtype)
    best = float("inf")
    for _ in range(repeats + 1):
        windows = [Window(length, 1) for length in ranges]
        keyed = KeyedWindows(windows, [(operation, columns)], {operation: algorithm})
        keyed.append(starts, keys, {operation: values}, KEYS)
        for _ in keyed.evaluate(0, max(ranges)):
            pass
        begun = time.perf_counter()
        for _ in keyed.evaluate(max(ranges), slides):
            pass
        best = min(best, time.perf_counter() - begun)
    return best / ((slides - max(ranges)) * KEYS) * 1e9

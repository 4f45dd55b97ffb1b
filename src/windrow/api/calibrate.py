"""Measure what things cost here, for the planner of one home: final aggregators, and shared plans."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from windrow.final.measure_slides import measure_slides, write
from windrow.planner.sharing import SECONDS
from windrow.planner.sharing.constants import MEASURED
from windrow.runtime.home.home import Home
from windrow.runtime.spark.measure_sharing import FULL, QUICK, measure_constants

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

WORDS = {
    "row": "one more pass over a row",
    "partial": "one partial collected",
    "operation": "one final operation",
    "result": "one result written",
}
"""What shared plans are priced by, by the names in `Constants`."""


@dataclass(frozen=True)
class MeasuredPrice:
    """What one thing costs, in nanoseconds: here, if it could be measured, and as shipped."""

    what: str
    measured: float | None
    shipped: float


def make_home(home: str | os.PathLike[str]) -> None:
    """Make a home if it is not there; a HomeError if it cannot be one."""
    Home(home).close()


def calibrate_home(
    home: str | os.PathLike[str],
    spark: SparkSession,
    progress: Callable[[str], None] = lambda _: None,
    *,
    quick: bool = False,
) -> tuple[Path, list[MeasuredPrice]]:
    """Write the table of costs of this machine into a home, which is made if it is not there.

    Engines that start on the home from then on choose by it. `progress` gets the name of each algorithm
    as its turn comes; `quick` measures a few sizes, once. Returns where the table is, and what shared
    plans are priced by.
    """
    opened = Home(home)
    try:
        table = measure_slides(progress, (1, 16), 1) if quick else measure_slides(progress)
        progress("shared plans")
        seconds = measure_constants(spark, QUICK if quick else FULL)
        about = {
            "measured": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
            MEASURED: {name: round(price * 1e9, 1) for name, price in seconds.items()},
        }
        path = opened.costs_path
        unfinished = path.with_suffix(".unfinished")
        write(about | table, unfinished)
        unfinished.replace(path)
    finally:
        opened.close()
    prices = [
        MeasuredPrice(what, seconds[name] * 1e9 if name in seconds else None, getattr(SECONDS, name) * 1e9)
        for name, what in WORDS.items()
    ]
    return path, prices

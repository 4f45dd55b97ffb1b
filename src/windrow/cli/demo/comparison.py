"""One of the demo's queries by Windrow and by Spark's own window(), in one session, answers compared.

Both read the same rows from memory and write their answers to Parquet; both have run once, on a week of
the data, before they are timed. Spark is asked in the words of its own documentation.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import windrow

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RANGE, SLIDE = "24 hours", "5 minutes"
WINDROW = f"""
    SELECT origin, COUNT(*) AS flights,
           AVG(dep_delay) AS mean, MIN(dep_delay) AS best, MAX(dep_delay) AS worst
    FROM flights [RANGE {RANGE} SLIDE {SLIDE}] GROUP BY origin"""
SPARK = f"""
    SELECT window.start AS window_start, window.end AS window_end, origin, COUNT(*) AS flights,
           AVG(dep_delay) AS mean, MIN(dep_delay) AS best, MAX(dep_delay) AS worst
    FROM {{flights}} GROUP BY window(ts, '{RANGE}', '{SLIDE}'), origin"""
KEYS = ["window_start", "window_end", "origin"]
EXACT = [*KEYS, "flights", "best", "worst"]


@dataclass(frozen=True)
class Comparison:
    """How it went."""

    rows: int
    windrow_seconds: float
    spark_seconds: float
    differences: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """How many times faster Windrow was; on a few rows it may well be slower."""
        ratio = self.spark_seconds / self.windrow_seconds
        return f"{ratio:.1f}× faster" if ratio >= 1 else f"{1 / ratio:.1f}× slower"


def compare(eng: windrow.Engine, data: Path, scratch: Path, replayed: pd.DataFrame) -> Comparison:
    """Run the query both ways; `replayed` are the demo's own answers to it, which must be the same too."""
    spark: Any = eng.spark
    flights = spark.read.parquet(str(data / "flights")).cache()
    week = spark.read.parquet(str(data / "flights" / "week-01.parquet")).cache()
    for frame in (flights, week):
        frame.count()
    try:
        by_windrow(eng, week, scratch / "warm-windrow")
        windrow_seconds, ours = _timed(lambda: by_windrow(eng, flights, scratch / "windrow"))
        by_spark(eng, week, scratch / "warm-spark")
        spark_seconds, theirs = _timed(lambda: by_spark(eng, flights, scratch / "spark"))
    finally:
        for frame in (flights, week):
            frame.unpersist()
    expected = theirs().toPandas()
    found = [
        *(f"Windrow, at once: {text}" for text in differences(ours().toPandas(), expected)),
        *(f"Windrow, replayed: {text}" for text in differences(replayed, expected)),
    ]
    return Comparison(len(expected), windrow_seconds, spark_seconds, tuple(found))


def by_windrow(eng: windrow.Engine, flights: Any, home: Path) -> Callable[[], Any]:
    """Compute the answers; returns how to read them."""
    other = windrow.Engine(home, spark=eng.spark)
    other.stream("flights", flights, timestamp="ts")
    other.query("delays", WINDROW)
    other.run()
    return lambda: other.results("delays")


def by_spark(eng: windrow.Engine, flights: Any, path: Path) -> Callable[[], Any]:
    """Compute the answers; returns how to read them."""
    eng.spark.sql(SPARK, flights=flights).write.parquet(str(path))
    return lambda: eng.spark.read.parquet(str(path))


def _timed(work: Callable[[], Callable[[], Any]]) -> tuple[float, Callable[[], Any]]:
    begun = time.perf_counter()
    read = work()
    return time.perf_counter() - begun, read


def differences(ours: pd.DataFrame, expected: pd.DataFrame) -> list[str]:
    """What differs, row by row: counts, minima and maxima by a bit, means by more than 1e-9."""
    if len(ours) != len(expected):
        return [f"{len(ours):,} rows instead of {len(expected):,}"]
    ours = ours.sort_values(KEYS, ignore_index=True)
    expected = expected.sort_values(KEYS, ignore_index=True)
    same = {
        column: (ours[column] == expected[column]) | (ours[column].isna() & expected[column].isna())
        for column in EXACT
    }
    close = np.isclose(ours["mean"], expected["mean"], rtol=1e-9, atol=0, equal_nan=True)
    same["mean"] = pd.Series(close)
    return [
        f"{(~equal).sum():,} rows differ in {column}, the first where Spark says\n{expected[~equal].iloc[0]}"
        for column, equal in same.items()
        if not equal.all()
    ]

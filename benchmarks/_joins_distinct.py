"""DISTINCT sources of packets over a continuous window: how much is held of what the window has.

A few sources send most packets (Zipf), as in `_frequent_items.py`. What is held are at most two rows a
source, however many the window has of it. At the instant of the last packet the answer is compared with the
files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from _frequent_items import packets
from _joins_engine import run_engine
from _joins_links import SECOND, Links, instants, write_link
from _ways import WrongAnswer
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pathlib import Path

    from _joins_links import Size
    from pyspark.sql import SparkSession

LINK = "a"


@dataclass(frozen=True)
class Held:
    """What a query held."""

    entries: int
    """The most after any epoch of the second half, rows that wait included."""
    sources: int
    """How many the last window has."""


def run_distinct(spark: SparkSession, size: Size, window: int, scratch: Path) -> Held:
    """The sources in windows of so many rows; raises WrongAnswer unless the last answer is right."""
    sources = packets(size.rows)
    write_link(size, scratch, LINK, sources)
    length = size.seconds(window)
    statement = f"SELECT DISTINCT k AS src FROM {LINK} [RANGE {length} SECONDS]"
    _, epochs, answers = run_engine(spark, Links(size, scratch), statement, scratch, streams=(LINK,))
    last = int(instants(size, LINK)[-1])
    expected = np.unique(sources[instants(size, LINK) > last - length * SECOND])
    at = F.timestamp_micros(F.lit(last))
    alive = answers.where((F.col("_ts") <= at) & (F.col("_exp") > at)).toArrow()
    if not np.array_equal(np.sort(alive["src"].to_numpy()), expected):
        raise WrongAnswer(f"{len(alive):,} sources instead of {len(expected):,} in the last {length} s")
    return Held(epochs.entries, len(expected))

"""The files of the story: the same bytes whenever they are written, with rows of every fate.

Good ones out of order, late ones, broken lines, event times that are missing, ahead of the clock, or in
the year 50000; keys that come and go.
"""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BEGINNING = datetime(2024, 3, 1, tzinfo=UTC)
SPAN = 20
"""Seconds of event time in a file."""
ROWS = 40
"""Of a file; small, since a kill is about steps and not about rows."""

FAILING_FILE = 3
"""The file of readings with a row on which `ratio` divides by zero."""

READINGS = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("sensor", pa.string()),
        ("value", pa.float64()),
        ("parts", pa.int32()),
    ]
)


def put_files(directory: Path, before: Mapping[str, int], after: Mapping[str, int], clock: int) -> None:
    """Put the files of a phase there, if they are not: whole, and each newer than the one before."""
    for stream, suffix, write in (("readings", "parquet", _write_readings), ("orders", "csv", _write_orders)):
        for number in range(before[stream], after[stream]):
            path = directory / stream / f"{number:05d}.{suffix}"
            if not path.exists():
                staged = directory / f"staged-{path.name}"
                write(staged, number, clock - 5 - (after[stream] - number) * SPAN)
                os.utime(staged, (1_700_000_000 + number, 1_700_000_000 + number))
                staged.rename(path)


def _instants(rng: random.Random, number: int, begin: int) -> list[datetime]:
    """Event times of a file: its own span, out of order; in every third some are late."""
    milliseconds = [begin * 1000 + rng.randrange(SPAN * 1000) for _ in range(ROWS)]
    if number % 3 == 2:
        for place in range(0, ROWS, 9):
            milliseconds[place] -= rng.randrange(40_000)
    return [BEGINNING + timedelta(milliseconds=time) for time in milliseconds]


def _write_readings(path: Path, number: int, begin: int) -> None:
    rng = random.Random(f"readings {number}")
    times: list[datetime | None] = [*_instants(rng, number, begin)]
    if number % 3 == 1:
        times[5] = None
        times[6] = BEGINNING + timedelta(days=3)  # ahead of the clock by more than SKEW
    instants = [None if time is None else round(time.timestamp() * 1e6) for time in times]
    if number % 3 == 2:
        instants[7] = 1_515_000_000_000_000_000  # the year 50000 or so
    columns = [
        pa.array(instants, pa.int64()).cast(READINGS.field("ts").type),
        [f"s{(number + rng.randrange(4)) % 9}" for _ in range(ROWS)],
        [rng.randrange(80) / 8 for _ in range(ROWS)],  # whole eighths: their sums are exact in any order
        [0 if number == FAILING_FILE and row == 11 else rng.choice([1, 2, 4]) for row in range(ROWS)],
    ]
    pq.write_table(pa.table(columns, READINGS), path)


def _write_orders(path: Path, number: int, begin: int) -> None:
    rng = random.Random(f"orders {number}")
    lines = [
        f"{time:%Y-%m-%d %H:%M:%S.%f},shop {(number + rng.randrange(3)) % 5},{rng.randrange(100)}"
        for time in _instants(rng, number, begin)
    ]
    if number % 2:
        lines[3] = lines[3].rpartition(",")[0] + ",many"
        lines[4] = "no line at all"
        lines[12] = lines[12] + ",1,2"
        lines[13] = lines[13].replace("2024", "", 1)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")

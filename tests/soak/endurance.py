"""Thousands of small epochs in one engine: what it holds in memory and on disk must not grow with its age.

Event time and the clock move one second a file, so that what is kept for a while (RETAIN, windows,
replaced files) comes and goes many times. Files that have been read are taken away: listing a directory
that only grows would slow Spark down, and says nothing about Windrow.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections import Counter, deque
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import windrow
from tests.soak.contents import unsound

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BEGINNING = int(datetime(2024, 3, 1, tzinfo=UTC).timestamp())
ROUND = 250
"""Files of readings between two looks at everything."""
ORDERS_EVERY = 4
SECOND = 1_000_000
MB = 1 << 20
RANGE, SLIDE = 90, 10
READINGS = pa.schema([("ts", pa.timestamp("us", "UTC")), ("sensor", pa.string()), ("value", pa.float64())])

QUERIES = {
    "totals": f"SELECT sensor, SUM(value) AS total, COUNT(*) AS n FROM readings [RANGE {RANGE} SECONDS SLIDE {SLIDE} SECONDS] GROUP BY sensor",
    "peaks": "SELECT sensor, MAX(value) AS most FROM readings [RANGE 5 MINUTES SLIDE 7 SECONDS] GROUP BY sensor",
    "sales": "SELECT shop, SUM(amount) AS total FROM orders [RANGE 2 MINUTES SLIDE 20 SECONDS] GROUP BY shop",
}

Row = tuple[int, str, float]


class Feed:
    """Writes the files, and remembers the rows of late that count."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.count = 0
        self.rows = Counter[str]()
        self.good: deque[list[Row]] = deque(maxlen=3 * RANGE)
        for stream in ("readings", "orders"):
            (directory / stream).mkdir(parents=True)

    def add(self) -> None:
        """One file of readings, and now and then one of orders."""
        number, rng = self.count, random.Random(self.count)
        at = (BEGINNING + number) * SECOND
        rows: list[Row] = [
            (
                at + rng.randrange(SECOND),
                f"s{(number // 500 + rng.randrange(4)) % 20}",
                rng.randrange(800) / 8,
            )
            for _ in range(6)
        ]
        self.good.append(rows)
        written: list[tuple[int | None, str, float]] = [*rows]
        if number % 20 == 7 and number > 100:
            written.append((at - 60 * SECOND, "late", 1.0))
            self.rows["late"] += 1
        if number % 20 == 13:
            written.append((None, "dead", 1.0))
            self.rows["dead"] += 1
        self.rows["readings"] += len(written)
        columns = [list(column) for column in zip(*written, strict=True)]
        arrays = [pa.array(columns[0], pa.int64()).cast(READINGS.field("ts").type), *columns[1:]]
        self._put("readings", "parquet", lambda path: pq.write_table(pa.table(arrays, READINGS), path))
        if number % ORDERS_EVERY == 0:
            time_ = datetime.fromtimestamp(BEGINNING + number, UTC)
            lines = [f"{time_:%Y-%m-%d %H:%M:%S},shop {row % 3},{row}" for row in range(4)]
            if number % (8 * ORDERS_EVERY) == 0:
                lines.append("not an order")
            self.rows["orders"] += len(lines)
            self._put("orders", "csv", lambda path: path.write_text("\n".join(lines) + "\n"))
        self.count += 1

    def _put(self, stream: str, suffix: str, write: Callable[[Path], object]) -> None:
        path = self.directory / stream / f"{self.count:07d}.{suffix}"
        staged = self.directory / path.name
        write(staged)
        # Spark takes files in the order of these; what is written together may have the same by itself.
        os.utime(staged, (BEGINNING + self.count, BEGINNING + self.count))
        staged.rename(path)

    def clear(self) -> None:
        """Take away what has been read, but for the last files: Spark may ask for the last batch again."""
        for stream in ("readings", "orders"):
            for path in sorted((self.directory / stream).iterdir())[:-3]:
                path.unlink()

    def answers(self, after: int, until: int) -> Counter[Row]:
        """What `totals` must answer for the windows that end after one instant and by another."""
        expected: dict[tuple[int, str], list[float]] = {}
        for ts, sensor, value in (row for rows in self.good for row in rows):
            end = (ts // SECOND // SLIDE + 1) * SLIDE * SECOND
            while end - RANGE * SECOND <= ts:
                if after < end <= until:
                    expected.setdefault((end, sensor), []).append(value)
                end += SLIDE * SECOND
        return Counter((end, sensor, sum(values), len(values)) for (end, sensor), values in expected.items())


def endure(
    directory: Path, spark: SparkSession, epochs: int, minutes: float, say: Callable[[str], None]
) -> dict[str, Any]:
    """Run so many epochs, or for so long; samples of everything, and what was wrong."""
    feed = Feed(directory)
    kept = f"{max(2 * RANGE, epochs // 10)} seconds"
    began = time.monotonic()
    samples: list[dict[str, float]] = []
    one_by_one = {"maxFilesPerTrigger": "1"}
    feed.add()
    with windrow.Engine(directory / "home", spark, clock=lambda: float(BEGINNING + feed.count)) as engine:
        engine.stream(
            "readings", directory / "readings", "ts", "2 seconds", retain=kept, options=one_by_one
        )  # fmt: skip
        engine.stream(
            "orders", directory / "orders", "ts", "2 seconds", retain=kept, options=one_by_one,
            format="csv", schema="ts TIMESTAMP, shop STRING, amount INT", idle_timeout="30 seconds",
        )  # fmt: skip
        for name, sql in QUERIES.items():
            engine.query(name, sql, retain=kept)
        while not samples or (samples[-1]["epochs"] < epochs and time.monotonic() - began < 60 * minutes):
            for _ in range(ROUND):
                feed.add()
            started = time.monotonic()
            engine.run(seal=False)
            engine.heartbeat()
            sample = measure(directory / "home", spark)
            sample["seconds_per_epoch"] = (time.monotonic() - started) / (ROUND * (1 + 1 / ORDERS_EVERY))
            samples.append(sample)
            feed.clear()
            say(_line(sample))
        wrong = _compare(engine, feed)
    return {"retain": kept, "samples": samples, "wrong": wrong + unsound(directory / "home")}


def _compare(engine: windrow.Engine, feed: Feed) -> list[str]:
    """The counts of rows and the last answers, against what was fed."""
    wrong = []
    for stream in ("readings", "orders"):
        if engine.progress(stream).rows != feed.rows[stream]:
            wrong.append(f"{stream}: {engine.progress(stream).rows} rows read, {feed.rows[stream]} fed")
    for fate in ("late", "dead"):
        found = getattr(engine.progress("readings"), fate)
        if found != feed.rows[fate]:
            wrong.append(f"{fate}: {found} rows, {feed.rows[fate]} fed")
    answers = engine.results("totals", last=f"{RANGE} seconds").toArrow()
    ends = answers["window_end"].cast(pa.int64()).to_pylist()
    columns = [answers[name].to_pylist() for name in ("sensor", "total", "n")]
    found_rows = Counter(zip(ends, *columns, strict=True))
    expected = feed.answers(max(ends) - RANGE * SECOND, max(ends))
    if found_rows != expected:
        lost, extra = expected - found_rows, found_rows - expected
        wrong.append(
            f"totals: {lost.total()} answers missing, {extra.total()} unexpected: {[*lost][:3]} {[*extra][:3]}"
        )
    return wrong


def measure(home: Path, spark: SparkSession) -> dict[str, float]:
    """What the processes and the home hold now."""
    jvm: Any = spark.sparkContext._jvm
    for _ in range(2):  # Spark drops what the first one found unused, and then that is unused too
        jvm.System.gc()
        time.sleep(1)
    runtime = jvm.Runtime.getRuntime()
    sample: dict[str, float] = {
        "python_rss": _rss("self"),
        "jvm_rss": _rss(str(jvm.ProcessHandle.current().pid())),
        "jvm_live": runtime.totalMemory() - runtime.freeMemory(),
    }
    for folder in ("slices", "results", "late", "dead"):
        sample |= _sizes(folder, home / folder)
    # One file of batches that Spark has finished, one of those it has planned, one a source.
    for part in ("offsets", "commits", "sources"):
        paths = [path for stream in (home / "streams").iterdir() for path in (stream / part).rglob("*")]
        sample |= _totals(f"spark_{part}", paths)
    sample["spark_files"] = sum(path.is_file() for path in (home / "streams").rglob("*"))
    sample["catalog_bytes"] = sum(path.stat().st_size for path in home.glob("catalog.db*"))
    with sqlite3.connect(f"file:{home / 'catalog.db'}?mode=ro", uri=True) as database:
        ((sample["epochs"],),) = database.execute("SELECT max(epoch) + 1 FROM epochs")
        ((sample["epoch_rows"],),) = database.execute("SELECT count(*) FROM epochs")
        ((sample["listed"],),) = database.execute("SELECT count(*) FROM files")
        ((sample["doomed"],),) = database.execute("SELECT count(*) FROM doomed")
        ((sample["entries"],),) = database.execute("SELECT sum(entries) FROM operators")
    sample["files"] = sum(path.is_file() for path in home.rglob("*"))
    return sample


def _sizes(name: str, folder: Path) -> dict[str, float]:
    return _totals(name, [*folder.rglob("*")])


def _totals(name: str, paths: list[Path]) -> dict[str, float]:
    sizes = [path.stat().st_size for path in paths if path.is_file()]
    return {f"{name}_files": len(sizes), f"{name}_bytes": sum(sizes)}


def _rss(process: str) -> int:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def _line(sample: dict[str, float]) -> str:
    return (
        f"epoch {sample['epochs']:6.0f}  {sample['seconds_per_epoch']:.2f} s each  "
        f"{sample['files']:4.0f} files ({sample['spark_files']:.0f} Spark's)  "
        f"Python {sample['python_rss'] / MB:.0f} MB  JVM {sample['jvm_live'] / MB:.0f} MB live"
    )


FLAT = {
    # what: how much more than before is not growth
    "python_rss": 16 * MB,
    "jvm_live": 16 * MB,
    "slices_files": 16,
    "slices_bytes": MB // 8,
    "results_files": 16,
    "results_bytes": MB // 8,
    "late_files": 16,
    "late_bytes": MB // 8,
    "dead_files": 16,
    "dead_bytes": MB // 8,
    "catalog_bytes": MB // 8,
    "entries": 100,
    "files": 32,
}


def growth(samples: list[dict[str, float]]) -> dict[str, float]:
    """By measure: its greatest value in the last quarter of the run over that in the second quarter.

    Greatest, since compaction makes saw teeth of everything; what grows with the epochs is twice as much
    by then. The slack of FLAT is added below, so that a few kilobytes more of next to nothing are
    no growth. In the first quarter everything fills up.
    """
    quarter = len(samples) // 4
    if not quarter:
        return {}
    early, late = samples[quarter : 2 * quarter], samples[-quarter:]
    return {
        name: max(s[name] for s in late) / (max(s[name] for s in early) + slack)
        for name, slack in FLAT.items()
    }

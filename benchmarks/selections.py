"""What does a query without a window cost, beside Spark's own stream with the same WHERE?

The same files of a million rows, one a batch: Windrow selects rows into a home, Spark's stream writes them
to Parquet with a checkpoint of its own. First one query, which wants more and more of the rows; then more and
more queries with different conditions, each of which wants one row in a hundred: Spark runs a stream for
each, all at once, as its users do; Windrow one scan for all. Everybody takes turns; answers are counted
against a filter of the files.

One query is run over two copies of the files. Timestamps of 96 bits are what Spark writes unless told
otherwise; footers say nothing of them, and Windrow needs a job to see which rows are late. Timestamps of 64
bits are what most others write.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from _harness import Bar, alternate, console, is_quick, machine, plain_ticks, publish
from _session import session
from _ways import SCHEMA, Data, Size, WrongAnswer, make_data
from matplotlib import pyplot as plt
from pyspark.sql import SparkSession

from windrow import Engine

SPARKS_BITS, OTHERS_BITS = 96, 64
TIMESTAMPS = {SPARKS_BITS: "INT96", OTHERS_BITS: "TIMESTAMP_MICROS"}
"""What Spark calls timestamps of so many bits."""
WINDROW, NATIVE = "Windrow", "Spark's own stream"
STYLES = {NATIVE: {"color": "#a8324a", "marker": "D"}, WINDROW: {"color": "#1f6fb4", "marker": "o"}}


@dataclass(frozen=True)
class Settings:
    """What is run."""

    size: Size
    wanted: tuple[float, ...]
    """Which part of the rows one query wants."""
    queries: tuple[int, ...]
    """How many queries there are, of which each wants a hundredth."""
    repeats: int


FULL = Settings(Size(keys=1_000, seconds=1_000, files=10), (0.01, 0.1, 0.5, 1.0), (1, 10, 50), repeats=3)
QUICK = Settings(Size(keys=100, seconds=100, files=2), (0.01, 0.5), (1, 5), repeats=1)


@dataclass(frozen=True)
class Case:
    """Queries, each of which wants the rows between two values, of a column with values from 0 to 1."""

    queries: int
    wanted: float
    bits: int = SPARKS_BITS
    """Of the timestamps in the files."""

    @property
    def conditions(self) -> list[tuple[float, float]]:
        """One behind the other, as far as there is room."""
        starts = ((number * self.wanted) % 1.0 for number in range(self.queries))
        return [(start, start + self.wanted) for start in starts]

    @property
    def label(self) -> str:
        queries = f"{self.queries:,} quer{'y' if self.queries == 1 else 'ies'}"
        return f"{queries}, {100 * self.wanted:g} % of the rows each, timestamps of {self.bits} bits"


def select(low: float, high: float) -> str:
    """The statement of one query, which both understand."""
    where = f" WHERE v >= {low} AND v < {high}" if (low, high) != (0.0, 1.0) else ""
    return f"SELECT ts, k, v * 1.8 + 32 AS f FROM readings{where}"


def run_windrow(spark: SparkSession, data: Data, case: Case, scratch: Path) -> tuple[float, int]:
    """The engine, from its construction to its last commit, and how many rows it has answered."""
    begun = time.perf_counter()
    with Engine(scratch / "home", spark=spark) as engine:
        engine.stream("readings", data.path, "ts", schema=SCHEMA, options={"maxFilesPerTrigger": "1"})
        for number, bounds in enumerate(case.conditions):
            engine.query(f"q{number}", select(*bounds))
        engine.run(seal=False)
        seconds = time.perf_counter() - begun
        return seconds, sum(query.answers for query in engine.status().queries)


def run_native(spark: SparkSession, data: Data, case: Case, scratch: Path) -> tuple[float, int]:
    """A stream of Spark's a query, all at once; how many rows they have written."""
    begun = time.perf_counter()
    streams = []
    for number, bounds in enumerate(case.conditions):
        rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1").parquet(str(data.path))
        rows.createOrReplaceTempView("readings")
        writer = spark.sql(select(*bounds)).writeStream.format("parquet")
        writer = writer.option("checkpointLocation", str(scratch / f"checkpoint{number}"))
        streams.append(
            writer.option("path", str(scratch / f"rows{number}")).trigger(availableNow=True).start()
        )
    for stream in streams:
        stream.awaitTermination()
    seconds = time.perf_counter() - begun
    written = [str(scratch / f"rows{number}") for number in range(case.queries)]
    return seconds, sum(spark.read.parquet(path).count() for path in written)


class Selections:
    """One run of the benchmark, in one Spark session and one scratch directory."""

    def __init__(self, spark: SparkSession, settings: Settings, scratch: Path) -> None:
        self.spark = spark
        self.settings = settings
        self.scratch = scratch
        self.measurements: list[dict[str, Any]] = []

    def run(self) -> dict[str, Any]:
        """Measure everything; the report."""
        facts = machine(self.spark)
        data = {bits: self._make_data(bits) for bits in TIMESTAMPS}
        cases = [Case(1, wanted, bits) for bits in data for wanted in self.settings.wanted]
        cases = list(dict.fromkeys([*cases, *(Case(queries, 0.01) for queries in self.settings.queries)]))
        for run in (run_windrow, run_native):  # unmeasured: compilers, and the files' first reading
            for bits, files in data.items():
                self.timed(run, files, Case(1, max(self.settings.wanted), bits))
        for case in cases:
            self._measure(data[case.bits], case)
        return {
            "machine": facts,
            "size": {**asdict(self.settings.size), "rows": self.settings.size.rows},
            "repeats": self.settings.repeats,
            "measurements": self.measurements,
            "bars": [bar.row() for bar in self._bars()],
        }

    def _make_data(self, bits: int) -> Data:
        setting = "spark.sql.parquet.outputTimestampType"
        before = self.spark.conf.get(setting)
        self.spark.conf.set(setting, TIMESTAMPS[bits])
        try:
            return make_data(self.spark, self.settings.size, self.scratch / f"readings{bits}")
        finally:
            self.spark.conf.set(setting, before)

    def _measure(self, data: Data, case: Case) -> None:
        timings = alternate(
            {
                WINDROW: partial(self.timed, run_windrow, data, case),
                NATIVE: partial(self.timed, run_native, data, case),
            },
            self.settings.repeats,
        )
        for way, timing in timings.items():
            self.measurements.append(
                {
                    "way": way,
                    **asdict(case),
                    "seconds": [round(second, 3) for second in timing.seconds],
                    "median": round(timing.median, 3),
                    "spread": round(timing.spread, 3),
                }
            )
        took = ", ".join(f"{way} {timing.median:.2f} s" for way, timing in timings.items())
        console.print(f"{case.label}: {took}")

    def timed(self, run: Callable[..., tuple[float, int]], data: Data, case: Case) -> float:
        """The seconds that somebody took; raises WrongAnswer unless they have answered every row."""
        self.spark.sparkContext._jvm.System.gc()  # type: ignore[union-attr]  # nobody pays for the last one
        scratch = Path(tempfile.mkdtemp(dir=self.scratch))
        try:
            seconds, rows = run(self.spark, data, case, scratch)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        expected = self._expected(data, case)
        if rows != expected:
            raise WrongAnswer(f"{run.__name__}, {case.label}: {rows:,} rows instead of {expected:,}")
        return seconds

    def _expected(self, data: Data, case: Case) -> int:
        self.spark.read.schema(SCHEMA).parquet(str(data.path)).createOrReplaceTempView("readings")
        counts = ", ".join(
            f"count_if(v >= {low} AND v < {high}) AS c{i}" for i, (low, high) in enumerate(case.conditions)
        )
        return sum(self.spark.sql(f"SELECT {counts} FROM readings").first() or ())

    def _bars(self) -> list[Bar]:
        """One query may cost what it costs Spark; many must not cost as many."""
        wanted, queries = self.settings.wanted, max(self.settings.queries)
        bars = [
            Bar(
                f"Windrow / Spark, {case.label}",
                self._median(WINDROW, case) / self._median(NATIVE, case),
                1.2,
                True,
            )
            for case in (Case(1, part, bits) for bits in TIMESTAMPS for part in wanted)
        ]
        many, one = Case(queries, 0.01), Case(1, 0.01)
        gain = self._median(NATIVE, many) / self._median(WINDROW, many)
        growth = self._median(WINDROW, many) / self._median(WINDROW, one)
        return [
            *bars,
            Bar(f"Spark / Windrow, {many.label}", gain, 5.0, at_most=False),
            Bar(f"Windrow, {queries:,} queries / one", growth, 3.0, at_most=True),
        ]

    def _median(self, way: str, case: Case) -> float:
        sought = {"way": way, **asdict(case)}
        return next(m["median"] for m in self.measurements if sought.items() <= m.items())


def draw(report: Mapping[str, Any], path: Path) -> None:
    """Write the figure as a PNG: one query that wants more, and more queries."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), sharey=True, layout="constrained")
    for way, style in STYLES.items():
        for bits, line in ((SPARKS_BITS, "-"), (OTHERS_BITS, "--")):
            mine = [m for m in report["measurements"] if (m["way"], m["bits"]) == (way, bits)]
            one = sorted((m["wanted"] * 100, m["median"]) for m in mine if m["queries"] == 1)
            many = sorted((m["queries"], m["median"]) for m in mine if m["wanted"] == 0.01)
            look = {"label": f"{way}, {bits}-bit timestamps", "linestyle": line, "linewidth": 1.8, **style}
            left.plot(*zip(*one, strict=True), markersize=6, **look)
            if bits == SPARKS_BITS:
                right.plot(*zip(*many, strict=True), markersize=6, **look)
    for axes, label in (
        (left, "one query: rows that it wants [%]"),
        (right, "queries that want 1 % of the rows each"),
    ):
        axes.set_xscale("log")
        axes.set_yscale("log")
        plain_ticks(axes.xaxis)
        plain_ticks(axes.yaxis)
        axes.set_xlabel(label)
        axes.grid(True, which="major", color="#e4e4e4", linewidth=0.7)
        axes.spines[["top", "right"]].set_visible(False)
    left.set_ylabel("time [s]")
    left.legend(frameon=False)
    figure.suptitle(f"Queries without a window over {report['size']['rows']:,} rows", fontsize=13)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> int:
    """Run the benchmark; 1 if a bar of a full run is not kept."""
    quick = is_quick((__doc__ or "").partition("\n")[0])
    spark = session()
    with tempfile.TemporaryDirectory(prefix="windrow-selections-") as scratch:
        report = Selections(spark, QUICK if quick else FULL, Path(scratch)).run()
    kept = publish("selections", report, draw, quick=quick)
    spark.stop()
    return 0 if kept or quick else 1


if __name__ == "__main__":
    sys.exit(main())

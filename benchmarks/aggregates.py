"""What does each kind of aggregate cost over a sliding window, against SUM and against recomputation?

RANGE is 60 slides. Every aggregate is a query of its own over the same Parquet files, once without keys and
once with many: the time of a slide is that of an epoch, from the batch to the commit of its answers, divided
by the slides; the bytes of a window are those of the query's state, divided by the keys. DuckDB
recomputes the same windows one by one, from the same files and from a table in memory; Spark's own window()
answers all of them at once, within a budget. `_frequent_items.py` measures how good FREQUENT_ITEMS is.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _aggregates_figure import draw
from _frequent_items import TRACES, Trial, frequent_items
from _harness import Bar, alternate, console, is_quick, machine, publish
from _session import session
from _ways import within
from pyspark.sql import functions as F

from windrow import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST = 1_704_067_200
SCHEMA = "ts TIMESTAMP, k INT, x INT, v DOUBLE, w DOUBLE"
SUM, COUNT_DISTINCT, MEDIAN = "SUM", "COUNT DISTINCT", "MEDIAN"
HLL, KLL, FREQUENT = "APPROX_COUNT_DISTINCT", "APPROX_PERCENTILE", "FREQUENT_ITEMS"
APPROXIMATE = (HLL, KLL, FREQUENT)


@dataclass(frozen=True)
class Kind:
    """An aggregate: its family, the call, and the same in DuckDB and in Spark where there is such a thing."""

    family: str
    call: str
    duckdb: str | None = None
    spark: str | None = None


KINDS = {
    SUM: Kind("distributive", "SUM(v)", "sum(v)", "sum(v)"),
    "PRODUCT": Kind("distributive", "PRODUCT(v)", "product(v)"),
    "STDDEV": Kind("algebraic", "STDDEV(v)", "stddev(v)", "stddev(v)"),
    "CORR": Kind("algebraic", "CORR(v, w)", "corr(v, w)", "corr(v, w)"),
    "SKEWNESS": Kind("algebraic", "SKEWNESS(v)", "skewness(v)", "skewness(v)"),
    "MAX_BY": Kind("algebraic", "MAX_BY(x, v)", "max_by(x, v)", "max_by(x, v)"),
    "LAST": Kind("ordered", "LAST(x)", "last(x ORDER BY ts)"),
    "COLLECT_LIST": Kind(
        "ordered", "COLLECT_LIST(x) FILTER (WHERE x = 9)",
        "list(x ORDER BY ts) FILTER (x = 9)",
        "collect_list(CASE WHEN x = 9 THEN x END)",
    ),
    COUNT_DISTINCT: Kind("exact", "COUNT(DISTINCT x)", "count(DISTINCT x)", "count(DISTINCT x)"),
    "SUM DISTINCT": Kind("exact", "SUM(DISTINCT v)", "sum(DISTINCT v)"),
    MEDIAN: Kind("exact", "MEDIAN(v)", "median(v)", "median(v)"),
    "MODE": Kind("exact", "MODE(x)", "mode(x)"),
    "TOP_K": Kind("exact", "TOP_K(x, 10)"),
    HLL: Kind("approximate", "APPROX_COUNT_DISTINCT(x)", *["approx_count_distinct(x)"] * 2),
    KLL: Kind(
        "approximate", "APPROX_PERCENTILE(v, 0.5)", "approx_quantile(v, 0.5)", "approx_percentile(v, 0.5)"
    ),
    FREQUENT: Kind("approximate", "FREQUENT_ITEMS(x, 10)", "approx_top_k(x, 10)", "approx_top_k(x, 10)"),
}  # fmt: skip


@dataclass(frozen=True)
class Size:
    """How much data; the first RANGE is read before the clock starts."""

    slides: int
    rows_a_slide: int
    keys: tuple[int, ...] = (1, 1_000)
    overlap: int = 60

    @property
    def rows(self) -> int:
        """All rows, those of the first RANGE included."""
        return (self.slides + self.overlap) * self.rows_a_slide


@dataclass(frozen=True)
class Settings:
    """What is run."""

    size: Size
    repeats: int
    samples: int
    """How many windows DuckDB recomputes."""
    budget: int
    """Seconds for one run of Spark's own."""
    trials: Mapping[str, Trial]


FULL = Settings(Size(slides=60, rows_a_slide=100_000), repeats=2, samples=12, budget=25, trials=TRACES)
QUICK = Settings(
    Size(slides=30, rows_a_slide=2_000, keys=(1, 50), overlap=10), repeats=1, samples=3, budget=20,
    trials={name: trial.small() for name, trial in TRACES.items()},
)  # fmt: skip


class Aggregates:
    """One run of the benchmark, in one Spark session and one scratch directory."""

    def __init__(self, spark: SparkSession, settings: Settings, scratch: Path) -> None:
        self.spark = spark
        self.settings = settings
        self.scratch = scratch
        self.measurements: list[dict[str, Any]] = []

    def run(self) -> dict[str, Any]:
        """Measure everything; the report."""
        facts = machine(self.spark)
        shapes = {}
        for keys in self.settings.size.keys:
            path = self.scratch / f"keys{keys}"
            shapes[str(keys)] = make_data(self.settings.size, keys, path)
            self._measure(keys, path)
        trials = {
            name: frequent_items(self.spark, trial, self.scratch)
            for name, trial in self.settings.trials.items()
        }
        report = {
            "machine": facts,
            "size": {**asdict(self.settings.size), "rows": self.settings.size.rows},
            "shape": shapes,
            "repeats": self.settings.repeats,
            "budget_seconds": self.settings.budget,
            "measurements": self.measurements,
            "frequent_items": trials,
        }
        return {**report, "bars": [bar.row() for bar in bars(report)]}

    def _measure(self, keys: int, path: Path) -> None:
        """All kinds, in turns."""
        size = self.settings.size
        states: dict[str, int] = {}

        def runner(name: str) -> Callable[[], float]:
            def run() -> float:
                seconds, states[name] = self._windrow(KINDS[name].call, keys, path)
                return seconds

            return run

        for kind in KINDS.values():
            self._windrow(kind.call, keys, path)  # unmeasured: Spark's and Numba's compilers, files
        timings = alternate({name: runner(name) for name in KINDS}, self.settings.repeats)
        for name, kind in KINDS.items():
            recomputed = self._duckdb(kind, keys, path)
            native = self._native(kind, keys, path)
            self.measurements.append(
                {
                    "name": name, "family": kind.family, "call": kind.call, "keys": keys,
                    "ms_per_slide": timings[name].median / size.slides * 1e3,
                    "spread": timings[name].spread,
                    "bytes_per_window": states[name] / keys,
                    **recomputed,
                    "spark_ms_per_slide": native,
                }
            )  # fmt: skip
            console.print(_line(self.measurements[-1]))

    def _windrow(self, call: str, keys: int, path: Path) -> tuple[float, int]:
        """Seconds of the epoch with the slides behind the first RANGE, and the bytes of the state then."""
        home = Path(tempfile.mkdtemp(dir=self.scratch))
        source = home / "source"
        source.mkdir()
        window = f"[RANGE {self.settings.size.overlap} SECONDS SLIDE 1 SECOND]"
        group = " GROUP BY k" if keys > 1 else ""
        key = "k, " if keys > 1 else ""
        with Engine(home / "home", spark=self.spark) as engine:
            engine.stream("readings", source, "ts", schema=SCHEMA)
            engine.query("q", f"SELECT {key}{call} AS answer FROM readings {window}{group}")
            for part in ("first", "rest"):
                (source / f"{part}.parquet").symlink_to(path / f"{part}.parquet")
                engine.run(seal=False)
            status = engine.status()
        shutil.rmtree(home)
        (stream,), (query,) = status.streams, status.queries
        assert stream.epoch_seconds is not None
        return stream.epoch_seconds, query.state_bytes

    def _duckdb(self, kind: Kind, keys: int, path: Path) -> dict[str, float | None]:
        """Milliseconds for one window, recomputed from the files and from a table."""
        if kind.duckdb is None:
            return {"duckdb_files_ms": None, "duckdb_table_ms": None}
        size = self.settings.size
        key, group = ("k, ", " GROUP BY k") if keys > 1 else ("", "")
        milliseconds: dict[str, list[float]] = {"duckdb_files_ms": [], "duckdb_table_ms": []}
        with duckdb.connect() as connection:
            connection.execute(f"SET threads = {self.spark.sparkContext.defaultParallelism}")
            connection.execute("SET TimeZone = 'UTC'")
            files = f"read_parquet('{path}/*.parquet')"
            connection.execute(f"CREATE TABLE readings AS SELECT * FROM {files} ORDER BY ts")
            step = max(size.slides // self.settings.samples, 1)
            for end in range(FIRST + size.overlap, FIRST + size.overlap + size.slides, step):
                for name, source in (("duckdb_files_ms", files), ("duckdb_table_ms", "readings")):
                    select = (
                        f"SELECT {key}{kind.duckdb} FROM {source} "
                        f"WHERE ts >= to_timestamp({end - size.overlap}) AND ts < to_timestamp({end}){group}"
                    )
                    started = time.perf_counter()
                    connection.sql(select).to_arrow_table()
                    milliseconds[name].append((time.perf_counter() - started) * 1e3)
        return {name: float(np.median(measured)) for name, measured in milliseconds.items()}

    def _native(self, kind: Kind, keys: int, path: Path) -> float | None:
        """Milliseconds a slide of Spark's window() over all rows; None: no such thing, or too long."""
        if kind.spark is None or kind.family not in ("distributive", "exact"):
            return None
        size = self.settings.size
        columns = ["k"] if keys > 1 else []
        output = Path(tempfile.mkdtemp(dir=self.scratch)) / "answers"
        rows = self.spark.read.schema(SCHEMA).parquet(str(path))
        window = F.window("ts", f"{size.overlap} seconds", "1 second")
        answers = rows.groupBy(window, *columns).agg(F.expr(kind.spark).alias("answer"))
        started = time.perf_counter()
        finished = within(self.spark, self.settings.budget, lambda: answers.write.parquet(str(output)))
        seconds = time.perf_counter() - started
        shutil.rmtree(output.parent)
        return seconds / (size.slides + size.overlap) * 1e3 if finished else None


def make_data(size: Size, keys: int, path: Path) -> dict[str, float]:
    """Two files, the first RANGE and the rest; what they look like.

    `x` is the number of a client, of which few make most of the rows; `v` is a latency in whole
    milliseconds, and `w` goes along with it.
    """
    path.mkdir()
    generator = np.random.default_rng(keys)
    at = np.arange(size.rows) * 1_000_000 // size.rows_a_slide + FIRST * 1_000_000
    x = np.minimum(generator.zipf(1.3, size.rows), 20_000).astype(np.int32)
    v = np.round(generator.lognormal(4.0, 0.8, size.rows))
    table = pa.table(
        {
            "ts": pa.array(at, pa.timestamp("us", "UTC")),
            "k": generator.integers(0, keys, size.rows).astype(np.int32),
            "x": x,
            "v": v,
            "w": v + generator.normal(0, 10, size.rows),
        }
    )
    first = size.overlap * size.rows_a_slide
    for name, part in (("first", table.slice(0, first)), ("rest", table.slice(first))):
        pq.write_table(part, path / f"{name}.parquet", row_group_size=250_000)
    return {
        "different_x_a_slide": len(np.unique(x[: size.rows_a_slide])),
        "different_x_a_window": len(np.unique(x[:first])),
        "different_v_a_slide": len(np.unique(v[: size.rows_a_slide])),
        "different_v_a_window": len(np.unique(v[:first])),
    }


def bars(report: Mapping[str, Any]) -> list[Bar]:
    """The promises."""
    found = []
    for keys in report["size"]["keys"]:
        by_name = {m["name"]: m for m in report["measurements"] if m["keys"] == keys}
        label = f"{keys:,} key{'s'[: keys != 1]}"
        for name in (COUNT_DISTINCT, MEDIAN):
            m = by_name[name]
            ratio = m["duckdb_files_ms"] / m["ms_per_slide"]
            found.append(Bar(f"DuckDB / Windrow, {name}, {label}", ratio, 10, at_most=False))
        for name in APPROXIMATE:
            ratio = by_name[name]["ms_per_slide"] / by_name[SUM]["ms_per_slide"]
            found.append(Bar(f"{name} / SUM, {label}", ratio, 5, at_most=True))
    for name, trial in report["frequent_items"].items():
        errors = [p["relative_error"] for p in trial["points"] if p["slice"] == 20 and p["k"] >= 7]
        worst = max((error for error in errors if error is not None), default=None)
        found.append(
            Bar(f"frequent items, {name}: relative error, slices of 20, k ≥ 7", worst, 0.02, at_most=True)
        )
    return found


def _line(m: Mapping[str, Any]) -> str:
    def shown(value: float | None) -> str:
        return "—" if value is None else f"{value:,.2f}"

    recomputed = f"DuckDB {shown(m['duckdb_files_ms'])} (table {shown(m['duckdb_table_ms'])})"
    windrow = f"{m['ms_per_slide']:8.2f} ms a slide, {m['bytes_per_window']:12,.0f} bytes"
    native = f"Spark {shown(m['spark_ms_per_slide'])}"
    return f"{m['keys']:>5} keys  {m['name']:<22} {windrow}; {recomputed}, {native}"


def main() -> int:
    """Run it."""
    quick = is_quick(__doc__ or "")
    spark = session()
    scratch = Path(tempfile.mkdtemp(prefix="windrow-aggregates-"))
    try:
        report = Aggregates(spark, QUICK if quick else FULL, scratch).run()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        spark.stop()
    return 0 if publish("aggregates", report, draw, quick=quick) or quick else 1


if __name__ == "__main__":
    sys.exit(main())

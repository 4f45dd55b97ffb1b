"""What do a thousand, and ten thousand, queries over one stream cost more than one?

Ungrouped queries (SUM, MAX, COUNT or AVG) with random ranges and Zipf-skewed slides, as Shein draws
them (2019, §5.4), over the same files in micro-batches. A run's time is that of its epochs, from a batch to
its commit, without the writing of results, which is reported apart, a result row; registering and planning
are reported apart, too. `planned` is what Windrow does by itself; the other ways are optimizers that it was
told to use. Ways that would take longer than the budget are not run. Spark's own window() answers one
query after another, as many as it can within the budget.

The second part has 1,000 queries over 20 groupings times 20 predicates: all in one engine, against each
of the 400 classes in an engine of its own. Of those a sample is run, and the sum is the sample's mean
times 400.

The third part runs plans of four optimizers, and compares what the planner thought they would take, by
constants measured in the same run, with what they took.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _estimates import SECOND, SKEWED, TECHNIQUES, WORKLOADS, deviation, deviations
from _harness import Bar, console, is_quick, machine, publish
from _many_queries_figure import draw
from _session import session

from windrow import Engine
from windrow.api.explaining import next_plan
from windrow.planner.sharing import SECONDS, CostModel, weave_share
from windrow.runtime.spark import measure_sharing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from windrow.slicing import Window

SPAN = 7_200
"""Seconds of event time."""
AGGREGATES = ("SUM(v)", "MAX(v)", "COUNT(*)", "AVG(v)")
PLANNED = "planned"
WAYS = (PLANNED, "max_share", "tri_weave", "weave_share", "no_share")


@dataclass(frozen=True)
class Settings:
    """What is run."""

    rows: int
    files: int
    counts: tuple[int, ...]
    repeats: int
    budget: float
    """Seconds that one run may be expected to take."""
    class_rows: int
    class_queries: int
    classes: tuple[int, int]
    """Groupings and predicates."""
    sampled: int
    estimate_rows: int
    estimated: tuple[int, ...]
    """Queries of the plans whose estimates are compared."""
    workloads: int
    calibration: measure_sharing.Sizes = measure_sharing.FULL


FULL = Settings(
    8_000_000, 4, (1, 10, 100, 1_000, 10_000), 3, 40, 1_000_000, 1_000, (20, 20), 12,
    4_000_000, (10, 30, 100, 300, 1_000), 3,
)  # fmt: skip
QUICK = Settings(400_000, 2, (1, 10, 100), 1, 15, 100_000, 40, (4, 4), 2, 200_000, (4, 10), 2)


@dataclass(frozen=True)
class Run:
    """What one run took, in seconds."""

    epochs: float
    writing: float
    registering: float
    whole: float
    results: int
    trees: int
    passes: int
    state_bytes: int
    estimated: float
    """Seconds, by the planner's cost model."""


def statement(window: Window, aggregate: str, keys: str = "", where: str = "") -> str:
    """A query in CQL."""
    by, condition = (f" GROUP BY {keys}" if keys else ""), (f" WHERE {where}" if where else "")
    listed = f"{keys}, {aggregate} AS a" if keys else f"{aggregate} AS a"
    shape = f"RANGE {window.range // SECOND} SECONDS SLIDE {window.slide // SECOND} SECONDS"
    return f"SELECT {listed} FROM readings [{shape}]{condition}{by}"


class ManyQueries:
    """One run of the benchmark, in one Spark session and one scratch directory."""

    def __init__(self, spark: SparkSession, settings: Settings, scratch: Path) -> None:
        self.spark = spark
        self.settings = settings
        self.scratch = scratch
        self.constants = SECONDS
        self._homes = 0

    def run(self) -> dict[str, Any]:
        """Measure, and make the report."""
        facts = machine(self.spark)
        self.constants = replace(
            SECONDS, **measure_sharing.measure_constants(self.spark, self.settings.calibration)
        )
        data = self._data("readings", self.settings.rows, self.settings.files)
        runs = self._counts(data)
        native = self._native(data)
        classes = self._classes()
        estimates = self._estimates(runs[0]["epochs"])
        return {
            "question": (__doc__ or "").partition("\n")[0],
            "machine": facts,
            "settings": asdict(self.settings),
            "measurements": runs,
            "native": native,
            "classes": classes,
            "deviation": deviation(runs),
            "constants_nanoseconds": {k: round(v * 1e9, 1) for k, v in asdict(self.constants).items()},
            "estimates": {"measurements": estimates, "deviations": deviations(estimates)},
            "bars": [bar.row() for bar in self._bars(runs, classes)],
        }

    def _data(self, name: str, rows: int, files: int) -> Path:
        path = self.scratch / name
        groups = ", ".join(f"cast(pmod(hash(id, {i}), {3 + i}) as int) AS g{i}" for i in range(20))
        step = SPAN * SECOND // rows
        for file in range(files):
            part = self.scratch / f"{name}-{file}"
            first, last = rows * file // files, rows * (file + 1) // files
            self.spark.sql(
                f"SELECT timestamp_micros(1700000000000000 + id * {step}) AS ts, "
                f"cast(pmod(hash(id), 1000) as int) AS v, {groups} FROM range({first}, {last}, 1, 1)"
            ).write.parquet(str(part))
            path.mkdir(exist_ok=True)
            for made in part.glob("*.parquet"):
                made.rename(path / f"{file:03d}.parquet")
        return path

    # one, ten, … ten thousand

    def _counts(self, data: Path) -> list[dict[str, Any]]:
        for count in (10, 1, 1):  # the first of everything is slow, and the JVM learns for a while
            self._measure(data, self._statements(count), None)
        measured = []
        for count in self.settings.counts:
            statements = self._statements(count)
            for way in WAYS:
                one = next((m["epochs"] for m in measured if m["queries"] == 1), 0.0)
                if (count == 1 and way != PLANNED) or self._takes_long(SKEWED.windows(count), way, one):
                    continue
                repeats = self.settings.repeats if way == PLANNED else 1
                runs = [
                    self._measure(data, statements, None if way == PLANNED else way) for _ in range(repeats)
                ]
                best = min(runs, key=lambda run: run.epochs)
                measured.append(
                    {"queries": count, "way": way, "ranges": len(set(SKEWED.windows(count)))}
                    | asdict(best)
                    | {"all_epochs": [run.epochs for run in runs]}
                )
                console.print(f"{count:>6} {way:<12} {best.epochs:6.2f} s, {best.trees} trees")
        return measured

    def _statements(self, count: int) -> list[str]:
        windows = SKEWED.windows(count)
        return [statement(window, AGGREGATES[i % 4]) for i, window in enumerate(windows)]

    def _takes_long(self, windows: Sequence[Window], way: str, one: float) -> bool:
        """Whether a run with several passes may take longer than the budget, each as long as one query.

        How long WeaveShare takes to plan more windows than this is the subject of `planning`.
        """
        if way == "no_share":
            return one * len(set(windows)) > self.settings.budget
        if way == "weave_share":
            cost = CostModel(rate=self.settings.rows / SPAN, constants=self.constants)
            return len(windows) > 1_000 or one * len(weave_share(windows, cost).trees) > self.settings.budget
        return False

    def _measure(
        self, data: Path, statements: Sequence[str], optimizer: str | None, files_a_batch: int = 1
    ) -> Run:
        self._homes += 1
        home = self.scratch / f"home-{self._homes}"
        begun = time.perf_counter()
        reports = []
        with Engine(home, spark=self.spark, optimizer=optimizer) as engine:
            engine._plan.settings = replace(engine._plan.settings, constants=self.constants)
            engine.stream("readings", data, "ts", options={"maxFilesPerTrigger": str(files_a_batch)})
            engine.execute("\n".join(f"CREATE QUERY q{i} AS {sql};" for i, sql in enumerate(statements)))
            registered = time.perf_counter()
            engine.on_epoch = reports.append
            engine.run(seal=False)
            done = time.perf_counter()
            ((trees, size),) = engine._home.catalog.rows("SELECT count(*), sum(bytes) FROM operators")
            passes = len(engine.explain().plan.inputs["readings"].passes)
            # Priced by the rate that was observed in the end.
            queries, settings = list(engine._queries.values()), engine._plan.settings
            plan = next_plan(engine._running.streams, engine._plan, queries, settings, anew=True)
            estimated = SPAN * sum(operator.price.cost for operator in plan.operators.values())
        shutil.rmtree(home)
        writing = sum(report.writing_seconds for report in reports)
        return Run(
            sum(report.seconds for report in reports) - writing,
            writing,
            registered - begun,
            done - registered,
            sum(sum(report.answers.values()) for report in reports),
            trees,
            passes,
            size,
            estimated,
        )

    def _native(self, data: Path) -> dict[str, Any]:
        """Spark's own window(), one query after the other."""
        from pyspark.sql import functions as F

        most = max(self.settings.counts)
        rows = self.spark.read.parquet(str(data))
        seconds: list[float] = []
        for i, window in enumerate(SKEWED.windows(most)):
            if sum(seconds) > self.settings.budget:
                break
            begun = time.perf_counter()
            length, slide = (f"{part // SECOND} seconds" for part in (window.range, window.slide))
            answers = rows.groupBy(F.window("ts", length, slide)).agg(F.expr(AGGREGATES[i % 4]).alias("a"))
            answers.write.parquet(str(self.scratch / f"native-{i}"))
            seconds.append(time.perf_counter() - begun)
        return {"queries": len(seconds), "seconds": seconds, "budget_seconds": self.settings.budget}

    # many groupings and predicates

    def _classes(self) -> dict[str, Any]:
        s = self.settings
        data = self._data("classes", s.class_rows, 1)
        groupings, predicates = s.classes
        windows = replace(SKEWED, seed=1).windows(s.class_queries)
        by_class: dict[tuple[int, int], list[str]] = {}
        for i, window in enumerate(windows):
            grouping, predicate = i % groupings, (i // groupings) % predicates
            sql = statement(
                window, AGGREGATES[i % 4], f"g{grouping}", f"v >= {1000 * predicate // predicates}"
            )
            by_class.setdefault((grouping, predicate), []).append(sql)
        everything = [sql for statements in by_class.values() for sql in statements]
        sample = list(by_class)[:: max(1, len(by_class) // s.sampled)][: s.sampled]
        self._measure(data, by_class[sample[0]], None)
        alone = [self._measure(data, by_class[one], None) for one in sample]
        self._measure(data, everything, None)
        together = self._measure(data, everything, None)
        total = sum(run.epochs for run in alone) / len(alone) * len(by_class)
        return {
            "queries": len(everything),
            "classes": len(by_class),
            "sampled": len(sample),
            "together": asdict(together),
            "alone_seconds": [run.epochs for run in alone],
            "alone_total": total,
        }

    # estimated and executed

    def _estimates(self, one: float) -> list[dict[str, Any]]:
        """Plans of each technique over a few workloads: what they should take, and what they took.

        `one`: about how long a pass takes.
        """
        s = self.settings
        # Two batches, since one does not tell the stream's rate; as many files in each as there are cores,
        # since the constants are those of all cores, and Spark reads a file of this size with one.
        cores = os.cpu_count() or 1
        data = self._data("estimates", s.estimate_rows, 2 * cores)
        measured = []
        for workload in WORKLOADS[: s.workloads]:
            for count in s.estimated:
                windows = workload.windows(count)
                statements = [
                    statement(window, AGGREGATES[i % 4], workload.keys) for i, window in enumerate(windows)
                ]
                for way in TECHNIQUES:
                    if self._takes_long(windows, way, one):
                        continue
                    run = self._measure(data, statements, way, cores)
                    measured.append({"workload": workload.name, "queries": count, "way": way} | asdict(run))
                    console.print(
                        f"{count:>6} {way:<12} {workload.name}: "
                        f"estimated {run.estimated:.2f} s, executed {run.epochs:.2f} s"
                    )
        return measured

    def _bars(self, runs: Sequence[Mapping[str, Any]], classes: Mapping[str, Any]) -> list[Bar]:
        planned = {run["queries"]: run for run in runs if run["way"] == PLANNED}
        one = planned[1]["epochs"]

        def ratio(count: int) -> float | None:
            return planned[count]["epochs"] / one if count in planned else None

        few, most = sorted(planned)[len(planned) // 2], max(planned)
        growth = (planned[most]["state_bytes"] / planned[few]["state_bytes"]) / (
            planned[most]["ranges"] / planned[few]["ranges"]
        )
        return [
            Bar("1,000 queries / one query", ratio(1_000), 1.5, at_most=True),
            Bar("10,000 queries / one query", ratio(10_000), 3.0, at_most=True),
            Bar(
                f"{classes['queries']:,} queries in {classes['classes']} classes / the classes alone",
                classes["together"]["epochs"] / classes["alone_total"],
                0.5,
                at_most=True,
            ),
            Bar(f"state, {most:,} / {few:,} queries, by distinct windows", growth, 1.0, at_most=True),
        ]


def main() -> int:
    """Run it."""
    quick = is_quick(__doc__ or "")
    spark = session()
    scratch = Path(tempfile.mkdtemp(prefix="windrow-many-queries-"))
    try:
        report = ManyQueries(spark, QUICK if quick else FULL, scratch).run()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        spark.stop()
    return 0 if publish("many_queries", report, draw, quick=quick) or quick else 1


if __name__ == "__main__":
    sys.exit(main())

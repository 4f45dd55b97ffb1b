"""What do joins of windows cost, and does it depend on how much the windows hold?

Two generated links, and windows of more and more rows, over keys that are scaled with them: a row has 1
result on average, or 10, whatever the window. What is measured:

1. a join of INTERNAL windows by Windrow: the time a row and result; the state that an epoch writes, of so few
   rows that all of them still live when it ends; and how many rows its operator touches by itself
   (`_joins_operator.py`);
2. that join by Windrow and by Spark, over the first of the files, with answers that must be equal
   (`_joins_ways.py`). Spark runs with each of its state stores, and the faster one counts;
3. GROUP BY over a join at overlap 60 by Windrow, and by DuckDB, which recomputes it
   (`_joins_evaluations.py`);
4. DISTINCT sources of packets, most of which come from few: how much is held (`_joins_distinct.py`).

Of Spark's state stores, the second is stopped once it has taken longer than the first.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from _harness import Bar, Timing, console, is_quick, machine, publish
from _joins_distinct import run_distinct
from _joins_evaluations import OVERLAP, run_evaluations
from _joins_figure import draw
from _joins_links import Links, Size, make_links
from _joins_operator import pass_through
from _joins_ways import Joined, JoinedInEpochs, run_spark, run_windrow
from _session import session
from _ways import STATE_STORES, WrongAnswer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDROW, SPARK, DUCKDB = "Windrow", "Spark's interval join", "DuckDB"
Found = TypeVar("Found")


@dataclass(frozen=True)
class Settings:
    """What is run."""

    windows: tuple[int, ...]
    """How many rows of a link they hold."""
    results: tuple[int, ...]
    """How many results a row has."""
    size: Size
    """Of the links, for each window; the first half of the files fills the largest."""
    state: Size
    """Of the links whose state is looked at; their first files fill the windows."""
    compared: Mapping[int, int]
    """How many of the files Spark joins too, by window: the less a window holds, the longer it takes."""
    evaluated: Size
    """Of the links at overlap 60."""
    asked: int
    """How many evaluations DuckDB recomputes."""
    repeats: int
    """How often Windrow runs; Spark's own runs are long enough to be run once."""
    budget: int
    """Seconds after which Spark is stopped."""
    state_stores: tuple[str, ...] = tuple(STATE_STORES)


FULL = Settings(
    windows=(2_000, 20_000, 200_000),
    results=(1, 10),
    size=Size(files=6, a_file=200_000, rate=1_000),
    state=Size(files=9, a_file=2_000, rate=1_000),
    compared={2_000: 2, 20_000: 3, 200_000: 6},
    evaluated=Size(files=4, a_file=600_000, rate=2_500),
    asked=20,
    repeats=3,
    budget=400,
)
QUICK = Settings(
    windows=(2_000, 10_000),
    results=(10,),
    size=Size(files=4, a_file=5_000, rate=1_000),
    state=Size(files=3, a_file=2_000, rate=1_000),
    compared={2_000: 2, 10_000: 4},
    evaluated=Size(files=4, a_file=20_000, rate=500),
    asked=3,
    repeats=1,
    budget=20,
    state_stores=("default",),
)


@dataclass(frozen=True)
class Case:
    """A window, and how many results a row has."""

    window: int
    results: int

    @property
    def keys(self) -> int:
        return self.window // self.results

    @property
    def label(self) -> str:
        return f"{self.window:,} rows, {_results(self.results)}"


class Joins:
    """One run of the benchmark, in one Spark session and one scratch directory."""

    def __init__(self, spark: SparkSession, settings: Settings, scratch: Path) -> None:
        self.spark = spark
        self.settings = settings
        self.scratch = scratch
        self.alone: list[dict[str, Any]] = []
        self.compared: list[dict[str, Any]] = []
        self.evaluations: list[dict[str, Any]] = []
        self.distinct: dict[str, Any] = {}

    def run(self) -> dict[str, Any]:
        """Measure everything; the report."""
        settings, facts = self.settings, machine(self.spark)
        if settings.size.rows < 2 * max(settings.windows):
            raise ValueError("the largest window is not full in the second half of the files")
        self._warm_up()
        for results in settings.results:
            for window in settings.windows:
                self._measure(Case(window, results))
            self._evaluate(results)
        self._measure_distinct()
        return {
            "machine": facts,
            "size": {**asdict(settings.size), "rows": settings.size.rows},
            "repeats": settings.repeats,
            "budget_seconds": settings.budget,
            "alone": self.alone,
            "compared": self.compared,
            "evaluations": self.evaluations,
            "distinct": self.distinct,
            "bars": [bar.row() for bar in self._bars()],
        }

    # measuring

    def _warm_up(self) -> None:
        """Unmeasured: the compilers of Java and Numba, with few rows."""
        with self._links(Size(files=2, a_file=2_000, rate=1_000), keys=1_000) as links:
            self._clean(partial(run_windrow, self.spark, links, 1))
            pass_through(links, 1)
            for store in self.settings.state_stores:
                self._clean(partial(run_spark, self.spark, links, 1, store=store, budget=60))

    def _measure(self, case: Case) -> None:
        """A window, by Windrow alone and beside Spark."""
        with self._links(self.settings.size, case.keys) as links, self._directory() as directory:
            self._measure_alone(links, case)
            self.compare(links.first(self.settings.compared[case.window], directory / "first"), case)

    def _measure_alone(self, links: Links, case: Case) -> None:
        runs = [self._windrow(links, case) for _ in range(self.settings.repeats)]
        seconds = links.size.seconds(case.window)
        passages = [pass_through(links, seconds) for _ in range(self.settings.repeats + 1)][1:]
        each = Timing(tuple(run.epochs.nanoseconds_each for run in runs))
        operator = Timing(tuple(passage.nanoseconds_each for passage in passages))
        state = self._state_bytes(case)
        self.alone.append(
            {
                **asdict(case),
                "answers": runs[0].answers.count,
                "seconds": [round(run.seconds, 3) for run in runs],
                "nanoseconds_each": round(each.median, 1),
                "nanoseconds_each_spread": round(each.spread, 3),
                "state_bytes_an_epoch": round(state),
                "touched_each": round(passages[0].touched_each, 4),
                "operator_nanoseconds_each": round(operator.median, 1),
            }
        )
        console.print(
            f"{case.label}: {each.median:,.0f} ns a row and result, the operator alone "
            f"{operator.median:,.0f} ns; {state:,.0f} bytes of state an epoch"
        )

    def _state_bytes(self, case: Case) -> float:
        """What an epoch of few rows writes of the state, once the window is full."""
        with self._links(replace(self.settings.state, first=case.window), case.keys) as links:
            return self._windrow(links, case).epochs.state_bytes

    def compare(self, links: Links, case: Case) -> None:
        """Windrow and Spark over the same files; raises WrongAnswer unless they agree."""
        runs = [self._windrow(links, case) for _ in range(self.settings.repeats)]
        ours = Joined(Timing(tuple(run.seconds for run in runs)).median, runs[0].answers)
        joined: dict[str, Joined | None] = {WINDROW: ours}
        budget = self.settings.budget
        window = links.size.seconds(case.window)
        for store in self.settings.state_stores:
            run = partial(run_spark, self.spark, links, window, store=store, budget=budget)
            theirs = joined[f"{SPARK}, {store}"] = self._clean(run)
            if theirs is not None:
                budget = min(budget, ceil(theirs.seconds))
                if theirs.answers != ours.answers:
                    raise WrongAnswer(f"{case.label}: {ours.answers}, and by {SPARK} {theirs.answers}")
        rows = 2 * links.size.rows
        for way, done in joined.items():
            found: dict[str, Any] = dict.fromkeys(("seconds", "rows_a_second", "answers", "checksum"))
            if done is not None:
                found["seconds"], found["rows_a_second"] = round(done.seconds, 3), round(rows / done.seconds)
                found["answers"], found["checksum"] = done.answers.count, done.answers.checksum
            self.compared.append({**asdict(case), "way": way, "rows": rows, **found})
        took = (f"{way} {f'{done.seconds:.2f} s' if done else 'stopped'}" for way, done in joined.items())
        console.print(f"{case.label}, {rows:,} rows: {', '.join(took)}")

    def _windrow(self, links: Links, case: Case) -> JoinedInEpochs:
        return self._clean(partial(run_windrow, self.spark, links, links.size.seconds(case.window)))

    def _evaluate(self, results: int) -> None:
        size = self.settings.evaluated
        window = size.rate * OVERLAP
        with self._links(size, window // results) as links:
            found = self._clean(partial(run_evaluations, self.spark, links, self.settings.asked))
        self.evaluations.append(
            {
                "window": window,
                "results": results,
                "pairs": found.pairs,
                WINDROW: round(found.windrow, 5),
                DUCKDB: round(found.duckdb.median, 5),
                "spread": round(found.duckdb.spread, 3),
                "compared": len(found.duckdb.seconds),
            }
        )
        console.print(
            f"overlap {OVERLAP}, {window:,} rows, {_results(results)}: {WINDROW} "
            f"{1e3 * found.windrow:.2f} ms an evaluation, {DUCKDB} {1e3 * found.duckdb.median:.2f} ms"
        )

    def _measure_distinct(self) -> None:
        window = max(self.settings.windows)
        held = self._clean(partial(run_distinct, self.spark, self.settings.size, window))
        self.distinct = {"window": window, **asdict(held)}
        console.print(f"DISTINCT in {window:,} rows: {held.entries:,} held, of {held.sources:,} sources")

    @contextmanager
    def _links(self, size: Size, keys: int) -> Iterator[Links]:
        with self._directory() as directory:
            yield make_links(size, directory, keys)

    def _clean(self, run: Callable[..., Found]) -> Found:
        """Run something with a scratch directory, and without the garbage of others."""
        self.spark.sparkContext._jvm.System.gc()  # type: ignore[union-attr]
        with self._directory() as directory:
            return run(scratch=directory)

    @contextmanager
    def _directory(self) -> Iterator[Path]:
        path = Path(tempfile.mkdtemp(dir=self.scratch))
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    # judging

    def _bars(self) -> Iterator[Bar]:
        settings = self.settings
        for case in (Case(window, results) for results in settings.results for window in settings.windows):
            ways = {m["way"]: m["seconds"] for m in self.compared if asdict(case).items() <= m.items()}
            finished = [ways[way] for way in ways if way != WINDROW and ways[way] is not None]
            gain = min(finished) / ways[WINDROW] if finished else None
            yield Bar(f"{SPARK} / {WINDROW}, {case.label}", gain, 5.0, at_most=False)
        for found in self.evaluations:
            name = f"{DUCKDB} / {WINDROW}, an evaluation at overlap {OVERLAP}, {_results(found['results'])}"
            yield Bar(name, found[DUCKDB] / found[WINDROW], 10.0, at_most=False)
        touched = max(m["touched_each"] for m in self.alone)
        yield Bar("rows touched for a row and result, at most", touched, 3.0, at_most=True)
        for results in settings.results:
            for name, column, bound in (
                ("time a row and result", "nanoseconds_each", 1.5),
                ("state an epoch writes", "state_bytes_an_epoch", 1.1),
            ):
                values = [m[column] for m in self.alone if m["results"] == results]
                label = f"{name}, most / least of all windows, {_results(results)}"
                yield Bar(label, max(values) / min(values), bound, at_most=True)
        gain = self.distinct["window"] / self.distinct["entries"]
        yield Bar(f"rows / held for DISTINCT, {self.distinct['window']:,} rows", gain, 10.0, at_most=False)


def _results(count: int) -> str:
    return f"{count} result{'' if count == 1 else 's'} a row"


def main() -> int:
    """Run the benchmark; 1 if a bar of a full run is not kept."""
    quick = is_quick((__doc__ or "").partition("\n")[0])
    spark = session()
    with tempfile.TemporaryDirectory(prefix="windrow-joins-") as scratch:
        report = Joins(spark, QUICK if quick else FULL, Path(scratch)).run()
    kept = publish("joins", report, draw, quick=quick)
    spark.stop()
    return 0 if kept or quick else 1


if __name__ == "__main__":
    sys.exit(main())

"""Does the time of a sliding window depend on how much its windows overlap?

SLIDE is 1 s, so the number of results is the same while RANGE grows from 1 s to an hour; one more window
has RANGE 300 s and SLIDE 10 s. Sum and max by key; `_ways.py` says who answers and how. The large size
is for Windrow and the floor; Spark's own window() cannot finish most of it, so everybody also runs a
comparable size. Floor and Windrow take turns, and so do the windows, because Java still compiles during
the first runs of a size; medians are compared. Spark's own runs are long enough to be run once. A native
run is stopped after its budget, and larger overlaps are then not attempted.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _harness import Bar, Timing, alternate, console, is_quick, machine, publish
from _overlap_figure import draw
from _session import session
from _ways import (
    PER_SECOND,
    STATE_STORES,
    Data,
    Outcome,
    Size,
    Window,
    check_count,
    compare,
    make_data,
    run_floor,
    run_native_batch,
    run_native_streaming,
    run_windrow,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FLOOR, WINDROW, BATCH, STREAMING = "floor", "Windrow", "native batch", "native streaming"
COMPARABLE, LARGE = "comparable", "large"


@dataclass(frozen=True)
class Settings:
    """What is run. Files hold 1 M rows in a full run: that is the size of a micro-batch."""

    sizes: Mapping[str, Size]
    windows: tuple[Window, ...]
    repeats: int
    budget: int
    """Seconds after which a native run is stopped."""
    state_stores: tuple[str, ...] = tuple(STATE_STORES)
    """What native streaming chooses from."""


FULL = Settings(
    {COMPARABLE: Size(keys=100, seconds=2_000, files=2), LARGE: Size(keys=1_000, seconds=2_000, files=20)},
    (*(Window(seconds, 1) for seconds in (1, 6, 30, 60, 300, 3_600)), Window(300, 10)),
    repeats=3,
    budget=130,
)
QUICK = Settings(
    {COMPARABLE: Size(keys=5, seconds=60, files=2), LARGE: Size(keys=100, seconds=60, files=2)},
    (Window(1, 1), Window(300, 1), Window(300, 10)),
    repeats=1,
    budget=10,
    state_stores=("default",),
)


class Overlap:
    """One run of the benchmark, in one Spark session and one scratch directory."""

    def __init__(self, spark: SparkSession, settings: Settings, scratch: Path) -> None:
        self.spark = spark
        self.settings = settings
        self.scratch = scratch
        self.measurements: list[dict[str, Any]] = []
        self.comparisons: list[dict[str, Any]] = []
        self._state_store = settings.state_stores[0]
        self._too_much: dict[str, int] = {}
        """By native way, the smallest overlap that it did not finish."""

    def run(self, *, warm_up: bool = True) -> dict[str, Any]:
        """Measure everything; the report."""
        facts = machine(self.spark)
        data = {
            name: make_data(self.spark, size, self.scratch / name)
            for name, size in self.settings.sizes.items()
        }
        if warm_up:
            self._warm_up(data)
        state_stores = self._choose_state_store(data[COMPARABLE])
        for name, files in data.items():
            self._measure(name, files)
        return {
            "machine": facts,
            "sizes": {
                name: {**asdict(size), "rows": size.rows, "rows_per_key_and_second": PER_SECOND}
                for name, size in self.settings.sizes.items()
            },
            "repeats": self.settings.repeats,
            "budget_seconds": self.settings.budget,
            "state_store": {"chosen": self._state_store, "seconds": state_stores},
            "measurements": self.measurements,
            "answers_compared": self.comparisons,
            "bars": [bar.row() for bar in self._bars()],
        }

    # measuring

    def _warm_up(self, data: Mapping[str, Data]) -> None:
        """Unmeasured: Spark's and Numba's compilers, the files' first reading."""
        for window in self.settings.windows:
            with self._directory() as directory:
                run_windrow(self.spark, data[COMPARABLE], window, directory)
        for run in (run_floor, run_windrow):
            with self._directory() as directory:
                run(self.spark, data[LARGE], self.settings.windows[0], directory)
        with self._directory() as directory:
            self._native(BATCH, data[COMPARABLE], self.settings.windows[0], directory)

    def _choose_state_store(self, data: Data) -> dict[str, float | None]:
        """Native streaming gets the state store that is faster for it, at overlap 30."""
        if len(self.settings.state_stores) == 1:
            return {}
        window = next(w for w in self.settings.windows if w.overlap == 30)
        seconds: dict[str, float | None] = {}
        for name in self.settings.state_stores:
            self._state_store = name
            for measured in (self.settings.windows[0], window):  # the first is to warm up
                with self._directory() as directory:
                    seconds[name] = self._native(STREAMING, data, measured, directory).seconds
        self._state_store = min(seconds, key=lambda name: seconds[name] or float("inf"))
        console.print(f"state stores, {window.label}: {_listed(seconds)}; native uses {self._state_store}")
        return {name: took and round(took, 3) for name, took in seconds.items()}

    def _measure(self, size: str, data: Data) -> None:
        windows = sorted(self.settings.windows, key=lambda w: (w.overlap, w.slide))
        runs = {
            (window, way): partial(self._timed, way, run, data, window)
            for window in windows
            for way, run in ((FLOOR, run_floor), (WINDROW, run_windrow))
        }
        timings = alternate(runs, self.settings.repeats)
        for window in windows:
            ours = {way: timings[window, way] for way in (FLOOR, WINDROW)}
            self._compare(size, data, window, ours)

    def _compare(self, size: str, data: Data, window: Window, timings: Mapping[str, Timing]) -> None:
        """Record how long floor and Windrow took, and let Spark's own ways answer the same."""
        for way, timing in timings.items():
            self._record(size, way, window, timing)
        finished: dict[str, float | None] = {way: timing.median for way, timing in timings.items()}
        with self._directory() as directory:
            ours = run_windrow(self.spark, data, window, directory).answers if size == COMPARABLE else None
            for way in (BATCH, STREAMING):
                finished[way] = self._measure_native(size, way, data, window, ours)
        console.print(f"{size}, {window.label}: {_listed(finished)}")

    def _timed(self, way: str, run: Callable[..., Outcome], data: Data, window: Window) -> float:
        self.spark.sparkContext._jvm.System.gc()  # type: ignore[union-attr]  # nobody pays for the last one
        with self._directory() as directory:
            outcome = run(self.spark, data, window, directory)
            check_count(way, outcome, data.size, window)
        assert outcome.seconds is not None
        return outcome.seconds

    def _measure_native(
        self, size: str, way: str, data: Data, window: Window, ours: DataFrame | None
    ) -> float | None:
        """Run once, within the budget; compare Windrow's answers with it, if there are any."""
        limit = self._too_much.get(way)
        if limit is not None and window.overlap >= limit:
            self._record(size, way, window, None, f"not attempted: overlap {limit:,} was not finished")
            return None
        with self._directory() as directory:
            outcome = self._native(way, data, window, directory)
            if outcome.seconds is None:
                self._too_much[way] = window.overlap
                self._record(
                    size, way, window, None, f"not finished within {self.settings.budget} s (stopped)"
                )
                return None
            check_count(way, outcome, data.size, window)
            self._record(size, way, window, Timing((outcome.seconds,)))
            if ours is not None and outcome.answers is not None:
                equal = compare(WINDROW, ours, outcome.answers, window)
                self.comparisons.append({**asdict(window), "with": way, **equal})
        return outcome.seconds

    def _native(self, way: str, data: Data, window: Window, directory: Path) -> Outcome:
        self.spark.sparkContext._jvm.System.gc()  # type: ignore[union-attr]
        if way == BATCH:
            return run_native_batch(self.spark, data, window, directory, self.settings.budget)
        return run_native_streaming(
            self.spark, data, window, directory, self.settings.budget, self._state_store
        )

    @contextmanager
    def _directory(self) -> Iterator[Path]:
        path = Path(tempfile.mkdtemp(dir=self.scratch))
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def _record(
        self, size: str, way: str, window: Window, timing: Timing | None, status: str = "finished"
    ) -> None:
        self.measurements.append(
            {
                "size": size,
                "way": way,
                **asdict(window),
                "overlap": window.overlap,
                "results": self.settings.sizes[size].results(window) if way != FLOOR else None,
                "status": status,
                "seconds": [round(s, 3) for s in timing.seconds] if timing else [],
                "median": round(timing.median, 3) if timing else None,
                "spread": round(timing.spread, 3) if timing else None,
            }
        )

    # judging

    def _bars(self) -> Iterator[Bar]:
        by_range = sorted((w for w in self.settings.windows if w.slide == 1), key=lambda w: w.range)
        for window in self.settings.windows:
            ratio = self._ratio((LARGE, WINDROW, window), (LARGE, FLOOR, window))
            yield Bar(f"Windrow / floor, {window.label}", ratio, 1.3, at_most=True)
        longest, shortest = by_range[-1], by_range[0]
        growth = self._ratio((LARGE, WINDROW, longest), (LARGE, WINDROW, shortest))
        yield Bar(
            f"Windrow at overlap {longest.overlap:,} / at overlap {shortest.overlap}",
            growth,
            1.3,
            at_most=True,
        )
        for way, overlap, bound in ((STREAMING, 30, 8.0), (BATCH, 300, 30.0)):
            for window in (w for w in self.settings.windows if w.overlap == overlap):
                size = LARGE if self._median(LARGE, way, window) is not None else COMPARABLE
                ratio = self._ratio((size, way, window), (size, WINDROW, window))
                rows = self.settings.sizes[size].rows
                yield Bar(f"{way} / Windrow, {window.label}, {rows:,} rows", ratio, bound, at_most=False)

    def _ratio(self, above: tuple[str, str, Window], below: tuple[str, str, Window]) -> float | None:
        numerator, denominator = self._median(*above), self._median(*below)
        return None if numerator is None or denominator is None else numerator / denominator

    def _median(self, size: str, way: str, window: Window) -> float | None:
        sought = (size, way, window.range, window.slide)
        found = (m for m in self.measurements if (m["size"], m["way"], m["range"], m["slide"]) == sought)
        return next(found)["median"]


def _listed(seconds: Mapping[str, float | None]) -> str:
    return ", ".join(f"{way} {'not finished' if s is None else f'{s:.2f} s'}" for way, s in seconds.items())


def main() -> int:
    """Run the benchmark; 1 if a bar of a full run is not kept."""
    quick = is_quick((__doc__ or "").partition("\n")[0])
    spark = session()
    with tempfile.TemporaryDirectory(prefix="windrow-overlap-") as scratch:
        report = Overlap(spark, QUICK if quick else FULL, Path(scratch)).run()
    kept = publish("overlap", report, draw, quick=quick)
    spark.stop()
    return 0 if kept or quick else 1


if __name__ == "__main__":
    sys.exit(main())

"""Measure what the four things that shared plans are priced by cost on this machine.

Made-up rows in Parquet, and a query of three aggregates by an integer key: its passes in Spark, its tree in
Python, its results to disk, by the same functions that an epoch calls. Each constant is a slope: the times
of two sizes that differ in that one thing, divided by the difference, so that what every job and every
file costs is not in it. The fastest of a few runs of a size counts, since other work on the machine only
adds. Takes some fifteen seconds on two cores, and 30 MB of disk meanwhile.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from windrow.cql import Query, parse
from windrow.logical import AggregateQuery, Stream, bind
from windrow.operators.aggregate.shared_aggregate import Groups, Member, SharedAggregate
from windrow.planner import Bounds, share_passes
from windrow.planner.sharing import CostModel
from windrow.runtime.home.results import ResultWriter
from windrow.runtime.spark.analysis import SparkAnalyst, arrow_schema
from windrow.runtime.spark.collect import collect
from windrow.runtime.spark.project import project
from windrow.slicing import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

STEP = 1_000
"""Microseconds from a row to the next."""
GROUPS = 100
ROWS_A_PARTIAL = 5
"""Where many partials are cut: with fewer rows in each, hardly anything would be aggregated."""
ROWS = (
    f"SELECT timestamp_micros(id * {STEP}) AS ts, cast(pmod(hash(id), {GROUPS}) AS int) AS k, "
    "cast(pmod(hash(id, 1), 1000) AS double) AS v FROM range(0, {}, 1, 2)"
)
STATEMENT = (
    "SELECT k, SUM(v) AS total, MAX(v) AS most, COUNT(*) AS n "
    "FROM readings [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY k"
)
FEW, MANY = 4, 20
"""Windows of the smaller and of the larger tree."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    rows: int
    """Of the larger input; the smaller one has a quarter."""
    slices: int
    """That windows are put together from."""
    repeats: int


FULL = Sizes(2_000_000, 400, 5)
QUICK = Sizes(200_000, 50, 2)


def measure_constants(spark: SparkSession, sizes: Sizes = FULL) -> dict[str, float]:
    """Seconds for one of each, by its name in `Constants`; without what got lost in noise."""
    with tempfile.TemporaryDirectory(prefix="windrow-") as directory:
        bench = _Bench(spark, Path(directory), sizes)
        found = bench.rows_and_partials() | bench.operations_and_results()
    return {name: seconds for name, seconds in found.items() if seconds > 0}


class _Bench:
    """One measurement, in one scratch directory."""

    def __init__(self, spark: SparkSession, directory: Path, sizes: Sizes) -> None:
        self._spark = spark
        self._directory = directory
        self._sizes = sizes
        self._span = sizes.rows * STEP
        self._all = self._written("all", sizes.rows)
        columns = dict(zip(self._all.columns, arrow_schema(self._all.schema).types, strict=True))
        (statement,) = parse(STATEMENT)
        assert isinstance(statement, Query)
        bound = bind(statement, {"readings": Stream("readings", columns, "ts")}, SparkAnalyst(spark))
        assert isinstance(bound, AggregateQuery), "its statement has a window"
        self._plan = bound

    def rows_and_partials(self) -> dict[str, float]:
        """More rows into as many partials; as many rows into more partials."""
        rows, fewer = self._sizes.rows, self._sizes.rows // 4
        part = self._written("part", fewer)
        coarse, fine = (Window(slide, slide) for slide in (self._span, GROUPS * ROWS_A_PARTIAL * STEP))
        partials = [len(self._collected(window, self._all)) for window in (coarse, fine)]
        (of_part,), (of_all,), (cut_finely,) = self._fastest(
            lambda: self._taken_in(coarse, part),
            lambda: self._taken_in(coarse, self._all),
            lambda: self._taken_in(fine, self._all),
        )
        return {
            "row": (of_all - of_part) / (rows - fewer),
            "partial": (cut_finely - of_all) / (partials[1] - partials[0]),
        }

    def operations_and_results(self) -> dict[str, float]:
        """More windows over the same slices."""
        slide = self._span // self._sizes.slices
        windows = [Window((1 + 7 * place) * slide, slide) for place in range(MANY)]
        trees = windows[:FEW], windows
        partials = self._collected(windows[0], self._all)
        seconds, model = self._span / 1e6, CostModel(rate=0, groups=GROUPS)
        operations = [model.tree(tree).operations * model.groups * seconds for tree in trees]
        results = [sum(map(len, self._answers(tree, partials))) for tree in trees]
        home, epochs = self._directory / "home", count()
        few, many = self._fastest(
            lambda: self._finished(trees[0], partials, ResultWriter(home, next(epochs))),
            lambda: self._finished(trees[1], partials, ResultWriter(home, next(epochs))),
        )
        return {
            "operation": (many[0] - few[0]) / (operations[1] - operations[0]),
            "result": (many[1] - few[1]) / (results[1] - results[0]),
        }

    def _fastest(self, *works: Callable[[], tuple[float, ...]]) -> list[tuple[float, ...]]:
        """What each takes, part by part. They take turns, so that a busy moment is not one size's alone."""
        rounds = [[work() for work in works] for _ in range(self._sizes.repeats)]
        return [tuple(map(min, zip(*runs, strict=True))) for runs in zip(*rounds, strict=True)]

    # what is timed

    def _taken_in(self, window: Window, frame: DataFrame) -> tuple[float]:
        """A pass over rows, and its partials merged into slices."""
        tree = self._tree([window])
        begun = perf_counter()
        tree.push([self._collected(window, frame)])
        return (perf_counter() - begun,)

    def _finished(
        self, windows: Sequence[Window], partials: pa.Table, writer: ResultWriter
    ) -> tuple[float, float]:
        """All windows of a tree answered, and the answers written."""
        begun = perf_counter()
        answers = self._answers(windows, partials)  # with the partials pushed, the same for all trees
        answering = perf_counter() - begun
        for table in answers:
            writer.write("readings", project(self._spark, self._plan, table))
        writer.close()
        return answering, writer.seconds

    # what it is made of

    def _written(self, name: str, rows: int) -> DataFrame:
        path = str(self._directory / name)
        self._spark.sql(ROWS.format(rows)).write.parquet(path)
        return self._spark.read.parquet(path)

    def _collected(self, window: Window, frame: DataFrame) -> pa.Table:
        (shared,) = share_passes({"readings": replace(self._plan, window=window)})
        return collect(shared, frame, Bounds(), {})[0]

    def _tree(self, windows: Sequence[Window]) -> SharedAggregate:
        plan = self._plan
        members = [Member(number, window, plan.aggregates) for number, window in enumerate(windows)]
        return SharedAggregate(Groups(plan.keys, plan.key_types, plan.stream.time_type), members)

    def _answers(self, windows: Sequence[Window], partials: pa.Table) -> list[pa.Table]:
        tree = self._tree(windows)
        tree.push([partials])
        return [table for _, table in tree.advance(self._span)]

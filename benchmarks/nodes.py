"""What is gained where Spark tasks hold the windows, and do their nodes have to do what the plan says?

1. Grouped queries whose final work grows: an epoch with all trees in the driver, and with as many nodes as
   there are cores, in the same run; and what Windrow chooses by itself. Without forcing files to disk. The
   three ways take turns, since the machine becomes faster and slower within minutes.
2. Each of the thirteen placements, executed: what it says that its nodes have to do, against the seconds
   that they take. As in Shein 2019, ch. 7, the largest readings of both are equated, and the deviation is
   the average of the others'.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _harness import Bar, console, is_quick, machine, publish
from _nodes_figure import draw
from _session import session

from windrow import Engine
from windrow.cli.run import PLACEMENTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from windrow.api.engine import EpochReport

SECOND = 1_000_000
BATCH_SECONDS = 600
FIRST = 1_700_000_000 * SECOND


@dataclass(frozen=True)
class Settings:
    """What is run."""

    rows: int
    """Of a batch."""
    batches: int
    groups: int
    queries: Sequence[int]
    """How many, in the first part."""
    placed: int
    """How many, in the second."""
    turns: int = 1
    """How often each way is run, in the first part."""


FULL = Settings(200_000, 8, 100, (100, 300, 1_000, 3_000), 1_000, turns=3)
QUICK = Settings(20_000, 3, 20, (20, 60), 20)


class Nodes:
    """One run of the benchmark."""

    def __init__(self, spark: SparkSession, settings: Settings, scratch: Path) -> None:
        self.spark = spark
        self.settings = settings
        self.scratch = scratch
        self.cores = spark.sparkContext.defaultParallelism
        self._homes = 0

    def run(self) -> dict[str, Any]:
        """Measure; the report."""
        facts = machine(self.spark)
        self._data()
        self._epochs(self._statements(4), nodes=self.cores)  # the processes of the tasks start
        spread = [self._compare(queries) for queries in self.settings.queries]
        placed = [self._placed(name) for name in PLACEMENTS]
        report: dict[str, Any] = {"machine": facts, "nodes": self.cores, "spread": spread, "placed": placed}
        report["deviation"] = {
            measure: round(100 * deviation([row[measure] for row in placed]), 1)
            for measure in ("total", "maximum")
        }
        report["bars"] = [bar.row() for bar in _bars(report)]
        return report

    def _data(self) -> None:
        rng = np.random.default_rng(7)
        rows, folder = self.settings.rows, self.scratch / "in"
        folder.mkdir()
        for batch in range(self.settings.batches):
            begin = FIRST + batch * BATCH_SECONDS * SECOND
            instants = np.sort(rng.integers(begin, begin + BATCH_SECONDS * SECOND, rows))
            table = pa.table(
                {
                    "ts": pa.array(instants).cast(pa.timestamp("us", tz="UTC")),
                    "k": rng.integers(0, self.settings.groups, rows),
                    "v": rng.random(rows),
                }
            )
            path = folder / f"{batch:03d}.parquet"
            pq.write_table(table, path)
            # Spark takes files in order of modification time, and two small ones have the same.
            os.utime(path, ((begin + BATCH_SECONDS * SECOND) // SECOND,) * 2)

    def _statements(self, count: int) -> str:
        """Queries with slides of 10 s to 2 min, mostly short ones, and ranges up to half an hour."""
        rng = np.random.default_rng(count)
        slides = 10 * (1 + (rng.zipf(1.3, count) - 1) % 12)
        ranges = 10 * rng.integers(1, 180, count)
        return ";\n".join(
            f"CREATE QUERY q{number} AS SELECT k, SUM(v) AS total, MAX(v) AS most, COUNT(*) AS n "
            f"FROM events [RANGE {range_} SECONDS SLIDE {slide} SECONDS] GROUP BY k"
            for number, (range_, slide) in enumerate(zip(ranges.tolist(), slides.tolist(), strict=True))
        )

    def _epochs(
        self, statements: str, nodes: int | None, optimizer: str | None = None
    ) -> tuple[list[EpochReport], Engine]:
        """The epochs of a run whose windows are full: the first five are left out, if there are more."""
        self._homes += 1
        engine = Engine(
            self.scratch / f"home-{self._homes}", spark=self.spark, nodes=nodes, optimizer=optimizer
        )
        source = str(self.scratch / "in")
        engine.stream("events", source, timestamp="ts", options={"maxFilesPerTrigger": "1"})
        engine.execute(statements)
        reports: list[EpochReport] = []
        engine.on_epoch = partial(self._note, reports)
        engine.run(seal=False)
        return (reports[5:] or reports[-1:]), engine

    def _note(self, reports: list[EpochReport], report: EpochReport) -> None:
        """A method, so that trees that are compared can take turns after each epoch."""
        reports.append(report)

    def _forget(self, engine: Engine) -> None:
        """Before the disk has to write down what nobody will read."""
        engine.close()
        shutil.rmtree(self.scratch / f"home-{self._homes}")

    def _compare(self, queries: int) -> dict[str, Any]:
        statements = self._statements(queries)
        row: dict[str, Any] = {"queries": queries}
        ways = {"driver": 1, "tasks": self.cores, "planned": None}
        taken: dict[str, list[EpochReport]] = {way: [] for way in ways}
        for _ in range(self.settings.turns):
            for way, nodes in ways.items():
                last, engine = self._epochs(statements, nodes)
                taken[way] += last
                row[way] = {
                    "seconds": _median(taken[way]),
                    "answers": sum(last[-1].answers.values()),
                    "nodes": [round(seconds, 3) for seconds in last[-1].node_seconds.values()],
                    "trees": len(engine.explain().streams[0].trees),
                }
                self._forget(engine)
        row["gain"] = round(row["driver"]["seconds"] / row["tasks"]["seconds"], 2)
        console.print(f"{queries} queries: {row}")
        return row

    def _placed(self, name: str) -> dict[str, Any]:
        """What a placement says of its nodes, a batch, and what they took."""
        reports, engine = self._epochs(self._statements(self.settings.placed), self.cores, name)
        (stream,) = engine.explain().streams
        estimated = [0.0] * self.cores
        for tree in stream.trees:
            if tree.node is not None:
                estimated[tree.node] += tree.final * BATCH_SECONDS
        executed = [
            statistics.median(report.node_seconds.get(node, 0.0) for report in reports)
            for node in range(self.cores)
        ]
        self._forget(engine)
        row = {
            "placement": name,
            "trees": len(stream.trees),
            "total": [round(sum(estimated), 4), round(sum(executed), 4)],
            "maximum": [round(max(estimated), 4), round(max(executed), 4)],
        }
        console.print(f"{row}")
        return row


def _median(reports: Sequence[EpochReport]) -> float:
    """Seconds of an epoch, without the commit: how long files take to reach it is up to the disk."""
    return round(statistics.median(report.seconds - report.commit_seconds for report in reports), 3)


def deviation(pairs: Sequence[Sequence[float]]) -> float:
    """How far estimates are from what was executed, on average, when the largest of both agree.

    >>> deviation([(1.0, 2.0), (2.0, 4.0), (1.5, 2.0)])
    0.25
    """
    estimated, executed = (np.array(column, np.float64) for column in zip(*pairs, strict=True))
    estimated, executed = estimated / estimated.max(), executed / executed.max()
    off = np.abs(estimated - executed) / np.maximum(executed, 1e-12)
    others = np.ones(len(off), bool)
    others[executed.argmax()] = False
    return float(off[others].mean()) if others.any() else 0.0


def _bars(report: Mapping[str, Any]) -> Iterator[Bar]:
    most = report["spread"][-1]
    name = f"{most['queries']} grouped queries: an epoch in the driver / in {report['nodes']} tasks"
    yield Bar(name, most["gain"], 1.2, at_most=False)
    least = report["spread"][0]
    chosen = max(row["planned"]["seconds"] / min(row[way]["seconds"] for way in ("driver", "tasks"))
                 for row in (least, most))  # fmt: skip
    yield Bar("what Windrow chooses / the better of the two, at either end", chosen, 1.25, at_most=True)
    for measure, paper in (("total", 31), ("maximum", 31)):
        off = report["deviation"][measure]
        yield Bar(f"{measure} cost: estimated against executed [%] (paper: 14 to {paper})", off, paper, True)


def main() -> int:
    """Run the benchmark; 1 if a bar of a full run is not kept."""
    quick = is_quick((__doc__ or "").partition("\n")[0])
    with tempfile.TemporaryDirectory() as scratch:
        report = Nodes(session(), QUICK if quick else FULL, Path(scratch)).run()
    kept = publish("nodes", report, draw, quick=quick)
    return 0 if kept or quick else 1


if __name__ == "__main__":
    sys.exit(main())

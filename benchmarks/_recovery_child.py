"""The processes of `recovery`: each is started afresh, does one thing, and writes down when it did what.

    python _recovery_child.py TASK ARGUMENTS OUTCOME

ARGUMENTS is JSON; OUTCOME is the file to write JSON to. Instants are seconds since the parent
started the process, so that the interpreter and all imports count.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession


def _session(*, archived: bool = True, meanwhile: Callable[[], object] | None = None) -> SparkSession:
    # No more of Windrow is imported than this: Spark's own start must not pay for the rest.
    from windrow.runtime.spark.session import local_session, start

    return local_session("windrow-recovery", meanwhile) if archived else start("windrow-recovery")


def plain(since: float, source: str, checkpoint: str, aggregate: bool, archived: bool) -> dict[str, Any]:
    """Spark's own start, to the end of the first batch: counted, or aggregated as Windrow's pass does it.

    The second is no state and no answers, only what a Spark that has just started takes to compile and
    run its first GROUP BY; the difference to it is Windrow's own. `archived`: from the classes that
    Windrow's sessions start from.
    """
    spark = _session(archived=archived)
    session = time.time() - since
    ends: list[float] = []

    def process(batch: DataFrame, _: int) -> None:
        if aggregate:
            batch.createOrReplaceTempView("batch")
            second = "unix_micros(ts) div 1000000"
            sql = f"SELECT {second}, k, sum(v), max(v), max(ts), count(*) FROM batch GROUP BY 1, 2"
            batch.sparkSession.sql(sql).toArrow()
        else:
            batch.count()
        ends.append(time.time() - since)

    schema = "ts TIMESTAMP, k INT, v DOUBLE"
    rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", "1").parquet(source)
    writer = rows.writeStream.foreachBatch(process).option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()
    return {"session": session, "first": ends[0], "batches": len(ends)}


def windrow(since: float, home: str) -> dict[str, Any]:
    """An engine on a home that is there, to the first answers committed, and the epochs after that."""
    spark = _session(meanwhile=lambda: import_module("windrow.api.engine"))
    session = time.time() - since
    from windrow import Engine
    from windrow.runtime import faults

    steps: dict[str, float] = {"imported": time.time() - since}
    ends: list[float] = []
    reports: list[Any] = []

    def note(step: str) -> None:
        if not step.startswith("compact"):
            steps.setdefault(step, time.time() - since)

    def on_epoch(report: Any) -> None:
        ends.append(time.time() - since)
        reports.append(report)

    faults.on_step = note
    with Engine(home, spark) as engine:
        steps["home open"] = time.time() - since
        engine.on_epoch = on_epoch
        engine.run(seal=False)
    return {
        "session": session,
        "first": ends[0],
        "steps": steps,
        "first_epoch": reports[0].seconds,
        "answers": [sum(report.answers.values()) for report in reports],
        "steady": [later - earlier for earlier, later in pairwise(ends)],
        "steady_epochs": [report.seconds for report in reports[1:]],
    }


def prepare(since: float, histories: list[list[int]], directory: str) -> dict[str, Any]:
    """Make the homes; what each is like, by name."""
    from _harness import machine
    from _recovery_homes import History, Window, make_home

    spark = _session()
    homes: dict[str, Any] = {}
    for window_range, slide, epochs, keys in histories:
        begun = time.time()
        history = History(Window(window_range, slide), epochs, keys)
        homes[history.name] = make_home(spark, history, Path(directory) / history.name)
        homes[history.name]["seconds_to_make"] = round(time.time() - begun, 1)
    return {"machine": machine(spark), "homes": homes}


def commit(since: float, cases: dict[str, list[Any]]) -> dict[str, Any]:
    """Run an engine with a new home over each directory; every epoch's steps, the first ones left out."""
    from _recovery_homes import QUERY, SCHEMA, STREAM, Window

    from windrow import Engine

    spark = _session()
    window = Window(300, 1).sql("SUM(v) AS total, MAX(v) AS highest, AVG(v) AS mean, COUNT(v) AS readings")
    outcome: dict[str, Any] = {}
    for name, (source, home, warm_up) in cases.items():
        watch = EpochWatch()
        with watch.watching(), Engine(home, spark) as engine:
            engine.stream(STREAM, source, timestamp="ts", schema=SCHEMA, options={"maxFilesPerTrigger": "1"})
            engine.query(QUERY, window)
            engine.on_epoch = watch.end
            engine.run(seal=False)
        outcome[name] = watch.epochs[warm_up:]
    return outcome


class EpochWatch:
    """Where the seconds of each epoch go, by the steps of the commit protocol."""

    def __init__(self) -> None:
        self.epochs: list[dict[str, float]] = []
        self._steps: dict[str, float] = {}
        self._writing = 0.0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Note the steps, and how long answers are written before the commit begins."""
        from windrow.runtime import faults
        from windrow.runtime.home.results import ResultWriter

        write = ResultWriter.write

        def timed(writer: ResultWriter, *arguments: Any) -> None:
            begun = time.perf_counter()
            write(writer, *arguments)
            self._writing += time.perf_counter() - begun

        faults.on_step = self.step
        ResultWriter.write = timed  # type: ignore[method-assign,assignment]
        try:
            yield
        finally:
            faults.on_step = None
            ResultWriter.write = write  # type: ignore[method-assign]

    def step(self, name: str) -> None:
        self._steps[name] = time.perf_counter()

    def end(self, report: Any) -> None:
        """An epoch is over."""
        at, write = self._steps, self._writing
        self._steps, self._writing = {}, 0.0
        self.epochs.append(
            {
                "rows": report.rows,
                "answers": sum(report.answers.values()),
                "seconds": report.seconds,
                "commit_seconds": report.commit_seconds,
                **durations(at, write, report.seconds),
            }
        )


def durations(at: dict[str, float], writing: float, seconds: float) -> dict[str, float]:
    """The parts of an epoch from the instants of its steps; the Spark pass is what came before them.

    >>> steps = ["batch staged", "queries answered", "files written", "files forced to disk"]
    >>> steps += ["transaction open", "epoch committed", "old files removed"]
    >>> found = durations(dict(zip(steps, [5, 7, 8, 10, 11, 13, 14])), writing=0.5, seconds=20)
    >>> found["answering"], found["writing answers"], found["fsync"], found["Spark pass"]
    (1.5, 0.5, 2, 11)
    """

    def between(earlier: str, later: str) -> float:
        return at[later] - at[earlier]

    return {
        "Spark pass": seconds - between("batch staged", "old files removed"),
        "answering": between("batch staged", "queries answered") - writing,
        "writing answers": writing,
        "writing slices": between("queries answered", "files written"),
        "fsync": between("files written", "files forced to disk"),
        "transaction": between("files forced to disk", "epoch committed"),
        "removing": between("epoch committed", "old files removed"),
    }


TASKS = {"plain": plain, "windrow": windrow, "prepare": prepare, "commit": commit}


def main() -> None:
    """Do one task."""
    task, arguments, outcome = sys.argv[1:]
    found = TASKS[task](**json.loads(arguments))  # type: ignore[operator]
    Path(outcome).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()

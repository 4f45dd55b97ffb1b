"""The processes of `start`: each is started afresh, does one thing, and writes down when it did what.

    python _start_child.py TASK ARGUMENTS OUTCOME

ARGUMENTS is JSON; OUTCOME is the file to write JSON to. Instants are seconds since the parent started
the process, so that the interpreter and all imports count. Only what Windrow and Spark promise to everybody
is called here, so that it runs on any Windrow.
"""

from __future__ import annotations

import json
import os
import sys
import time
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

STREAM = "readings"
SCHEMA = "ts TIMESTAMP, site INT, kind INT, v INT"
GROUPINGS = ("", "site", "kind", "site, kind")
PREDICATES = ("", "v >= 250", "v >= 500")
AGGREGATES = ("SUM(v)", "MAX(v)", "COUNT(*)", "AVG(v)")
SECOND = 1_000_000
FIRST = 1_700_000_000 * SECOND
FILE_SECONDS = 1_200
"""Of event time. Longer than every SLIDE: each query answers in each file."""


# what is measured


class Instants(dict[str, float]):
    """When what was done, each for the first time."""

    def __init__(self, since: float) -> None:
        super().__init__()
        self._since = since

    def note(self, what: str) -> None:
        self.setdefault(what, time.time() - self._since)

    def around(self, owner: type, method: str, before: str | None, after: str | None) -> None:
        """Note when a method is called, and when it returns."""
        called: Callable[..., Any] = getattr(owner, method)

        @wraps(called)
        def noted(*arguments: Any, **options: Any) -> Any:
            if before is not None:
                self.note(before)
            outcome = called(*arguments, **options)
            if after is not None:
                self.note(after)
            return outcome

        setattr(owner, method, noted)

    def of_spark(self) -> None:
        """Note when a session is asked for and there, and when a stream is about to be read."""
        from pyspark.sql import SparkSession
        from pyspark.sql.streaming import DataStreamWriter

        self.around(SparkSession.Builder, "getOrCreate", "session asked for", "session")
        self.around(DataStreamWriter, "start", "reading", None)


def windrow(since: float, home: str, source: str) -> dict[str, Any]:
    """Open an engine on a home that is there, and run it over what is new."""
    from windrow import Engine

    instants = Instants(since)
    instants.note("imported")
    instants.of_spark()
    answers: list[dict[str, int]] = []
    with Engine(home) as engine:
        engine.on_epoch = lambda report: answers.append(report.answers)
        engine.run(seal=False)
    instants.note("read")
    return {
        "instants": instants,
        "epochs": len(answers),
        "answered": len({query for epoch in answers for query, rows in epoch.items() if rows}),
    }


def plain(since: float, source: str, checkpoint: str) -> dict[str, Any]:
    """Spark as it comes, without Windrow: a session, and a streaming query over what is new."""
    from pyspark.sql import SparkSession

    instants = Instants(since)
    instants.note("imported")
    instants.of_spark()
    cores = os.cpu_count() or 1
    spark = (
        SparkSession.builder.master(f"local[{cores}]")
        .config("spark.sql.shuffle.partitions", cores)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    batches: list[int] = []

    def process(batch: DataFrame, number: int) -> None:
        batch.count()
        batches.append(number)

    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1").parquet(source)
    writer = rows.writeStream.foreachBatch(process).option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()
    instants.note("read")
    return {"instants": instants, "epochs": len(batches)}


# what it is measured on


def prepare(since: float, counts: list[int], files: int, rows: int, directory: str) -> dict[str, Any]:
    """Make the files, and a home of each size that has processed them; what each is like."""
    from _harness import machine

    from windrow import Engine

    source = Path(directory) / "input"
    for number in range(files):
        write_file(source, number, rows)
    homes: dict[str, Any] = {}
    for count in counts:
        begun = time.perf_counter()
        home = Path(directory) / f"home-{count}"
        reports: list[Any] = []
        with Engine(home) as engine:
            facts = machine(engine.spark)
            engine.stream(STREAM, source, "ts", schema=SCHEMA, options={"maxFilesPerTrigger": "1"})
            engine.execute("\n".join(statements(count)))
            engine.on_epoch = reports.append
            engine.run(seal=False)
        homes[str(count)] = {
            "answers": sum(sum(report.answers.values()) for report in reports),
            "home_bytes": sum(path.stat().st_size for path in home.rglob("*") if path.is_file()),
            "seconds_to_make": round(time.perf_counter() - begun, 1),
        }
    return {"machine": facts, "homes": homes}


def statements(count: int) -> list[str]:
    """So many queries: windows as in `many_queries`, in each combination of grouping and predicate."""
    from _estimates import SKEWED

    made = []
    for number, window in enumerate(SKEWED.windows(count)):
        keys = GROUPINGS[number % len(GROUPINGS)]
        condition = PREDICATES[number // len(GROUPINGS) % len(PREDICATES)]
        aggregate = AGGREGATES[number // (len(GROUPINGS) * len(PREDICATES)) % len(AGGREGATES)]
        made.append(
            f"CREATE QUERY q{number} AS SELECT {f'{keys}, ' if keys else ''}{aggregate} AS a FROM {STREAM} "
            f"[RANGE {window.range // SECOND} SECONDS SLIDE {window.slide // SECOND} SECONDS]"
            f"{f' WHERE {condition}' if condition else ''}{f' GROUP BY {keys}' if keys else ''};"
        )
    return made


def write_file(directory: Path, number: int, rows: int) -> None:
    """One of the files that the stream reads."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(number)
    span = FILE_SECONDS * SECOND
    instants = FIRST + number * span + np.arange(rows) * (span // rows)
    table = pa.table(
        {
            "ts": pa.array(instants, pa.timestamp("us", tz="UTC")),
            "site": random.integers(0, 5, rows).astype(np.int32),
            "kind": random.integers(0, 3, rows).astype(np.int32),
            "v": random.integers(0, 1_000, rows).astype(np.int32),
        }
    )
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{number:03d}.parquet"
    pq.write_table(table, path)
    os.utime(path, (FIRST // SECOND + 10 * number,) * 2)  # Spark takes files in order of modification time


TASKS = {"windrow": windrow, "plain": plain, "prepare": prepare}


def main() -> None:
    """Do one task."""
    task, arguments, outcome = sys.argv[1:]
    found = TASKS[task](**json.loads(arguments))  # type: ignore[operator]
    Path(outcome).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()

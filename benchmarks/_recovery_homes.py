"""What `recovery` starts from: files of rows, homes with a history, and checkpoints that have seen files.

A home is made by a real engine, whose first epoch reads a real file. What follows are epochs of the
engine too, with all that belongs to them (answers, slices, files, transactions, compaction beside them),
only that Spark is not asked for their partials: they are those of the first file, moved on in time. That
makes ten thousand epochs a matter of a minute or two. Nothing is forced to disk while a home ages; its
files are the same.

Spark's checkpoint is moved on by hand, in Spark's own format: its batch numbers go with the epochs, and
its log of files seen has as many entries as wanted. So the age of the home and the length of Spark's log
are two things that can be looked at apart.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM, QUERY = "readings", "totals"
SCHEMA = "ts TIMESTAMP, k INT, v DOUBLE"
PER_SECOND = 10
"""Rows a key and second."""
RESTART = 1_704_067_200
"""The second at which the history of every home ends and the new files begin; a multiple of every SLIDE."""
SECOND = 1_000_000
ROW_GROUP = 1 << 17
"""Several row groups a file, so that all cores can work on a batch of one file."""


@dataclass(frozen=True)
class Window:
    """A sliding window, in seconds."""

    range: int
    slide: int

    @property
    def slices(self) -> int:
        """How many slices the state holds for every key."""
        return self.range // self.slide

    @property
    def label(self) -> str:
        for unit, seconds in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
            if self.range % seconds == 0:
                return f"RANGE {self.range // seconds} {unit} SLIDE {self.slide} s"
        return f"RANGE {self.range} s SLIDE {self.slide} s"

    def sql(self, aggregates: str) -> str:
        """The query."""
        window = f"[RANGE {self.range} SECONDS SLIDE {self.slide} SECONDS]"
        return f"SELECT k, {aggregates} FROM {STREAM} {window} GROUP BY k"


@dataclass(frozen=True)
class History:
    """A home to be made: its window, and how many epochs it has seen. It ends at RESTART, state filled."""

    window: Window
    epochs: int
    keys: int

    @property
    def name(self) -> str:
        return f"{self.window.range}-{self.window.slide}-{self.epochs}"

    @property
    def label(self) -> str:
        return f"{self.window.label}, {self.epochs:,} epochs"

    @property
    def slices_an_epoch(self) -> int:
        """So many that the window is full in the end, however few epochs there are."""
        return -(-self.window.slices // (self.epochs - 1))

    @property
    def begin(self) -> int:
        """The second of its first row. The first epoch has one slice."""
        return RESTART - self.window.slide * (1 + (self.epochs - 1) * self.slices_an_epoch)


def write_rows(path: Path, *, begin: int, seconds: int, keys: int, order: int) -> None:
    """A file of rows from second `begin` on; `order` is its place among the files that Spark finds."""
    rows = np.arange(keys * PER_SECOND * seconds)
    instants = begin * SECOND + rows // keys * (SECOND // PER_SECOND)
    table = pa.table(
        {
            "ts": pa.array(instants, pa.timestamp("us", tz="UTC")),
            "k": pa.array((rows % keys).astype(np.int32)),
            "v": pa.array(np.random.default_rng(order).random(len(rows))),
        }
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=ROW_GROUP)
    os.utime(path, (RESTART + 10 * order,) * 2)  # Spark takes files in order of modification time


def write_batches(directory: Path, count: int, *, seconds: int, keys: int) -> list[Path]:
    """The files that come after the restart, one a batch."""
    paths = [directory / f"{number:05d}.parquet" for number in range(1, count + 1)]
    for number, path in enumerate(paths):
        write_rows(path, begin=RESTART + number * seconds, seconds=seconds, keys=keys, order=number + 1)
    return paths


def make_home(spark: SparkSession, history: History, directory: Path) -> dict[str, Any]:
    """Make `directory`/home, which reads `directory`/input; what it is like in the end.

    `directory`/checkpoint is Spark's, as it was after the first batch.
    """
    from windrow import Engine

    source = directory / "input"
    first = source / "00000.parquet"
    write_rows(first, begin=history.begin, seconds=history.window.slide, keys=history.keys, order=0)
    with Engine(directory / "home", spark) as engine:
        engine.stream(STREAM, source, timestamp="ts", schema=SCHEMA, options={"maxFilesPerTrigger": "1"})
        engine.query(QUERY, history.window.sql("SUM(v) AS total, MAX(v) AS highest"))
        engine.run(seal=False)
        _age(engine, history, spark.read.schema(SCHEMA).parquet(str(first)))
        files = engine._home.check()
        catalog = engine._home.catalog
        stored = catalog.query(QUERY)
        assert stored is not None
        assert catalog.last_epoch() == history.epochs - 1
        slices = catalog.files("slices")
        facts = {
            "entries": stored.entries,
            "state_bytes": stored.state_bytes,
            "answers": stored.answers,
            "files": files,
            "slice_files": len(slices),
            "slice_bytes": sum(file.bytes or 0 for file in slices),
        }
    checkpoint = directory / "home" / "streams" / STREAM
    shutil.copytree(checkpoint, directory / "checkpoint")
    move_checkpoint_on(checkpoint, history.epochs)
    return facts | {"home_bytes": _size(directory / "home")}


def _age(engine: Any, history: History, first: Any) -> None:
    """Commit the epochs that follow the first one."""
    from windrow.planner import Bounds, Tally, share_passes
    from windrow.planner.plan import Port
    from windrow.runtime.spark.collect import collect

    running = engine._running
    staging, queries = running.streams.staging(STREAM), running.streams.queries_of(STREAM)
    (shared,) = share_passes({query.stored.name: query.plan for query in queries})
    a_slice, _ = collect(shared, first, Bounds(), {})
    slide = history.window.slide * SECOND
    span = history.slices_an_epoch * slide
    rows = history.keys * PER_SECOND * span // SECOND
    forced = os.fsync
    os.fsync = lambda fd: None
    engine._home.catalog._database.execute("PRAGMA synchronous = OFF")
    try:
        with running._holding_home():
            for epoch in range(1, history.epochs):
                begin = history.begin * SECOND + slide + (epoch - 1) * span
                partials = moved(a_slice, begin, slide, history.slices_an_epoch)
                latest = begin + span - SECOND // PER_SECOND
                progress = replace(
                    staging.progress,
                    batch=epoch,
                    latest=latest,
                    watermark=latest,
                    rows=staging.progress.rows + rows,
                    offsets=None,  # Spark's record is made afterwards
                )
                part = staging._planned(queries)
                (operator,) = part.operators
                part = replace(
                    part,
                    progress=progress,
                    clock=progress.clock,
                    batch=epoch,
                    tally=Tally(latest, rows, 0, 0),
                    tables={Port(operator, 0): [partials]},
                )
                running._commit([part])
        # Between the epochs of a stream there is time; here compaction may have fallen behind.
        with engine._home.running():
            running._compactor._stopping = False
            running._compactor.compact()
    finally:
        os.fsync = forced
        engine._home.catalog._database.execute("PRAGMA synchronous = FULL")
    os.sync()


def moved(a_slice: pa.Table, begin: int, slide: int, count: int) -> pa.Table:
    """`count` slices from `begin` on, each with the partials of the one that is given."""
    starts = np.repeat(begin + slide * np.arange(count), len(a_slice))
    table = pa.concat_tables([a_slice] * count).combine_chunks()
    place = table.schema.get_field_index("_slice")
    return table.set_column(place, "_slice", pa.array(starts, table.schema.field(place).type))


# Spark's checkpoint


def move_checkpoint_on(checkpoint: Path, batches: int, files: int = 1) -> None:
    """Let a checkpoint of one batch and file have seen `batches` batches and `files` files.

    Spark looks at its last two batches when it starts. Its log of files is written anew every tenth time,
    as one file with all entries; that is what a start reads, and what is made here.
    """
    assert batches >= 2
    for folder in ("offsets", "commits"):
        text = (checkpoint / folder / "0").read_text()
        _empty(checkpoint / folder)
        for batch in (batches - 2, batches - 1):
            (checkpoint / folder / str(batch)).write_text(
                text if folder == "commits" else _with_offset(text, files - 1)
            )
    if files > 1:
        log = checkpoint / "sources" / "0"
        version, entry = (log / "0").read_text().splitlines()
        _empty(log)
        (log / f"{files - 1}.compact").write_text("\n".join([version, *_entries(entry, files)]))


def _with_offset(text: str, offset: int) -> str:
    lines = text.splitlines()
    return "\n".join([*lines[:-1], json.dumps({"logOffset": offset})])


def _entries(entry: str, files: int) -> list[str]:
    """Entries of the log for files that have been, with names as long as Spark's own."""
    seen = json.loads(entry)
    folder = seen["path"].rpartition("/")[0]
    name = "part-{:05d}-0fd1c2a6-7f0e-4a52-9d05-1f0c5a1a8f11-c000.snappy.parquet"
    older = [
        json.dumps(seen | {"path": f"{folder}/{name.format(i)}", "batchId": i}, separators=(",", ":"))
        for i in range(files - 1)
    ]
    return [*older, json.dumps(seen | {"batchId": files - 1}, separators=(",", ":"))]


def _empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def log_size(checkpoint: Path) -> int:
    """Bytes of Spark's log of files."""
    return _size(checkpoint / "sources")


def _size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())

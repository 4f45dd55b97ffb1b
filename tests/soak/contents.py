"""What a home holds, in a form that can be compared, and how two of them differ.

Read from the catalog and the files, without Spark and without the engine's own readers. Numbers of
epochs depend on which streams happened to share one; an epoch is therefore named by its place in the
sequence of the stream, which must be the same however often the engine was killed.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from windrow.runtime.home.home import Home
from windrow.runtime.home.records import FOLDERS

Row = tuple[Any, ...]
SHOWN = 5
"""Rows of a difference that are printed."""


@dataclass
class Contents:
    """Everything that a user can ask a home for."""

    progress: Counter[Row] = field(default_factory=Counter)
    epochs: Counter[Row] = field(default_factory=Counter)
    """(stream, place in its sequence, batch, watermark, clock, rows, late, dead). Not how many answers: with
    which of its streams' epochs those of a query over several come depends on which shared one."""
    queries: Counter[Row] = field(default_factory=Counter)
    tables: dict[str, Counter[Row]] = field(default_factory=dict)
    """Results by query, late rows and dead letters by stream; each row with its epoch."""

    def parts(self) -> dict[str, Counter[Row]]:
        """All of it, by name."""
        return {"progress": self.progress, "epochs": self.epochs, "queries": self.queries, **self.tables}


def differences(truth: Contents, found: Contents) -> list[str]:
    """What was lost, what came twice, what is otherwise; empty if nothing."""
    report = []
    ours, theirs = found.parts(), truth.parts()
    for name in sorted(ours.keys() | theirs.keys()):
        if name not in ours or name not in theirs:
            report.append(f"{name}: only {'expected' if name in theirs else 'found'}")
            continue
        lost, extra = theirs[name] - ours[name], ours[name] - theirs[name]
        for what, rows in (("missing", lost), ("unexpected", extra)):
            if rows:
                twice = sum(count for row, count in rows.items() if row in theirs[name] and row in ours[name])
                note = f", {twice} of them only in how often" if twice else ""
                report.append(f"{name}: {rows.total()} of {theirs[name].total()} rows {what}{note}")
                report += [f"    {count} × {row}" for row, count in _first(rows)]
    return report


def _first(rows: Counter[Row]) -> list[tuple[Row, int]]:
    return sorted(rows.items(), key=lambda item: repr(item[0]))[:SHOWN]


QUERIES = (
    "q.*, s.stream, (SELECT count(*) FROM query_streams o WHERE o.query = q.id) AS streams "
    "FROM queries q JOIN query_streams s ON s.query = q.id AND s.place = 0"
)
"""What the catalog says of queries, each with its first stream, and with how many it has."""


def contents(home: Path) -> Contents:
    """Read a home."""
    found = Contents()
    with _catalog(home) as database:
        place = _places(database, found)
        for row in database.execute(
            "SELECT stream, batch, latest, watermark, sealed, idle, clock, rows, late, dead FROM progress"
        ):
            found.progress[tuple(row)] += 1
        for query in database.execute(f"SELECT {QUERIES} WHERE NOT dropped"):
            told = ("name", "sql", "stream", "retain", "started", "sealed", "complete_after", "quarantined")
            since = place(query["stream"], query["quarantined_epoch"])
            row = [query[name] for name in (*told, "answers", "latest_end")]
            found.queries[(*row, since)] += 1
            found.tables[f"results of {query['name']}"] = _results(home, database, query, place)
        for kind, owner in database.execute(
            "SELECT DISTINCT kind, owner FROM files WHERE kind IN ('late', 'dead')"
        ):
            rows: Counter[Row] = Counter()
            for table in _files(home, database, kind, owner):
                rows.update(_rows(table, lambda epoch, of=owner: place(of, epoch)))
            found.tables[f"{kind} rows of {owner}"] = rows
    return found


def _catalog(home: Path) -> sqlite3.Connection:
    database = sqlite3.connect(f"file:{home / 'catalog.db'}?mode=ro", uri=True)
    database.row_factory = sqlite3.Row
    return database


def _places(database: sqlite3.Connection, found: Contents) -> Callable[[str, int | None], Any]:
    """The place of an epoch in the sequence of a stream; the epochs themselves go to `found`."""
    count: Counter[str] = Counter()
    place: dict[tuple[str, int], int] = {}
    for row in database.execute(
        "SELECT stream, epoch, batch, watermark, clock, rows, late, dead FROM epochs ORDER BY epoch"
    ):
        stream, epoch, *rest = row
        place[stream, epoch] = count[stream]
        found.epochs[(stream, count[stream], *rest)] += 1
        count[stream] += 1
    return lambda stream, epoch: place.get((stream, epoch), epoch and f"epoch {epoch}, not of {stream}")


def _results(
    home: Path, database: sqlite3.Connection, query: sqlite3.Row, place: Callable[[str, int | None], Any]
) -> Counter[Row]:
    rows: Counter[Row] = Counter()
    schema = pa.ipc.read_schema(pa.py_buffer(query["schema"]))
    for (owner,) in database.execute("SELECT DISTINCT owner FROM files WHERE kind = 'results'").fetchall():
        for table in _files(home, database, "results", owner):
            if table.schema.names[: len(schema)] != schema.names:
                continue
            table = table.filter(pc.field("_query") == query["id"]).drop_columns(["_query"])
            if query["retain"] is not None:
                times = table["_ts" if "_ts" in schema.names else "window_end"].cast(pa.int64())
                table = table.filter(pc.greater(times, query["latest_end"] - query["retain"]))
            rows.update(
                _rows(table, lambda epoch: place(query["stream"], epoch) if query["streams"] == 1 else None)
            )
    return rows


def _files(home: Path, database: sqlite3.Connection, kind: str, owner: str) -> Iterable[pa.Table]:
    for (path,) in database.execute("SELECT path FROM files WHERE kind = ? AND owner = ?", (kind, owner)):
        # One file, not a dataset; and Spark's own timestamps, which may lie beyond what nanoseconds hold.
        with pq.ParquetFile(home / path, coerce_int96_timestamp_unit="us") as file:
            yield file.read()


def _rows(table: pa.Table, place: Any) -> Iterable[Row]:
    """Rows with their columns in the order of names: compaction may change it where a column was added."""
    names = sorted(table.schema.names)
    columns = []
    for name in names:
        values = table[name]
        if pa.types.is_timestamp(values.type) or pa.types.is_duration(values.type):
            values = values.cast(pa.int64())
        found = values.to_pylist()
        if pa.types.is_nested(values.type):
            found = list(map(repr, found))
        if name == "_epoch":
            found = [place(epoch) for epoch in found]
        elif name == "_file":
            found = [path and "/".join(Path(path).parts[-2:]) for path in found]
        columns.append(found)
    return (tuple(zip(names, values, strict=True)) for values in zip(*columns, strict=True))


# the files themselves


def unsound(home: Path) -> list[str]:
    """What is wrong with the files of a home that nobody runs on; empty if nothing is.

    Sweeps first, as every start does: what a kill left behind must be gone after it.
    """
    opened = Home(home)
    with opened.running():
        pass
    opened.close()
    report = []
    with _catalog(home) as database:
        listed = {row["path"]: row for row in database.execute("SELECT * FROM files")}
        doomed = {path for (path,) in database.execute("SELECT path FROM doomed")}
        numbers = [number for (number,) in database.execute("SELECT DISTINCT epoch FROM epochs ORDER BY 1")]
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        report.append(f"the numbers of the epochs have gaps: {numbers}")
    there = {str(path.relative_to(home)) for folder in FOLDERS for path in _files_in(home / folder)}
    report += [f"{path} is there and not listed" for path in sorted(there - listed.keys() - doomed)]
    for path, row in sorted(listed.items()):
        if path not in there:
            report.append(f"{path} is listed and not there")
            continue
        content = (home / path).read_bytes()
        if (len(content), zlib.crc32(content)) != (row["bytes"], row["checksum"]):
            report.append(f"{path} is not what was recorded: {len(content)} bytes, recorded {row['bytes']}")
    report += _miscounted(home)
    known = {"catalog.db", "catalog.db-wal", "catalog.db-shm", "lock", "streams", *FOLDERS}
    report += [f"{path.name} is not part of a home" for path in home.iterdir() if path.name not in known]
    for folder in FOLDERS:
        report += [
            f"{path.relative_to(home)} is an empty directory"
            for path in sorted((home / folder).rglob("*"))
            if path.is_dir() and not any(path.iterdir())
        ]
    return report


def _miscounted(home: Path) -> list[str]:
    """Epochs whose rows on disk are not as many as the catalog says, of those that it remembers. Answers are
    counted together, since those of a query over several streams are told with any of them."""
    there: Counter[tuple[str, str, int]] = Counter()
    said: Counter[tuple[str, str, int]] = Counter()
    with _catalog(home) as database:
        # answers of dropped queries and those past their RETAIN go at some time
        some_go = any(database.execute(f"SELECT {QUERIES} WHERE dropped OR retain IS NOT NULL"))
        for kind, owner in database.execute(
            "SELECT DISTINCT kind, owner FROM files WHERE kind <> 'slices'"
        ).fetchall():
            for table in _files(home, database, kind, owner):
                if kind == "late":  # not those that are late for one query alone
                    table = table.filter(pc.is_null(table["_query"]))
                of = "any stream" if kind == "results" else owner
                there.update((kind, of, epoch) for epoch in table["_epoch"].to_pylist())
        for row in database.execute("SELECT * FROM epochs"):
            said["results", "any stream", row["epoch"]] += row["answers"]
            said["late", row["stream"], row["epoch"]] += row["late"]
            said["dead", row["stream"], row["epoch"]] += row["dead"]
    remembered = min((epoch for _, _, epoch in said), default=0)
    return [
        f"{kind} of {stream}, epoch {epoch}: {found} rows, the catalog says {wanted}"
        for kind, stream, epoch in sorted(there.keys() | said.keys())
        for found, wanted in [(there[kind, stream, epoch], said[kind, stream, epoch])]
        if epoch >= remembered and found != wanted and not (kind == "results" and some_go and found < wanted)
    ]


def _files_in(folder: Path) -> Iterable[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def undelivered(delivered: Path, home: Path, query: str) -> list[str]:
    """How what a sink got differs from what was committed: at least once, and nothing else."""
    got: dict[int, set[str]] = defaultdict(set)
    for line in delivered.read_text(encoding="utf-8").splitlines():
        epoch, answers = json.loads(line)
        got[epoch] |= {json.dumps(row) for row in answers}
    committed: dict[int, set[str]] = defaultdict(set)
    with _catalog(home) as database:
        stored = database.execute(f"SELECT {QUERIES} WHERE name = ? AND NOT dropped", (query,)).fetchone()
        schema = pa.ipc.read_schema(pa.py_buffer(stored["schema"]))
        for (owner,) in database.execute(
            "SELECT DISTINCT owner FROM files WHERE kind = 'results'"
        ).fetchall():
            for table in _files(home, database, "results", owner):
                table = table.filter(pc.field("_query") == stored["id"])
                if len(table):
                    answers = table.select(schema.names).cast(schema).to_pylist()
                    for epoch, row in zip(table["_epoch"].to_pylist(), answers, strict=True):
                        committed[epoch].add(json.dumps(list(row.values()), default=str))
    report = []
    for epoch in sorted(got.keys() | committed.keys()):
        lost, extra = committed[epoch] - got[epoch], got[epoch] - committed[epoch]
        if lost or extra:
            report.append(
                f"sink of {query}, epoch {epoch}: {len(lost)} answers missing, {len(extra)} unknown"
            )
    return report

"""Homes of earlier formats, brought to the present one when they are opened."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.feather

from windrow.errors import HomeError
from windrow.operators.aggregate.window_aggregate import BEGINNING, END_OF_TIME
from windrow.runtime.home.catalog import FORMAT, SCHEMA, Catalog, DataFile
from windrow.runtime.home.durable import reading
from windrow.runtime.home.folder_names import folder_name
from windrow.runtime.home.slice_log import State, write_file

if TYPE_CHECKING:
    import sqlite3

    from windrow.runtime.home.home import Home


def migrate(home: Home, found: int) -> None:
    """Bring a home from an earlier format to the present one, whole or not at all."""
    _move_checkpoints(home)
    if found == 1:
        _from_1(home)
        return
    with home.catalog.transaction() as database:
        if found < 4:
            _add_tables(database)
            _from_3(database)
        _from_4(database)
        database.execute("UPDATE about SET format = ?", (FORMAT,))


def _move_checkpoints(home: Home) -> None:
    """Before format 5, what Spark had noted of a stream was under the stream's bare name, wherever that led.

    A directory that has been moved stays moved if the migration then fails, and the next one finds it.
    """
    top = home.path / "streams"
    for (stream,) in home.catalog.rows("SELECT stream FROM progress"):
        old = Path(os.path.normpath(top / stream.lower()))
        new = top / folder_name(stream)
        if old == new or new.exists() or not old.exists():
            continue
        top.mkdir(exist_ok=True)
        if top not in old.parents:
            raise HomeError(
                f"what Spark noted of stream '{stream}' is not in the home {home.path}, but in {old}, where "
                f"its name led; if it is this stream's, move it to {new}, and open the home again"
            )
        old.rename(new)


def _add_tables(database: sqlite3.Connection) -> None:
    """Format 2 did not remember what Spark had said about statements, nor format 3 what clients ask for."""
    for statement in filter(str.strip, SCHEMA.split(";\n")):
        database.execute(re.sub("(TABLE|INDEX) ", r"\1 IF NOT EXISTS ", statement, count=1))


def _from_3(database: sqlite3.Connection) -> None:
    """In format 3 every query had a state of its own: now a tree of its own, of the same number."""
    database.execute("ALTER TABLE queries DROP COLUMN entries")
    database.execute("ALTER TABLE queries DROP COLUMN state_bytes")
    _plant(database)


def _from_4(database: sqlite3.Connection) -> None:
    """Format 4 did not know who holds a home, how old its rows are by the clock of its epochs, nor which
    batches Spark's own record of a stream is about."""
    _add_to_about(database)
    database.execute("ALTER TABLE progress ADD COLUMN offsets TEXT")


def _add_to_about(database: sqlite3.Connection) -> None:
    for column in ("token TEXT", "owner TEXT", "clock REAL NOT NULL DEFAULT 0"):
        database.execute(f"ALTER TABLE about ADD COLUMN {column}")
    database.execute("UPDATE about SET clock = (SELECT coalesce(max(clock), 0) FROM epochs)")


def _plant(database: sqlite3.Connection) -> None:
    running = "FROM queries WHERE started AND NOT dropped AND NOT sealed AND quarantined IS NULL"
    database.execute(f"INSERT INTO trees (id, stream, shared) SELECT id, stream, 0 {running}")
    database.execute(
        f"INSERT INTO members SELECT id, id, complete_after, {BEGINNING}, {END_OF_TIME} {running}"
    )


def _from_1(home: Home) -> None:
    """Format 1 had a file of closed and one of open slices for each query, and no epochs in results."""
    old = home.catalog.rows("SELECT path, kind, owner, epoch, rows FROM files ORDER BY epoch, path")
    streams = dict(home.catalog.rows("SELECT id, stream FROM queries WHERE NOT dropped"))
    states: dict[str, list[State]] = {}
    for query, stream in streams.items():
        tables = {
            kind: [_table(home.path / path) for path, k, owner, *_ in old if (k, owner) == (kind, str(query))]
            for kind in ("closed", "open")
        }
        closed = pa.concat_tables(tables["closed"]) if tables["closed"] else None
        states.setdefault(stream, []).append(
            State(query, closed, tables["open"][0] if tables["open"] else None)
        )
    last_epoch = home.catalog.last_epoch()
    files = [
        DataFile(path, kind, owner, epoch, epoch, rows)
        for path, kind, owner, epoch, rows in old
        if kind == "results"
    ]
    for stream, kept in states.items():
        path = home.new_path(f"slices/{folder_name(stream)}", max(last_epoch, 0), "slices")
        rows = sum(segment.rows for segment in write_file(path, kept))
        files.append(DataFile(home.name_of(path), "slices", stream, last_epoch, last_epoch, rows))
    files = home.forced(files)
    with home.catalog.transaction() as database:
        for table in ("queries", "epochs", "progress"):
            database.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
        database.execute("DROP INDEX live_queries")
        database.execute("DROP TABLE files")
        for statement in SCHEMA.split(";\n"):
            if statement.strip() and not statement.strip().startswith(
                ("CREATE TABLE about", "CREATE TABLE relations")
            ):
                database.execute(statement)
        database.execute(
            "INSERT INTO queries (id, name, sql, stream, schema, dropped, started, sealed, complete_after) "
            "SELECT id, name, sql, stream, schema, dropped, started, sealed, complete_after FROM old_queries"
        )
        database.execute(
            "INSERT INTO epochs SELECT epoch, stream, batch, watermark, clock, 0, rows, late, dead, 0 "
            "FROM old_epochs ORDER BY epoch DESC LIMIT 1000"
        )
        for name, batch, watermark, sealed, *counts in database.execute(
            "SELECT stream, batch, watermark, sealed, rows, late, dead FROM old_progress"
        ).fetchall():
            database.execute(
                "INSERT INTO progress "
                "VALUES (?, ?, ?, ?, ?, 0, (SELECT max(clock) FROM epochs), ?, ?, ?, NULL)",
                (name, batch, _latest(home, name, watermark), watermark, sealed, *counts),
            )
        _add_to_about(database)
        Catalog.list_files(database, files)
        _plant(database)
        for table in ("queries", "epochs", "progress"):
            database.execute(f"DROP TABLE old_{table}")
        database.execute("UPDATE about SET format = ?", (FORMAT,))
    for path, kind, *_ in old:
        if kind != "results":
            (home.path / path).unlink(missing_ok=True)


def _latest(home: Home, stream: str, watermark: int | None) -> int | None:
    found = home.catalog.definition(stream)
    return watermark if watermark is None or found is None else watermark + found[2]["delay"]


def _table(path: Path) -> pa.Table:
    with reading(path):
        return pyarrow.feather.read_table(path, memory_map=False)

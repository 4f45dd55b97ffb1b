"""The home: one directory with everything that an engine remembers, and the one step that commits.

Data lie in files that are never changed once written; `catalog.db` (SQLite) says which of them exist.
An epoch writes its files under names that nobody used before and then commits one transaction: the new
files, the ones that are no longer needed, and how far the stream has been read. A crash before the
commit leaves files that nobody knows, and they are swept away at the next start; a crash after it
leaves files that nobody needs, with the same end. See docs/decisions/0004.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.feather
import pyarrow.ipc

from windrow.errors import HomeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FORMAT = 1

SCHEMA = """
CREATE TABLE about (format INTEGER NOT NULL);
CREATE TABLE relations (
    name TEXT PRIMARY KEY COLLATE NOCASE, kind TEXT NOT NULL, definition TEXT NOT NULL);
CREATE TABLE queries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL COLLATE NOCASE, sql TEXT NOT NULL,
    stream TEXT NOT NULL COLLATE NOCASE, dropped INTEGER NOT NULL DEFAULT 0,
    started INTEGER NOT NULL DEFAULT 0, sealed INTEGER NOT NULL DEFAULT 0, complete_after INTEGER,
    schema BLOB NOT NULL);
CREATE UNIQUE INDEX live_queries ON queries (name) WHERE NOT dropped;
CREATE TABLE epochs (
    epoch INTEGER PRIMARY KEY, stream TEXT NOT NULL COLLATE NOCASE, batch INTEGER, watermark INTEGER,
    clock REAL NOT NULL, rows INTEGER NOT NULL, late INTEGER NOT NULL, dead INTEGER NOT NULL);
CREATE TABLE progress (
    stream TEXT PRIMARY KEY COLLATE NOCASE, batch INTEGER NOT NULL, watermark INTEGER,
    sealed INTEGER NOT NULL DEFAULT 0, rows INTEGER NOT NULL, late INTEGER NOT NULL, dead INTEGER NOT NULL);
CREATE TABLE files (
    path TEXT PRIMARY KEY, kind TEXT NOT NULL, owner TEXT NOT NULL, epoch INTEGER NOT NULL,
    rows INTEGER NOT NULL, last_slice INTEGER);
CREATE INDEX files_by_owner ON files (kind, owner, epoch);
"""


@dataclass(frozen=True)
class Progress:
    """How far a stream has been read, and what became of its rows."""

    batch: int = -1
    watermark: int | None = None
    sealed: bool = False
    rows: int = 0
    late: int = 0
    dead: int = 0


@dataclass(frozen=True)
class StoredQuery:
    """A query as the catalog knows it."""

    id: int
    name: str
    sql: str
    stream: str
    started: bool
    """Whether an epoch has had it."""
    sealed: bool
    complete_after: int | None
    """Windows that begin later than this hold all their rows: the stream ran before the query did."""
    schema: pa.Schema = field(compare=False)
    """The columns of its results; queries with equal ones share result files."""

    @property
    def schema_id(self) -> str:
        """A name for the result schema."""
        return sha256(self.schema.to_string().encode()).hexdigest()[:16]


@dataclass(frozen=True)
class DataFile:
    """A file that an epoch wrote. `kind` is results, closed or open; `owner` a schema or a query."""

    path: str
    kind: str
    owner: str
    rows: int
    last_slice: int | None = None


class Home:
    """A home directory, opened; made if it is not there."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.path = Path(directory).absolute()
        self._one_at_a_time = RLock()  # streams run in threads of their own and share the connection
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if any(self.path.iterdir()) and not (self.path / "catalog.db").exists():
                raise HomeError(
                    f"{self.path} is not a home, and it is not empty; name a new directory, or an empty one"
                )
            self._database = sqlite3.connect(
                self.path / "catalog.db", isolation_level=None, check_same_thread=False, timeout=30
            )
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            self._prepare()
        except (OSError, sqlite3.Error) as error:
            raise HomeError(f"cannot use {self.path} as a home: {error}") from error

    def _prepare(self) -> None:
        with self.transaction() as database:
            if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'about'").fetchone():
                for statement in SCHEMA.split(";\n"):
                    if statement.strip():
                        database.execute(statement)
                database.execute("INSERT INTO about VALUES (?)", (FORMAT,))
            (found,) = database.execute("SELECT format FROM about").fetchone()
        if found != FORMAT:
            raise HomeError(
                f"{self.path} has format {found} and this Windrow reads {FORMAT}; "
                "use the version that made it"
            )

    def close(self) -> None:
        """Close the catalog."""
        self._database.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, one thread at a time."""
        with self._one_at_a_time:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._one_at_a_time:
            return self._database.execute(sql, values).fetchall()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Hold the home for a run: one engine at a time. Sweeps what an earlier crash left behind."""
        with (self.path / "lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise HomeError(
                    f"another engine is running on {self.path}; stop it, or use another home"
                ) from error
            self._sweep()
            yield

    def _sweep(self) -> None:
        known = {row[0] for row in self._rows("SELECT path FROM files")}
        for folder in ("results", "slices"):
            for path in (self.path / folder).rglob("*"):
                if path.is_file() and str(path.relative_to(self.path)) not in known:
                    path.unlink()

    # the catalog

    def define(self, name: str, kind: str, definition: dict[str, Any]) -> bool:
        """Remember a relation; the same definition again is fine, another one is not. True if it is new."""
        text = json.dumps(definition, sort_keys=True)
        with self.transaction() as database:
            row = database.execute(
                "SELECT kind, definition FROM relations WHERE name = ?", (name,)
            ).fetchone()
            if row is None:
                database.execute("INSERT INTO relations VALUES (?, ?, ?)", (name, kind, text))
            elif row != (kind, text):
                raise HomeError(
                    f"{row[0]} '{name}' is defined otherwise in this home:\n"
                    f"  there: {row[1]}\n  here:  {text}\n"
                    "use another name, or another home"
                )
        return row is None

    def definition(self, name: str) -> tuple[str, str, dict[str, Any]] | None:
        """Name, kind and definition of a relation; None for one that the home cannot know (a DataFrame)."""
        rows = self._rows("SELECT name, kind, definition FROM relations WHERE name = ?", name)
        for spelled, kind, text in rows:
            return spelled, kind, json.loads(text)
        return None

    def undefine(self, name: str) -> None:
        """Take a definition back."""
        with self.transaction() as database:
            database.execute("DELETE FROM relations WHERE name = ?", (name,))

    def queries(self) -> list[StoredQuery]:
        """The queries that have not been dropped, in the order in which they came."""
        rows = self._rows(
            "SELECT id, name, sql, stream, started, sealed, complete_after, schema "
            "FROM queries WHERE NOT dropped ORDER BY id"
        )
        return [
            StoredQuery(number, name, sql, stream, bool(started), bool(sealed), after, _read_schema(schema))
            for number, name, sql, stream, started, sealed, after, schema in rows
        ]

    def query(self, name: str) -> StoredQuery | None:
        """A query by its name."""
        return next((query for query in self.queries() if query.name.lower() == name.lower()), None)

    def add_query(self, name: str, sql: str, stream: str, schema: pa.Schema) -> StoredQuery:
        """Remember a query; the same text under the same name again is the same query."""
        with self.transaction() as database:
            known = self.query(name)
            if known is None:
                database.execute(
                    "INSERT INTO queries (name, sql, stream, schema) VALUES (?, ?, ?, ?)",
                    (name, sql, stream, schema.serialize().to_pybytes()),
                )
            elif known.sql != sql or known.schema != schema:
                raise HomeError(
                    f"there is a query '{name}' already:\n  {known.sql}\nuse another name, or drop it first"
                )
        added = self.query(name)
        assert added is not None
        return added

    def drop_query(self, query: StoredQuery) -> None:
        """Forget a query and its state; its results stay until the home goes."""
        with self.transaction() as database:
            database.execute("UPDATE queries SET dropped = 1 WHERE id = ?", (query.id,))
            paths = [path for kind in ("closed", "open") for path in self._paths(kind, str(query.id))]
            self._forget(database, paths)
        self._unlink(paths)

    def progress(self, stream: str) -> Progress:
        """How far a stream has been read."""
        rows = self._rows(
            "SELECT batch, watermark, sealed, rows, late, dead FROM progress WHERE stream = ?", stream
        )
        for batch, watermark, sealed, *counts in rows:
            return Progress(batch, watermark, bool(sealed), *counts)
        return Progress()

    def last_epoch(self) -> int:
        """The number of the last committed epoch; -1 before the first."""
        ((epoch,),) = self._rows("SELECT coalesce(max(epoch), -1) FROM epochs")
        return int(epoch)

    def files(self, kind: str, owner: str) -> list[Path]:
        """The committed files of a kind and owner, oldest first."""
        return [self.path / path for path in self._paths(kind, owner)]

    def _paths(self, kind: str, owner: str) -> list[str]:
        rows = self._rows(
            "SELECT path FROM files WHERE kind = ? AND owner = ? ORDER BY epoch, path", kind, owner
        )
        return [row[0] for row in rows]

    # epochs

    def new_path(self, folder: str, epoch: int, suffix: str) -> Path:
        """A path that no file has had; the attempt is in the name, so a replay never meets its past."""
        path = self.path / folder / f"{epoch:09d}-{uuid.uuid4().hex[:8]}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def write_slices(self, kind: str, query: StoredQuery, epoch: int, table: pa.Table) -> DataFile | None:
        """Write state at rest; nothing for nothing."""
        if not len(table):
            return None
        path = self.new_path(f"slices/{query.id}", epoch, f"{kind}.arrow")
        pyarrow.feather.write_feather(table, path, compression="uncompressed")
        last = pa.compute.max(table.column(0)).as_py()
        return DataFile(str(path.relative_to(self.path)), kind, str(query.id), len(table), last)

    def commit(
        self,
        epoch: int,
        stream: str,
        progress: Progress,
        clock: float,
        counts: tuple[int, int, int],
        files: Iterable[DataFile],
        horizons: dict[StoredQuery, int | None],
    ) -> None:
        """The one atomic step. `horizons`: slices that start before it are no longer needed (None: all)."""
        with self.transaction() as database:
            obsolete: list[str] = []
            for query, horizon in horizons.items():
                obsolete += self._paths("open", str(query.id))
                rows = self._rows(
                    "SELECT path FROM files WHERE kind = 'closed' AND owner = ? AND (? OR last_slice < ?)",
                    str(query.id), horizon is None, horizon,
                )  # fmt: skip
                obsolete += [row[0] for row in rows]
                database.execute(
                    "UPDATE queries SET started = 1, sealed = ?, complete_after = ? WHERE id = ?",
                    (horizon is None, query.complete_after, query.id),
                )
            self._forget(database, obsolete)
            database.executemany(
                "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?)",
                [(f.path, f.kind, f.owner, epoch, f.rows, f.last_slice) for f in files],
            )
            database.execute(
                "INSERT INTO epochs VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (epoch, stream, progress.batch, progress.watermark, clock, *counts),
            )
            database.execute(
                "INSERT OR REPLACE INTO progress VALUES (?, ?, ?, ?, ?, ?, ?)",
                (stream, progress.batch, progress.watermark, progress.sealed,
                 progress.rows, progress.late, progress.dead),
            )  # fmt: skip
        self._unlink(obsolete)

    @staticmethod
    def _forget(database: sqlite3.Connection, paths: list[str]) -> None:
        database.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in paths])

    def _unlink(self, paths: list[str]) -> None:
        for path in paths:
            (self.path / path).unlink(missing_ok=True)


def _read_schema(stored: bytes) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(stored))

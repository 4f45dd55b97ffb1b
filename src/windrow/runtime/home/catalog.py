"""The catalog: streams, tables, queries, how far each stream has been read, and which files exist.

One SQLite database. Every change is a transaction; what an epoch did becomes visible by one of them
(see `home.py`). Any number of processes may read while one engine runs.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import PurePosixPath
from threading import RLock
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.ipc

from windrow.errors import HomeError
from windrow.runtime.home.durable import explained

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from windrow.runtime.state.trees import RunningTree

FORMAT = 5
FOLDERS = ("results", "slices", "late", "dead")
"""The kinds of files, and the directories of a home that they are in."""
KEPT_EPOCHS = 1_000
"""How many epochs the catalog remembers; only people look at them."""
KEPT_DESCRIBED = 100_000
"""How many of Spark's answers it remembers, before it begins anew."""
LONGEST_STEP = 86_400.0
"""By how many seconds an epoch moves the home's clock at most: a machine whose clock is set a month ahead,
or was off for as long, lets late rows and dead letters grow older by a day, not by all of their RETAIN."""
RECENT_EPOCHS = 20
"""The home's clock moves by what an epoch's clock is ahead of all of so many before it. One would not do:
streams stage at the same time, and an epoch may be of a batch that was staged before the last epoch's."""

SCHEMA = """
CREATE TABLE about (
    format INTEGER NOT NULL, token TEXT, owner TEXT, clock REAL NOT NULL DEFAULT 0);
CREATE TABLE relations (
    name TEXT PRIMARY KEY COLLATE NOCASE, kind TEXT NOT NULL, definition TEXT NOT NULL);
CREATE TABLE queries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL COLLATE NOCASE, sql TEXT NOT NULL,
    stream TEXT NOT NULL COLLATE NOCASE, schema BLOB NOT NULL, retain INTEGER,
    dropped INTEGER NOT NULL DEFAULT 0, started INTEGER NOT NULL DEFAULT 0,
    sealed INTEGER NOT NULL DEFAULT 0, complete_after INTEGER,
    quarantined TEXT, quarantined_epoch INTEGER, delivered INTEGER,
    answers INTEGER NOT NULL DEFAULT 0, latest_end INTEGER);
CREATE UNIQUE INDEX live_queries ON queries (name) WHERE NOT dropped;
CREATE TABLE trees (
    id INTEGER PRIMARY KEY AUTOINCREMENT, stream TEXT NOT NULL COLLATE NOCASE, shared INTEGER NOT NULL,
    node INTEGER, entries INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0);
CREATE TABLE members (
    tree INTEGER NOT NULL, query INTEGER NOT NULL, joined INTEGER, after INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (tree, query)) WITHOUT ROWID;
CREATE INDEX members_by_query ON members (query);
CREATE TABLE epochs (
    epoch INTEGER NOT NULL, stream TEXT NOT NULL COLLATE NOCASE, batch INTEGER, watermark INTEGER,
    clock REAL NOT NULL, seconds REAL NOT NULL, rows INTEGER NOT NULL, late INTEGER NOT NULL,
    dead INTEGER NOT NULL, answers INTEGER NOT NULL, PRIMARY KEY (epoch, stream)) WITHOUT ROWID;
CREATE TABLE progress (
    stream TEXT PRIMARY KEY COLLATE NOCASE, batch INTEGER NOT NULL, latest INTEGER, watermark INTEGER,
    sealed INTEGER NOT NULL, idle INTEGER NOT NULL, clock REAL NOT NULL,
    rows INTEGER NOT NULL, late INTEGER NOT NULL, dead INTEGER NOT NULL, offsets TEXT);
CREATE TABLE files (
    path TEXT PRIMARY KEY, kind TEXT NOT NULL, owner TEXT NOT NULL COLLATE NOCASE, level INTEGER NOT NULL,
    first_epoch INTEGER NOT NULL, last_epoch INTEGER NOT NULL, rows INTEGER NOT NULL,
    bytes INTEGER, checksum INTEGER, earliest INTEGER, latest INTEGER);
CREATE INDEX files_by_owner ON files (kind, owner, level, first_epoch);
CREATE TABLE doomed (path TEXT PRIMARY KEY, clock REAL NOT NULL);
CREATE TABLE described (question TEXT PRIMARY KEY, schema BLOB NOT NULL);
CREATE TABLE requests (
    id INTEGER PRIMARY KEY AUTOINCREMENT, together INTEGER, kind TEXT NOT NULL,
    name TEXT NOT NULL COLLATE NOCASE, sql TEXT NOT NULL, retain INTEGER, clock REAL NOT NULL,
    answered INTEGER NOT NULL DEFAULT 0, refused TEXT);
CREATE INDEX waiting_requests ON requests (id) WHERE NOT answered;
CREATE INDEX requests_by_name ON requests (name);
"""


@dataclass(frozen=True)
class Progress:
    """How far a stream has been read, and what became of its rows. Instants are microseconds."""

    batch: int = -1
    latest: int | None = None
    """The latest event time seen."""
    watermark: int | None = None
    sealed: bool = False
    idle: bool = False
    clock: float = 0.0
    """When its last batch came."""
    rows: int = 0
    late: int = 0
    dead: int = 0
    offsets: str | None = None
    """What tells Spark's record of its last batch from any other; None where Spark keeps none."""


@dataclass(frozen=True)
class StoredQuery:
    """A query as the catalog knows it."""

    id: int
    name: str
    sql: str
    stream: str
    schema: pa.Schema = field(compare=False)
    """The columns of its results; queries with equal ones share result files."""
    retain: int | None = None
    started: bool = False
    """Whether an epoch has had it."""
    sealed: bool = False
    complete_after: int | None = None
    """Windows that begin later than this hold all their rows: the stream ran before the query did."""
    quarantined: str | None = None
    """Why it no longer runs."""
    quarantined_epoch: int | None = None
    delivered: int | None = None
    """Its sink has had the answers of the epochs up to this one; None: it never had a sink."""
    answers: int = 0
    latest_end: int | None = None
    """The end of the latest window answered."""
    entries: int = 0
    """Its share of the slices that it has, perhaps with others."""
    state_bytes: int = 0

    @property
    def schema_id(self) -> str:
        """A name for the result schema."""
        return _schema_id(self.schema)

    @property
    def runs(self) -> bool:
        """Whether epochs still have it."""
        return not self.sealed and self.quarantined is None

    @property
    def retained_from(self) -> int | None:
        """Answers for windows that end before this are gone."""
        if self.retain is None or self.latest_end is None:
            return None
        return self.latest_end - self.retain


@dataclass(frozen=True)
class KeptAnswers:
    """Which answers of a query can still be asked for: those of windows that end later than `after` (None:
    however early) and not later than `latest_end` (None: there are none)."""

    query: int
    retain: int | None
    after: int | None
    latest_end: int | None


@dataclass(frozen=True)
class NewQuery:
    """A query that the catalog is to remember."""

    name: str
    sql: str
    stream: str
    schema: pa.Schema
    retain: int | None = None


@dataclass(frozen=True)
class DataFile:
    """A file of the home. `owner`: a result schema, or a stream; `earliest` and `latest`: of its contents."""

    path: str
    kind: str
    owner: str
    first_epoch: int
    last_epoch: int
    rows: int
    earliest: int | None = None
    latest: int | None = None
    level: int = 0
    """How many times its rows have been compacted."""
    bytes: int | None = None
    checksum: int | None = None


class Catalog:
    """The database of a home, opened; made if it is not there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.may_expire = True
        """Whether result files may have outlived their RETAIN, or their queries, since somebody last looked
        and set this to False (not on disk). Set within the transaction by which they may have."""
        self._learned: dict[str, pa.Schema] = {}
        self._one_at_a_time = RLock()  # streams run in threads of their own and share the connection
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")

    def close(self) -> None:
        """Close the database, when nobody is using it.

        Python's sqlite3 crashes where one thread closes a connection while another begins a statement.
        """
        with self._one_at_a_time:
            self._database.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, one thread at a time."""
        with self._one_at_a_time, self._our_errors():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    @contextmanager
    def _our_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise HomeError(f"the catalog {self._path} cannot be used: {explained(error)}") from error

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a SELECT."""
        with self._one_at_a_time, self._our_errors():
            return self._database.execute(sql, values).fetchall()

    def format(self) -> int | None:
        """The format that it was made with; None if it is empty."""
        if not self.rows("SELECT 1 FROM sqlite_master WHERE name = 'about'"):
            return None
        ((found,),) = self.rows("SELECT format FROM about")
        return int(found)

    # relations

    def define(self, name: str, kind: str, definition: dict[str, Any]) -> None:
        """Remember a relation, or its new definition."""
        with self.transaction() as database:
            self.write_definition(database, name, kind, definition)

    @staticmethod
    def write_definition(
        database: sqlite3.Connection, name: str, kind: str, definition: dict[str, Any] | None
    ) -> None:
        """Remember a relation, or (None) forget it, as part of a transaction."""
        if definition is None:
            database.execute("DELETE FROM relations WHERE name = ?", (name,))
            return
        text = json.dumps(definition, sort_keys=True)
        database.execute("INSERT OR REPLACE INTO relations VALUES (?, ?, ?)", (name, kind, text))

    def definition(self, name: str) -> tuple[str, str, dict[str, Any]] | None:
        """Name, kind and definition of a relation; None for one that the home cannot know (a DataFrame)."""
        return next(iter(self.definitions("WHERE name = ?", name)), None)

    def definitions(self, condition: str = "", *values: Any) -> list[tuple[str, str, dict[str, Any]]]:
        """Those of all relations."""
        rows = self.rows(f"SELECT name, kind, definition FROM relations {condition}", *values)
        return [(name, kind, json.loads(text)) for name, kind, text in rows]

    def streams(self) -> list[str]:
        """The streams that have been declared or read."""
        rows = self.rows(
            "SELECT name FROM relations WHERE kind = 'stream' UNION SELECT stream FROM progress ORDER BY 1"
        )
        return list({name.lower(): name for (name,) in rows}.values())

    # queries

    def queries(self) -> list[StoredQuery]:
        """The queries that have not been dropped, in the order in which they came."""
        return self._stored("")

    def query(self, name: str) -> StoredQuery | None:
        """A query by its name."""
        return next(iter(self._stored("AND name = ?", name)), None)

    def _stored(self, condition: str, *values: Any) -> list[StoredQuery]:
        rows = self.rows(
            "WITH shares AS (SELECT tree, count(*) AS members FROM members GROUP BY tree) "
            "SELECT q.id, name, sql, q.stream, schema, retain, started, sealed, complete_after, quarantined, "
            "quarantined_epoch, delivered, answers, latest_end, "
            "coalesce(sum(t.entries / s.members), 0), coalesce(sum(t.bytes / s.members), 0) "
            "FROM queries q LEFT JOIN members m ON m.query = q.id LEFT JOIN trees t ON t.id = m.tree "
            "LEFT JOIN shares s ON s.tree = m.tree "
            f"WHERE NOT dropped {condition} GROUP BY q.id ORDER BY q.id",
            *values,
        )
        return [
            StoredQuery(
                number, name, sql, stream, _schema(schema), retain, bool(started), bool(sealed), *rest
            )
            for number, name, sql, stream, schema, retain, started, sealed, *rest in rows
        ]

    def schema_ids(self) -> set[str]:
        """The result schemas of the queries that have not been dropped."""
        found = self.rows("SELECT DISTINCT schema FROM queries WHERE NOT dropped")
        return {_stored_schema_id(schema) for (schema,) in found}

    def kept_answers(self) -> dict[str, list[KeptAnswers]]:
        """By result schema, which answers can still be asked for of the queries that have not been dropped.

        Compaction asks beside every epoch, hence without all else that `queries` knows: for 3,000 queries
        that was measured to take 25 ms, and this 5.
        """
        found: dict[str, list[KeptAnswers]] = {}
        for schema, *kept in self.rows(
            "SELECT schema, id, retain, latest_end - retain, latest_end FROM queries WHERE NOT dropped"
        ):
            found.setdefault(_stored_schema_id(schema), []).append(KeptAnswers(*kept))
        return found

    def tree_ids(self, stream: str) -> list[int]:
        """The numbers of a stream's trees, which are those that still have a state."""
        return [number for (number,) in self.rows("SELECT id FROM trees WHERE stream = ?", stream)]

    def last_tree(self) -> int:
        """The largest number that a tree ever had."""
        return max(
            (number for (number,) in self.rows("SELECT seq FROM sqlite_sequence WHERE name = 'trees'")),
            default=0,
        )

    def members(self, stream: str) -> list[tuple[Any, ...]]:
        """Who is in which tree of a stream: tree, shared or not, its node, query, joined, after, until."""
        return self.rows(
            "SELECT t.id, t.shared, t.node, m.query, m.joined, m.after, m.until FROM trees t "
            "JOIN members m ON m.tree = t.id WHERE t.stream = ? ORDER BY t.id, m.query",
            stream,
        )

    @staticmethod
    def write_trees(
        database: sqlite3.Connection, stream: str, trees: Iterable[RunningTree], *, changed: bool
    ) -> None:
        """Remember the trees of a stream, as part of a transaction."""
        trees = list(trees)
        if changed:
            database.execute(
                "DELETE FROM members WHERE tree IN (SELECT id FROM trees WHERE stream = ?)", (stream,)
            )
            database.execute("DELETE FROM trees WHERE stream = ?", (stream,))
            database.executemany(
                "INSERT INTO trees (id, stream, shared, node) VALUES (?, ?, ?, ?)",
                [(tree.id, stream, tree.shared, tree.node) for tree in trees],
            )
            database.executemany(
                "INSERT INTO members VALUES (?, ?, ?, ?, ?)",
                [
                    (tree.id, number, member.joined, member.after, member.until)
                    for tree in trees
                    for number, member in tree.members.items()
                ],
            )
        database.executemany(
            "UPDATE trees SET entries = ?, bytes = ? WHERE id = ?",
            [
                (tree.state.operator.entries, tree.state.operator.bytes, tree.id)
                for tree in trees
                if tree.state is not None
            ],
        )

    def add_query(
        self, name: str, sql: str, stream: str, schema: pa.Schema, retain: int | None = None
    ) -> StoredQuery:
        """Remember a query; the same text under the same name again is the same query."""
        return self.add_queries([NewQuery(name, sql, stream, schema, retain)])[0]

    def add_queries(self, queries: Iterable[NewQuery]) -> list[StoredQuery]:
        """Remember queries, all or none."""
        with self.transaction() as database:
            return self.insert_queries(database, queries)

    def insert_queries(self, database: sqlite3.Connection, queries: Iterable[NewQuery]) -> list[StoredQuery]:
        """The same, as part of a transaction."""
        added = []
        for new in queries:
            known = self.same_query(new)
            if known is None:
                found = database.execute(
                    "INSERT INTO queries (name, sql, stream, schema, retain) VALUES (?, ?, ?, ?, ?)",
                    (new.name, new.sql, new.stream, new.schema.serialize().to_pybytes(), new.retain),
                )
                assert found.lastrowid is not None
                known = StoredQuery(found.lastrowid, new.name, new.sql, new.stream, new.schema, new.retain)
            elif known.retain != new.retain or known.schema != new.schema:
                self.may_expire = True
                database.execute(
                    "UPDATE queries SET retain = ?, schema = ? WHERE id = ?",
                    (new.retain, new.schema.serialize().to_pybytes(), known.id),
                )
            added.append(replace(known, retain=new.retain, schema=new.schema))
        self._write_learned(database)
        return added

    def same_query(self, new: NewQuery) -> StoredQuery | None:
        """The query under this name, which must be the same one; None if the name is free.

        As long as no epoch has had it, its results may have other types: its stream was declared anew.
        """
        known = self.query(new.name)
        if known is not None and (known.sql != new.sql or (known.started and known.schema != new.schema)):
            raise self.taken(known)
        return known

    def taken(self, known: StoredQuery) -> HomeError:
        """That a name is not free."""
        return HomeError(
            f"there is a query '{known.name}' already:\n  {known.sql}\nuse another name, or drop it: "
            f"windrow query drop {self._path.parent} {known.name}"
        )

    def described(self, question: str) -> pa.Schema | None:
        """The schema that Spark gave for a statement, if it was ever asked."""
        if question in self._learned:
            return self._learned[question]
        for (schema,) in self.rows("SELECT schema FROM described WHERE question = ?", question):
            return _schema(schema)
        return None

    def note_described(self, question: str, schema: pa.Schema) -> None:
        """Remember what Spark said; written down with the next query that is added, or on demand."""
        self._learned[question] = schema

    def keep_described(self) -> None:
        """Write down what Spark said."""
        if self._learned:
            with self.transaction() as database:
                self._write_learned(database)

    def _write_learned(self, database: sqlite3.Connection) -> None:
        ((count,),) = database.execute("SELECT coalesce(max(rowid), 0) FROM described")
        if count + len(self._learned) > KEPT_DESCRIBED:
            database.execute("DELETE FROM described")
        database.executemany(
            "INSERT OR REPLACE INTO described VALUES (?, ?)",
            [(question, schema.serialize().to_pybytes()) for question, schema in self._learned.items()],
        )
        self._learned.clear()

    @staticmethod
    def set_delivered(database: sqlite3.Connection, delivered: dict[int, int]) -> None:
        """Remember up to which epoch sinks have had their answers, as part of a transaction."""
        database.executemany(
            "UPDATE queries SET delivered = ? WHERE id = ?",
            [(epoch, query) for query, epoch in delivered.items()],
        )

    # streams and epochs

    def progress(self, stream: str) -> Progress:
        """How far a stream has been read."""
        rows = self.rows(
            "SELECT batch, latest, watermark, sealed, idle, clock, rows, late, dead, offsets "
            "FROM progress WHERE stream = ?",
            stream,
        )
        for batch, latest, watermark, sealed, idle, *rest in rows:
            return Progress(batch, latest, watermark, bool(sealed), bool(idle), *rest)
        return Progress()

    def last_epoch(self) -> int:
        """The number of the last committed epoch; -1 before the first."""
        ((epoch,),) = self.rows("SELECT coalesce(max(epoch), -1) FROM epochs")
        return int(epoch)

    def rate(self, stream: str) -> float | None:
        """Rows a second of event time, of late; None as long as nobody can know."""
        recent = self.rows(
            "SELECT rows, watermark FROM epochs WHERE stream = ? AND watermark IS NOT NULL "
            "ORDER BY epoch DESC LIMIT 20",
            stream,
        )
        if len(recent) < 2 or recent[0][1] <= recent[-1][1]:
            return None
        return sum(rows for rows, _ in recent[:-1]) * 1e6 / (recent[0][1] - recent[-1][1])

    def batch_seconds(self, stream: str) -> float | None:
        """How much event time a batch brings, of late; None as long as nobody can know."""
        recent = self.rows(
            "SELECT watermark FROM epochs WHERE stream = ? AND watermark IS NOT NULL AND batch IS NOT NULL "
            "ORDER BY epoch DESC LIMIT 20",
            stream,
        )
        return (recent[0][0] - recent[-1][0]) / 1e6 / (len(recent) - 1) if len(recent) > 1 else None

    def clock(self) -> float:
        """What the home's clock says, by which late rows and dead letters are dated and expire.

        It moves with epochs, by as much as the clock moved since the epochs before, but never back, and never
        by more than `LONGEST_STEP` at once.
        """
        ((clock,),) = self.rows("SELECT clock FROM about")
        return float(clock)

    @staticmethod
    def move_clock(database: sqlite3.Connection, clock: float) -> float:
        """Let the home's clock go on with an epoch that is about to be noted, as part of a transaction; what
        it says then."""
        ((now, before),) = database.execute(
            "SELECT clock, (SELECT max(clock) FROM epochs WHERE epoch > "
            "(SELECT max(epoch) FROM epochs) - ?) FROM about",
            (RECENT_EPOCHS,),
        )
        now = clock if before is None else now + min(max(clock - before, 0.0), LONGEST_STEP)
        database.execute("UPDATE about SET clock = ?", (now,))
        return float(now)

    # files

    def files(self, kind: str, owner: str | None = None) -> list[DataFile]:
        """The files of a kind (and owner), oldest first."""
        rows = self.rows(
            "SELECT path, kind, owner, first_epoch, last_epoch, rows, earliest, latest, level, bytes, "
            "checksum FROM files WHERE kind = ? AND owner = coalesce(?, owner) ORDER BY first_epoch, path",
            kind, owner,
        )  # fmt: skip
        return [DataFile(self._inside(path), *rest) for path, *rest in rows]

    def doomed(self) -> list[tuple[str, float]]:
        """The files that exist no longer and are still on disk, and since when; the latest first."""
        rows = self.rows("SELECT path, clock FROM doomed ORDER BY clock DESC, path")
        return [(self._inside(path), clock) for path, clock in rows]

    def _inside(self, path: str) -> str:
        """The path of a file of the home; an error if it leads elsewhere: files are removed by it."""
        parts = PurePosixPath(path).parts
        if len(parts) < 2 or parts[0] not in FOLDERS or ".." in parts:
            raise HomeError(
                f"{self._path} lists {path!r}, which is no file of a home: somebody else has written there. "
                "Nothing was read or removed by it; put the whole home back from a copy"
            )
        return path

    @staticmethod
    def list_files(database: sqlite3.Connection, files: Iterable[DataFile]) -> None:
        """Let files exist, as part of a transaction."""
        database.executemany(
            "INSERT INTO files (path, kind, owner, first_epoch, last_epoch, rows, earliest, latest, level, "
            "bytes, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (f.path, f.kind, f.owner, f.first_epoch, f.last_epoch, f.rows, f.earliest, f.latest, f.level,
                 f.bytes, f.checksum)
                for f in files
            ],
        )  # fmt: skip

    @staticmethod
    def forget_files(
        database: sqlite3.Connection, paths: Iterable[str], doomed_at: float | None = None
    ) -> None:
        """Let files exist no longer. Doomed ones stay on disk for those who are reading them."""
        paths = list(paths)
        database.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in paths])
        if doomed_at is not None:
            database.executemany(
                "INSERT OR REPLACE INTO doomed VALUES (?, ?)", [(path, doomed_at) for path in paths]
            )


@lru_cache(10_000)  # thousands of queries have few schemas, and reading one takes 10 µs
def _schema(stored: bytes) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(stored))


@lru_cache(10_000)  # the name of a schema object takes longer to find than that of its bytes
def _stored_schema_id(stored: bytes) -> str:
    return _schema_id(_schema(stored))


@lru_cache(10_000)
def _schema_id(schema: pa.Schema) -> str:
    return sha256(schema.to_string().encode()).hexdigest()[:16]

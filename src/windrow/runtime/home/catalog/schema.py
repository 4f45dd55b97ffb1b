"""The tables of the catalog, and how a catalog of an earlier format becomes one of the present format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.runtime.home.records import OPERATORS

if TYPE_CHECKING:
    import sqlite3

FORMAT = 7

QUERIES = """
CREATE TABLE about (
    format INTEGER NOT NULL, token TEXT, owner TEXT, clock REAL NOT NULL DEFAULT 0);
CREATE TABLE relations (
    name TEXT PRIMARY KEY COLLATE NOCASE, kind TEXT NOT NULL, definition TEXT NOT NULL);
CREATE TABLE queries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL COLLATE NOCASE, sql TEXT NOT NULL,
    schema BLOB NOT NULL, retain INTEGER,
    dropped INTEGER NOT NULL DEFAULT 0, started INTEGER NOT NULL DEFAULT 0,
    sealed INTEGER NOT NULL DEFAULT 0, complete_after INTEGER,
    quarantined TEXT, quarantined_epoch INTEGER, delivered INTEGER,
    answers INTEGER NOT NULL DEFAULT 0, latest_end INTEGER);
CREATE UNIQUE INDEX live_queries ON queries (name) WHERE NOT dropped;
"""
STREAMS = """
CREATE TABLE query_streams (
    query INTEGER NOT NULL, place INTEGER NOT NULL, stream TEXT NOT NULL COLLATE NOCASE,
    PRIMARY KEY (query, place)) WITHOUT ROWID;
"""
PLAN = """
CREATE TABLE bound (query INTEGER PRIMARY KEY, record TEXT NOT NULL);
CREATE TABLE inputs (stream TEXT PRIMARY KEY COLLATE NOCASE, plan TEXT NOT NULL);
CREATE TABLE operators (
    id INTEGER PRIMARY KEY AUTOINCREMENT, shared INTEGER NOT NULL, node INTEGER, price TEXT NOT NULL,
    evaluated INTEGER, entries INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,
    groups INTEGER NOT NULL DEFAULT 0);
CREATE TABLE ports (
    operator INTEGER NOT NULL, port INTEGER NOT NULL, stream TEXT NOT NULL COLLATE NOCASE,
    pattern TEXT NOT NULL, PRIMARY KEY (operator, port)) WITHOUT ROWID;
CREATE TABLE members (
    operator INTEGER NOT NULL, query INTEGER NOT NULL, joined INTEGER, after INTEGER NOT NULL,
    until INTEGER NOT NULL, PRIMARY KEY (operator, query)) WITHOUT ROWID;
CREATE INDEX members_by_query ON members (query);
"""
EPOCHS = """
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


def make_tables(database: sqlite3.Connection) -> None:
    """Make the tables of an empty catalog, as part of a transaction."""
    for tables in (QUERIES, STREAMS, PLAN, EPOCHS):
        _make(database, tables)
    database.execute("INSERT INTO about (format) VALUES (?)", (FORMAT,))


def _make(database: sqlite3.Connection, tables: str) -> None:
    for statement in filter(str.strip, tables.split(";\n")):
        database.execute(statement)


def from_format_4(database: sqlite3.Connection) -> None:
    """Bring the tables from format 4 to format 5, as part of a transaction.

    Format 4 did not know who holds a home, how old its rows are by the clock of its epochs, nor which batches
    Spark's own record of a stream is about.
    """
    for column in ("token TEXT", "owner TEXT", "clock REAL NOT NULL DEFAULT 0"):
        database.execute(f"ALTER TABLE about ADD COLUMN {column}")
    database.execute("UPDATE about SET clock = (SELECT coalesce(max(clock), 0) FROM epochs)")
    database.execute("ALTER TABLE progress ADD COLUMN offsets TEXT")
    database.execute("UPDATE about SET format = 5")


def from_format_5(database: sqlite3.Connection) -> None:
    """Bring the tables from format 5 to format 6, as part of a transaction.

    Format 5 knew trees of one stream, where there are operators now, kept their slices by stream, and kept
    neither the passes over a batch nor what statements are bound to: both are made anew, once.
    """
    database.execute("ALTER TABLE members RENAME TO old_members")
    database.execute("DROP INDEX members_by_query")
    _make(database, PLAN)
    database.execute(
        "INSERT INTO operators (id, shared, node, price, entries, bytes) "
        "SELECT id, shared, node, '[0.0, 0.0, 0.0]', entries, bytes FROM trees"
    )
    database.execute("INSERT INTO ports SELECT id, 0, stream, 'monotonic' FROM trees")
    database.execute("INSERT INTO members SELECT * FROM old_members")
    ((last,),) = database.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'trees'")
    database.execute("DELETE FROM sqlite_sequence WHERE name = 'operators'")
    database.execute("INSERT INTO sqlite_sequence VALUES ('operators', ?)", (last,))
    for table in ("old_members", "trees"):
        database.execute(f"DROP TABLE {table}")
    database.execute("UPDATE files SET owner = ? WHERE kind = 'slices'", (OPERATORS,))
    database.execute("UPDATE about SET format = 6")


def from_format_6(database: sqlite3.Connection) -> None:
    """Bring the tables from format 6 to format 7, as part of a transaction.

    A query of format 6 had one stream.
    """
    _make(database, STREAMS)
    database.execute("INSERT INTO query_streams SELECT id, 0, stream FROM queries")
    database.execute("ALTER TABLE queries DROP COLUMN stream")
    database.execute("UPDATE about SET format = 7")

"""The tables of the catalog, and how a catalog of the format before becomes one of the present format."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

FORMAT = 5

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


def make_tables(database: sqlite3.Connection) -> None:
    """Make the tables of an empty catalog, as part of a transaction."""
    for statement in SCHEMA.split(";\n"):
        if statement.strip():
            database.execute(statement)
    database.execute("INSERT INTO about (format) VALUES (?)", (FORMAT,))


def from_format_4(database: sqlite3.Connection) -> None:
    """Bring the tables from format 4 to the present one, as part of a transaction.

    Format 4 did not know who holds a home, how old its rows are by the clock of its epochs, nor which batches
    Spark's own record of a stream is about.
    """
    for column in ("token TEXT", "owner TEXT", "clock REAL NOT NULL DEFAULT 0"):
        database.execute(f"ALTER TABLE about ADD COLUMN {column}")
    database.execute("UPDATE about SET clock = (SELECT coalesce(max(clock), 0) FROM epochs)")
    database.execute("ALTER TABLE progress ADD COLUMN offsets TEXT")
    database.execute("UPDATE about SET format = ?", (FORMAT,))

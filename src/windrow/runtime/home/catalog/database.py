"""The database of a catalog: one connection, one thread at a time, and all or nothing."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING, Any

from windrow.errors import HomeError
from windrow.runtime.home.durable import explained

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Database:
    """What all tables of a catalog have in common."""

    def __init__(self, path: Path) -> None:
        self._path = path
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

"""What other processes ask of the engine that runs on a home, and what it answered, in the catalog.

Requests that are written together have numbers one behind the other, because one transaction writes them.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from windrow.runtime.home.catalog.database import Database
from windrow.runtime.home.records import Answer, Refusal, Request

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from windrow.runtime.home.records import RequestKind


class RequestsTable(Database):
    """The table `requests`."""

    def waiting_requests(self) -> list[Request]:
        """The requests that have not been answered, in the order in which they came."""
        rows = self.rows(
            "SELECT id, coalesce(together, id), kind, name, sql, retain FROM requests "
            "WHERE NOT answered ORDER BY id"
        )
        return [Request(*row) for row in rows]

    def last_asked(self, name: str) -> RequestKind | None:
        """What is asked for under a name and not answered, the last of it; None if nothing is."""
        rows = self.rows(
            "SELECT kind FROM requests WHERE name = ? AND NOT answered ORDER BY id DESC LIMIT 1", name
        )
        return rows[0][0] if rows else None

    def names_asked_for(self) -> list[str]:
        """The names of the queries that are asked for and not added."""
        rows = self.rows("SELECT name FROM requests WHERE kind = 'add' AND NOT answered")
        return [name for (name,) in rows]

    def missing_queries(self) -> list[tuple[Request, Refusal | None]]:
        """The queries that were asked for and are not there: they wait, or were refused."""
        rows = self.rows(
            "SELECT id, coalesce(together, id), kind, name, sql, retain, refused FROM requests "
            "WHERE kind = 'add' AND (NOT answered OR refused IS NOT NULL) ORDER BY id"
        )
        return [(Request(*rest), _refusal(refused)) for *rest, refused in rows]

    def answers(self, first: int, last: int) -> list[Answer]:
        """What has become of the requests with these numbers; withdrawn ones are not among them."""
        rows = self.rows(
            "SELECT name, answered, refused FROM requests WHERE id BETWEEN ? AND ? ORDER BY id", first, last
        )
        return [Answer(name, bool(answered), _refusal(refused)) for name, answered, refused in rows]

    @staticmethod
    def write_request(
        database: sqlite3.Connection,
        together: int | None,
        kind: RequestKind,
        name: str,
        sql: str,
        retain: int | None,
        clock: float,
    ) -> Request:
        """Ask for something, as part of a transaction; `together`: the first of those to be done with it."""
        found = database.execute(
            "INSERT INTO requests (together, kind, name, sql, retain, clock) VALUES (?, ?, ?, ?, ?, ?)",
            (together, kind, name, sql, retain, clock),
        )
        assert found.lastrowid is not None
        return Request(found.lastrowid, together or found.lastrowid, kind, name, sql, retain)

    @staticmethod
    def accept_requests(database: sqlite3.Connection, numbers: Iterable[int]) -> int:
        """Answer that requests have been done, as part of a transaction; how many were still waiting."""
        return database.executemany(
            "UPDATE requests SET answered = 1 WHERE id = ? AND NOT answered", [(n,) for n in numbers]
        ).rowcount

    @staticmethod
    def refuse_requests(database: sqlite3.Connection, refusals: Iterable[tuple[int, Refusal]]) -> None:
        """Answer why requests are not done, by their numbers, as part of a transaction."""
        database.executemany(
            "UPDATE requests SET answered = 1, refused = ? WHERE id = ? AND NOT answered",
            [(json.dumps(asdict(refusal)), number) for number, refusal in refusals],
        )

    @staticmethod
    def forget_requests(database: sqlite3.Connection, first: int, last: int) -> None:
        """Forget the requests with these numbers, as part of a transaction."""
        database.execute("DELETE FROM requests WHERE id BETWEEN ? AND ?", (first, last))

    @staticmethod
    def forget_waiting(database: sqlite3.Connection, first: int, last: int) -> int:
        """Forget the requests with these numbers that have not been answered, as part of a transaction; how
        many there were."""
        return database.execute(
            "DELETE FROM requests WHERE id BETWEEN ? AND ? AND NOT answered", (first, last)
        ).rowcount

    @staticmethod
    def forget_refusals(database: sqlite3.Connection, name: str) -> None:
        """Forget what was refused under a name, as part of a transaction."""
        database.execute("DELETE FROM requests WHERE name = ? AND refused IS NOT NULL", (name,))

    @staticmethod
    def withdraw_query(database: sqlite3.Connection, name: str) -> bool:
        """Forget that a query was asked for that waits, or was refused, as part of a transaction; whether one
        was."""
        mine = "name = ? AND kind = 'add' AND (NOT answered OR refused IS NOT NULL)"
        return database.execute(f"DELETE FROM requests WHERE {mine}", (name,)).rowcount > 0

    @staticmethod
    def forget_old_answers(database: sqlite3.Connection, before: float) -> None:
        """Forget answers to requests from before this time, as part of a transaction; not that a query was
        refused."""
        database.execute(
            "DELETE FROM requests WHERE answered AND (refused IS NULL OR kind <> 'add') AND clock < ?",
            (before,),
        )


def _refusal(refused: str | None) -> Refusal | None:
    return None if refused is None else Refusal(**json.loads(refused))

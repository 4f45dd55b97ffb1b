"""Requests: what other processes ask of the engine that runs on a home, and what it answers.

A client writes a request to the catalog; the engine does it and answers by one transaction, so that a
crash between the two cannot be: a request is waiting, or it is done and answered. Where no engine runs,
it waits for the next one. Requests that were written together are done together, or none of them.

A look at requests that are not there is one SELECT on an empty index, 20 µs.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from windrow.errors import StatementError, WindrowError, suggestion
from windrow.runtime.home.lock import is_held

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from windrow.runtime.home.catalog import Catalog

Kind = Literal["add", "drop", "resume"]
KEPT_SECONDS = 600
"""How long an answer that nobody came for is kept; a refusal is, until its name is used or dropped."""


LOOK_SECONDS = 0.05
"""How often a client looks for its answer."""


class Withdrawn(WindrowError):
    """A request was withdrawn while it was being done."""


@dataclass(frozen=True)
class Request:
    """To add a query, to drop one, or to take one out of quarantine."""

    id: int
    together: int
    kind: Kind
    name: str
    sql: str
    """The SELECT of a query to be added."""
    retain: int | None


@dataclass(frozen=True)
class Refusal:
    """Why a request was refused; with a place in its SQL, if there is one."""

    problem: str
    start: int = 0
    end: int = 0
    hint: str = ""
    companion: bool = False
    """Whether nothing was wrong with it, but with one that came together with it."""

    @classmethod
    def of(cls, error: Exception) -> Refusal:
        """The refusal that an error means."""
        if isinstance(error, StatementError):
            return cls(error.problem, error.start, error.end, error.hint)
        return cls(str(error) if isinstance(error, WindrowError) else f"{type(error).__name__}: {error}")

    def error(self, text: str, offset: int = 0) -> StatementError:
        """The error that the engine raised; its SQL begins at an offset of this text."""
        place = (self.start + offset, self.end + offset) if self.end else (0, 0)
        return StatementError(self.problem, text, *place, self.hint)


class Requests:
    """The requests of a home."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    # clients

    def ask_to_add(self, queries: Iterable[tuple[str, str, int | None]], clock: float) -> list[int]:
        """Ask for queries (name, SELECT, retain), together; the numbers of the requests."""
        with self._catalog.transaction() as database:
            asked: list[Request] = []
            for name, sql, retain in queries:
                self._check_free(name)
                database.execute("DELETE FROM requests WHERE name = ? AND refused IS NOT NULL", (name,))
                asked.append(_write(database, asked, "add", name, sql, retain, clock))
            _forget_old(database, clock)
        return [request.id for request in asked]

    def ask_to_drop(self, names: Iterable[str], clock: float) -> list[int]:
        """Ask to drop queries, together; those that are only asked for are withdrawn at once."""
        with self._catalog.transaction() as database:
            asked: list[Request] = []
            for name in self.withdraw(database, names):
                asked.append(_write(database, asked, "drop", name, "", None, clock))
            _forget_old(database, clock)
        return [request.id for request in asked]

    def ask_to_resume(self, names: Iterable[str], clock: float) -> list[int]:
        """Ask to take queries out of quarantine, together; the numbers of the requests."""
        with self._catalog.transaction() as database:
            asked: list[Request] = []
            for name in names:
                if self._catalog.query(name) is None:
                    raise self.unknown(name)
                asked.append(_write(database, asked, "resume", name, "", None, clock))
            _forget_old(database, clock)
        return [request.id for request in asked]

    def withdraw(self, database: sqlite3.Connection, names: Iterable[str]) -> list[str]:
        """Take back what was asked for under these names; those that are names of queries."""
        left: dict[str, None] = {}
        for name in names:
            known = self._catalog.query(name)
            mine = "name = ? AND kind = 'add' AND (NOT answered OR refused IS NOT NULL)"
            withdrawn = database.execute(f"DELETE FROM requests WHERE {mine}", (name,)).rowcount
            if known is not None:
                left[known.name] = None
            elif not withdrawn:
                raise self.unknown(name)
        return list(left)

    def unknown(self, name: str) -> WindrowError:
        """That there is no query of this name."""
        asked = self._catalog.rows("SELECT name FROM requests WHERE kind = 'add' AND NOT answered")
        names = [*(query.name for query in self._catalog.queries()), *(asking for (asking,) in asked)]
        few = f"{', '.join(names[:10])}{', …' if len(names) > 10 else ''}"
        known = f"this home has: {few}" if names else "this home has none"
        return WindrowError(f"there is no query '{name}'; {suggestion(name, names) or known}")

    def take_answers(self, numbers: Sequence[int]) -> dict[str, Refusal | None] | None:
        """The answers to requests by name, which are then forgotten; None while they wait.

        A request without an answer was withdrawn by somebody.
        """
        first, last = numbers[0], numbers[-1]  # written by one transaction, so one behind the other
        found = self._catalog.rows(
            "SELECT name, answered, refused FROM requests WHERE id BETWEEN ? AND ? ORDER BY id", first, last
        )
        if not all(answered for _, answered, _ in found):
            return None
        with self._catalog.transaction() as database:
            database.execute("DELETE FROM requests WHERE id BETWEEN ? AND ?", (first, last))
        return {name: _refusal(refused) for name, _, refused in found}

    def wait(self, numbers: Sequence[int], home: Path) -> dict[str, Refusal | None] | None:
        """The answers to requests by name; None if no engine runs on the home, or it stopped before it
        looked."""
        while True:
            running = is_held(home)  # before the look: an engine that answered may have stopped since
            answers = self.take_answers(numbers)
            if answers is not None or not running:
                return answers
            time.sleep(LOOK_SECONDS)

    def take_back(self, numbers: Sequence[int]) -> bool:
        """Forget requests, unless they have been answered meanwhile."""
        with self._catalog.transaction() as database:
            gone = database.execute(
                "DELETE FROM requests WHERE id BETWEEN ? AND ? AND NOT answered", (numbers[0], numbers[-1])
            )
        return gone.rowcount == len(numbers)

    def _check_free(self, name: str) -> None:
        """A name is free unless a query has it, or is to have it; what comes last counts."""
        asked = self._catalog.rows(
            "SELECT kind FROM requests WHERE name = ? AND NOT answered ORDER BY id DESC LIMIT 1", name
        )
        if asked == [("add",)]:
            raise WindrowError(f"somebody has asked for a query '{name}' already; use another name")
        known = None if asked == [("drop",)] else self._catalog.query(name)
        if known is not None:
            raise self._catalog.taken(known)

    # the engine

    def waiting(self) -> list[list[Request]]:
        """Those that wait, in the order in which they came, those that came together in one list."""
        rows = self._catalog.rows(
            "SELECT id, coalesce(together, id), kind, name, sql, retain FROM requests "
            "WHERE NOT answered ORDER BY id"
        )
        return [list(group) for _, group in groupby((Request(*row) for row in rows), lambda r: r.together)]

    @staticmethod
    def accept(database: sqlite3.Connection, group: Iterable[Request]) -> None:
        """Answer that requests have been done, as part of the transaction that does them."""
        numbers = [(request.id,) for request in group]
        answer = "UPDATE requests SET answered = 1 WHERE id = ? AND NOT answered"
        if database.executemany(answer, numbers).rowcount < len(numbers):
            raise Withdrawn

    @staticmethod
    def refuse(
        database: sqlite3.Connection, group: Iterable[Request], culprit: Request, error: Exception
    ) -> None:
        """Answer why requests are not done, as part of a transaction: one of them has this error."""
        companion = Refusal(f"nothing was done, because '{culprit.name}' was refused", companion=True)
        refusals = [(Refusal.of(error) if r == culprit else companion, r.id) for r in group]
        database.executemany(
            "UPDATE requests SET answered = 1, refused = ? WHERE id = ? AND NOT answered",
            [(json.dumps(asdict(refusal)), number) for refusal, number in refusals],
        )

    # people

    def added(self) -> list[tuple[Request, Refusal | None]]:
        """The queries that were asked for and are not there: they wait, or were refused."""
        rows = self._catalog.rows(
            "SELECT id, coalesce(together, id), kind, name, sql, retain, refused FROM requests "
            "WHERE kind = 'add' AND (NOT answered OR refused IS NOT NULL) ORDER BY id"
        )
        return [(Request(*rest), _refusal(refused)) for *rest, refused in rows]


def _write(
    database: sqlite3.Connection,
    before: list[Request],
    kind: Kind,
    name: str,
    sql: str,
    retain: int | None,
    clock: float,
) -> Request:
    together = before[0].id if before else None
    found = database.execute(
        "INSERT INTO requests (together, kind, name, sql, retain, clock) VALUES (?, ?, ?, ?, ?, ?)",
        (together, kind, name, sql, retain, clock),
    )
    assert found.lastrowid is not None
    return Request(found.lastrowid, together or found.lastrowid, kind, name, sql, retain)


def _forget_old(database: sqlite3.Connection, clock: float) -> None:
    database.execute(
        "DELETE FROM requests WHERE answered AND (refused IS NULL OR kind <> 'add') AND clock < ?",
        (clock - KEPT_SECONDS,),
    )


def _refusal(refused: str | None) -> Refusal | None:
    return None if refused is None else Refusal(**json.loads(refused))

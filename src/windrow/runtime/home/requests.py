"""Requests: what other processes ask of the engine that runs on a home, and what it answers.

A client writes a request to the catalog; the engine does it and answers by one transaction, so that a
crash between the two cannot be: a request is waiting, or it is done and answered. Where no engine runs,
it waits for the next one. Requests that were written together are done together, or none of them.

A look at requests that are not there is one SELECT on an empty index, 20 µs.
"""

from __future__ import annotations

import time
from itertools import groupby
from typing import TYPE_CHECKING

from windrow.errors import WindrowError, suggestion
from windrow.runtime.home.catalog import Catalog
from windrow.runtime.home.lock import is_held
from windrow.runtime.home.records import Refusal

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from windrow.runtime.home.records import Request, RequestKind

KEPT_SECONDS = 600
"""How long an answer that nobody came for is kept; a refusal is, until its name is used or dropped."""
LOOK_SECONDS = 0.05
"""How often a client looks for its answer."""


class Withdrawn(WindrowError):
    """A request was withdrawn while it was being done."""


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
                self._catalog.forget_refusals(database, name)
                asked.append(self._write(database, asked, "add", name, clock, sql, retain))
            self._forget_old(database, clock)
        return [request.id for request in asked]

    def ask_to_drop(self, names: Iterable[str], clock: float) -> list[int]:
        """Ask to drop queries, together; those that are only asked for are withdrawn at once."""
        with self._catalog.transaction() as database:
            asked: list[Request] = []
            for name in self.withdraw(database, names):
                asked.append(self._write(database, asked, "drop", name, clock))
            self._forget_old(database, clock)
        return [request.id for request in asked]

    def ask_to_resume(self, names: Iterable[str], clock: float) -> list[int]:
        """Ask to take queries out of quarantine, together; the numbers of the requests."""
        with self._catalog.transaction() as database:
            asked: list[Request] = []
            for name in names:
                if self._catalog.query(name) is None:
                    raise self.unknown(name)
                asked.append(self._write(database, asked, "resume", name, clock))
            self._forget_old(database, clock)
        return [request.id for request in asked]

    def withdraw(self, database: sqlite3.Connection, names: Iterable[str]) -> list[str]:
        """Take back what was asked for under these names; those that are names of queries."""
        left: dict[str, None] = {}
        for name in names:
            known = self._catalog.query(name)
            withdrawn = self._catalog.withdraw_query(database, name)
            if known is not None:
                left[known.name] = None
            elif not withdrawn:
                raise self.unknown(name)
        return list(left)

    def unknown(self, name: str) -> WindrowError:
        """That there is no query of this name."""
        names = [*(query.name for query in self._catalog.queries()), *self._catalog.names_asked_for()]
        few = f"{', '.join(names[:10])}{', …' if len(names) > 10 else ''}"
        known = f"this home has: {few}" if names else "this home has none"
        return WindrowError(f"there is no query '{name}'; {suggestion(name, names) or known}")

    def take_answers(self, numbers: Sequence[int]) -> dict[str, Refusal | None] | None:
        """The answers to requests by name, which are then forgotten; None while they wait.

        A request without an answer was withdrawn by somebody.
        """
        first, last = numbers[0], numbers[-1]  # written by one transaction, so one behind the other
        found = self._catalog.answers(first, last)
        if not all(answer.answered for answer in found):
            return None
        with self._catalog.transaction() as database:
            self._catalog.forget_requests(database, first, last)
        return {answer.name: answer.refusal for answer in found}

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
            gone = self._catalog.forget_waiting(database, numbers[0], numbers[-1])
        return gone == len(numbers)

    def _check_free(self, name: str) -> None:
        """A name is free unless a query has it, or is to have it; what comes last counts."""
        asked = self._catalog.last_asked(name)
        if asked == "add":
            raise WindrowError(f"somebody has asked for a query '{name}' already; use another name")
        known = None if asked == "drop" else self._catalog.query(name)
        if known is not None:
            raise self._catalog.taken(known)

    def _write(
        self,
        database: sqlite3.Connection,
        before: list[Request],
        kind: RequestKind,
        name: str,
        clock: float,
        sql: str = "",
        retain: int | None = None,
    ) -> Request:
        together = before[0].id if before else None
        return self._catalog.write_request(database, together, kind, name, sql, retain, clock)

    def _forget_old(self, database: sqlite3.Connection, clock: float) -> None:
        self._catalog.forget_old_answers(database, clock - KEPT_SECONDS)

    # the engine

    def waiting(self) -> list[list[Request]]:
        """The requests that wait, in the order in which they came, those that came together in one list."""
        waiting = self._catalog.waiting_requests()
        return [list(group) for _, group in groupby(waiting, lambda request: request.together)]

    @staticmethod
    def accept(database: sqlite3.Connection, group: Iterable[Request]) -> None:
        """Answer that requests have been done, as part of the transaction that does them."""
        numbers = [request.id for request in group]
        if Catalog.accept_requests(database, numbers) < len(numbers):
            raise Withdrawn

    @staticmethod
    def refuse(
        database: sqlite3.Connection, group: Iterable[Request], culprit: Request, error: Exception
    ) -> None:
        """Answer why requests are not done, as part of a transaction: one of them has this error."""
        companion = Refusal(f"nothing was done, because '{culprit.name}' was refused", companion=True)
        Catalog.refuse_requests(
            database, [(r.id, Refusal.of(error) if r == culprit else companion) for r in group]
        )

    # people

    def added(self) -> list[tuple[Request, Refusal | None]]:
        """The queries that were asked for and are not there: they wait, or were refused."""
        return self._catalog.missing_queries()

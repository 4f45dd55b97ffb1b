"""Who may write a home: the engine that took its lock last, by a token that every transaction compares.

A lock keeps a second engine from starting; it cannot stop a first one that goes on without it: its thread
was not waited for, the lock file was deleted, the file system does not share locks. So whoever takes the
lock also leaves a token in the catalog, and a transaction that does not find its own token there writes
nothing.
"""

from __future__ import annotations

import os
import socket
import uuid
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from windrow.errors import HomeError
from windrow.runtime.home.lock import holding

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

    from windrow.runtime.home.catalog import Catalog


class Ownership:
    """One engine's claim to a home."""

    def __init__(self, home: Path, catalog: Catalog) -> None:
        self._home = home
        self._catalog = catalog
        self._token: str | None = None

    @property
    def is_ours(self) -> bool:
        """Whether the home was taken, and has not been let go. Somebody else may have taken it since."""
        return self._token is not None

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Take the home and hold it, or raise HomeInUse."""
        with holding(self._home):
            token = uuid.uuid4().hex
            with self._catalog.transaction() as database:
                self._catalog.set_owner(database, token, _who())
            self._token = token
            try:
                yield
            finally:
                self._token = None  # a thread that was left behind commits nothing from now on

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction of the engine that holds the home; nothing is written if that is another by now."""
        with self._catalog.transaction() as database:
            token, owner = self._catalog.owner()
            if self._token is None:
                raise HomeError(f"this engine has let go of {self._home} and writes nothing more there")
            if token != self._token:
                raise HomeError(
                    f"{self._home} was taken over by {owner}. This engine has written nothing since then, "
                    "and stops: one engine runs on a home at a time. If that was not meant to be, see that "
                    f"nobody deletes {self._home / 'lock'}, and that its file system shares locks (flock) "
                    "between machines"
                )
            yield database


def _who() -> str:
    """This process, as people know it."""
    return f"process {os.getpid()} on {socket.gethostname()} at {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"

"""The lock of a home: held by the engine that runs on it, and by nobody when that has died.

A file can be deleted under its holder, and flock is not shared by every file system, so the lock alone keeps
nobody from writing: it is the first word. The last one has the token that whoever holds the lock leaves in
the catalog (`Home.transaction`).
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

from windrow.errors import HomeError
from windrow.runtime.home.durable import explained

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ATTEMPTS, PAUSE = 10, 0.02
"""Somebody who only looks holds the lock for a moment."""


class HomeInUse(HomeError):
    """An engine is running on a home."""

    def __init__(self, home: Path) -> None:
        super().__init__(f"another engine is running on {home}; stop it, or use another home")


@contextmanager
def holding(home: Path) -> Iterator[None]:
    """Hold the lock of a home, or raise HomeInUse."""
    lock = _locked(home)
    with lock:
        yield


def _locked(home: Path) -> IO[str]:
    for _ in range(ATTEMPTS):
        try:
            lock = (home / "lock").open("a")
        except OSError as error:
            raise HomeError(f"cannot run on {home}: {explained(error)}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is(lock, home / "lock"):
                return lock
        except BlockingIOError:
            pass
        except OSError as error:
            lock.close()
            raise HomeError(
                f"cannot run on {home}, where files cannot be locked: {explained(error)}"
            ) from error
        lock.close()
        time.sleep(PAUSE)
    raise HomeInUse(home)


def _is(lock: IO[str], path: Path) -> bool:
    """Whether a path still leads to the file that was opened: a lock on a deleted one keeps nobody out."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(lock.fileno()), path.stat())
    return False


def check_free(home: Path) -> None:
    """Raise HomeInUse if an engine is running on a home; where there is none, none does."""
    if is_held(home):
        raise HomeInUse(home)


def is_held(home: Path) -> bool:
    """Whether an engine is running on a home now."""
    with suppress(FileNotFoundError), (home / "lock").open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False

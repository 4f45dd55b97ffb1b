"""The lock of a home: held by the engine that runs on it, and by nobody when that has died."""

from __future__ import annotations

import fcntl
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from windrow.errors import HomeError
from windrow.runtime.durable import explained

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ATTEMPTS, PAUSE = 10, 0.02
"""Somebody who only looks holds the lock for a moment."""


@contextmanager
def holding(home: Path) -> Iterator[None]:
    """Hold the lock of a home, or raise a HomeError."""
    try:
        lock = (home / "lock").open("a")
    except OSError as error:
        raise HomeError(f"cannot run on {home}: {explained(error)}") from error
    with lock:
        for attempt in range(ATTEMPTS):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if attempt == ATTEMPTS - 1:
                    raise _in_use(home) from error
                time.sleep(PAUSE)
        yield


def check_free(home: Path) -> None:
    """Raise a HomeError if an engine is running on a home; where there is none, none does."""
    if is_held(home):
        raise _in_use(home)


def _in_use(home: Path) -> HomeError:
    return HomeError(f"another engine is running on {home}; stop it, or use another home")


def is_held(home: Path) -> bool:
    """Whether an engine is running on a home now."""
    with suppress(FileNotFoundError), (home / "lock").open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False

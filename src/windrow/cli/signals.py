"""Ctrl-C and a polite kill, as something to wait for."""

from __future__ import annotations

import os
import select
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Stop:
    """Whether a signal has come.

    No `threading.Event`: a handler runs in the middle of whatever the main thread does. Setting an event
    takes its lock, which the main thread may hold just then, because it is about to wait for that event; it
    would wait for itself for ever. Writing to a pipe takes no lock.
    """

    def __init__(self) -> None:
        self._came = False
        self._read, self._write = os.pipe()

    def is_set(self) -> bool:
        """Whether it has come by now."""
        return self._came

    def set(self) -> None:
        """Say that it has come, once."""
        self._came = True
        os.write(self._write, b"!")

    def wait(self, seconds: float) -> bool:
        """Wait for it, at most for some time; whether it has come."""
        select.select([self._read], [], [], seconds)
        return self._came

    def close(self) -> None:
        """Give the pipe back."""
        os.close(self._read)
        os.close(self._write)


@contextmanager
def stop_signals() -> Iterator[Stop]:
    """Set by SIGINT and SIGTERM, in place of Spark's own handler, which would cancel the batch that is under
    way. A second one interrupts at once."""
    stopped = Stop()

    def stop(number: int, _: object) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        stopped.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        stopped.close()

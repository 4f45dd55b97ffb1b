"""Ctrl-C and a polite kill, as an event to wait for."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def stop_signals() -> Iterator[Event]:
    """An event that SIGINT and SIGTERM set, in place of Spark's own handler, which would cancel the batch
    that is under way. A second one interrupts at once."""
    stopped = Event()

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

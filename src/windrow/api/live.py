"""A running engine: the handle that `Engine.start` returns."""

from __future__ import annotations

import time
from threading import Event, Thread
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from windrow.runtime.reader import Reader


class Live:
    """Streams that are being processed; stop it, or use it as a context manager.

    `beat` is called again and again while it runs, for what must happen without rows.
    """

    def __init__(self, held: ExitStack, beat: Callable[[list[Reader]], None], every: float) -> None:
        self._readers: list[Reader] = []
        self._held = held
        self._beat = beat
        self._every = every
        self._stopping = Event()
        self._failure: Exception | None = None
        self._heart = Thread(target=self._keep_beating, name="windrow heartbeat", daemon=True)

    def begin(self, readers: list[Reader]) -> None:
        """Take over readers that have been started."""
        self._readers = readers
        self._heart.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def active(self) -> bool:
        """Whether every stream is still being processed."""
        return self._failure is None and all(reader.active for reader in self._readers)

    def process_available(self) -> None:
        """Wait until all rows that are there now have been processed."""
        for reader in self._readers:
            reader.process_available()
        if self._failure is not None:
            raise self._failure

    def wait(self, seconds: float | None = None) -> None:
        """Wait until a stream stops, or for some time; raises what stopped it."""
        until = None if seconds is None else time.monotonic() + seconds
        while self.active and (until is None or time.monotonic() < until):
            self._readers[0].wait(0.2)
        if self._failure is not None:
            raise self._failure
        for reader in self._readers:
            if not reader.active:
                reader.wait()

    def stop(self) -> None:
        """Stop; an epoch that is under way is given up, whole, and a later start begins with it again."""
        self._stopping.set()
        try:
            for reader in self._readers:
                reader.stop()
            if self._heart.is_alive():
                self._heart.join()
        finally:
            self._held.close()

    def _keep_beating(self) -> None:
        while not self._stopping.wait(self._every):
            try:
                self._beat([reader for reader in self._readers if reader.active])
            except Exception as error:
                self._failure = error
                for reader in self._readers:
                    reader.stop()
                return

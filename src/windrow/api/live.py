"""A running engine: the handle that `Engine.start` returns."""

from __future__ import annotations

import time
from threading import Event, Thread
from typing import TYPE_CHECKING, Self

from windrow.runtime.spark.blame import Stopped

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from windrow.api.readers import Readers
    from windrow.runtime.epochs.reader import Reader


class Live:
    """Streams that are being processed; stop it, or use it as a context manager.

    While it runs, its heart beats, for what must happen without rows, and a clerk does what other processes
    ask for: in a thread of its own, so that no request waits for an epoch that the heart waits for.
    """

    def __init__(
        self,
        held: ExitStack,
        readers: Readers,
        beat: Callable[[], None],
        serve: Callable[[], None],
        every: float,
    ) -> None:
        """`held` is closed when it is stopped; `beat` and `serve` are called every so many seconds."""
        self._held = held
        self._reading = readers
        self._every = every
        self._stopping = Event()
        self._ended: list[Reader] = []
        self._failure: BaseException | None = None
        self._heart = Thread(target=self._repeat, args=[beat], name="windrow heartbeat", daemon=True)
        self._clerk = Thread(target=self._repeat, args=[serve], name="windrow requests", daemon=True)

    def begin(self) -> None:
        """Let time go on and take requests, now that the readers have been started."""
        self._heart.start()
        self._clerk.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def active(self) -> bool:
        """Whether every stream is still being processed."""
        return self._failure is None and all(reader.active for reader in self._readers)

    @property
    def _readers(self) -> list[Reader]:
        return self._ended or self._reading.all()

    def process_available(self) -> None:
        """Wait until all rows that are there now have been processed."""
        while self._reading.keep_up():
            self._stopping.wait(0.05)
        readers: list[Reader] = []
        while readers != self._readers:  # one may have been replaced meanwhile
            readers = self._readers
            for reader in readers:
                reader.process_available(lambda: all(r.is_waiting or r.is_held_back for r in self._readers))
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
            for thread in (self._heart, self._clerk):
                if thread.is_alive():
                    thread.join()
            self._ended = self._readers
        finally:
            self._held.close()

    def _repeat(self, work: Callable[[], None]) -> None:
        while not self._stopping.wait(self._every) and self._failure is None:
            try:
                work()
            except Stopped:
                continue  # an epoch that was shared with a stream that is being stopped
            except BaseException as error:  # also sys.exit() in a callback: nobody would see a heart stop
                self._failure = error
                for reader in self._readers:
                    reader.stop()
                return

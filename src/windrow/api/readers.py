"""The readers of an engine that runs: one a stream, replaced when its queries need other columns."""

from __future__ import annotations

import time
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING

from windrow.api.pace import Pace
from windrow.columns import quoted
from windrow.runtime.epochs.listening import Listening
from windrow.runtime.epochs.reader import Reader
from windrow.runtime.logs import LOG

if TYPE_CHECKING:
    from collections.abc import Callable

    from windrow.api.streams import Streams
    from windrow.runtime.epochs.epoch import Epochs
    from windrow.runtime.epochs.report import EpochReport


class Readers:
    """Reads what the queries of an engine need of the streams that can grow."""

    def __init__(
        self,
        streams: Streams,
        epochs: Epochs,
        clock: Callable[[], float],
        report: Callable[[EpochReport], None],
        most_waiting: int,
    ) -> None:
        """`most_waiting`: so many rows of a stream may wait in memory for other streams."""
        self.by_stream: dict[str, Reader] = {}
        """Replaced, never changed: the heart, and whoever waits, look at it from their threads."""
        self._columns: dict[str, list[str]] = {}
        """The columns that each reader reads."""
        self._every: int | None = None
        """Microseconds between two batches; None in a run that takes what is there."""
        self._fitting = RLock()
        self._pace = Pace(streams, most_waiting)
        self._streams = streams
        self._epochs = epochs
        self._clock = clock
        self._report = report

    def all(self) -> list[Reader]:
        """The readers that there are at the moment."""
        return list(self.by_stream.values())

    def active(self) -> list[Reader]:
        """The readers that are still reading."""
        return [reader for reader in self.all() if reader.active]

    def start(self, every: int | None) -> None:
        """Read what is there and, if microseconds between two batches are given, what comes."""
        self._every = every
        for reader in [self._new(name) for name in self._streams.growing()]:
            self._begin(reader)  # when all are there: each keeps pace with the others

    def stop(self) -> tuple[int, bool]:
        """Stop all; how many there were, and whether one has failed or given up a batch."""
        unsure = False
        with self._fitting:
            readers = self.all()
            for reader in readers:
                reader.stop()
                if reader.staging.listening is not None:
                    reader.staging.listening.end()
                unsure |= reader.failure is not None or reader.gave_up
            self.by_stream = {}
        return len(readers), unsure

    def keep_up(self) -> bool:
        """Read what the queries need by now: another stream, another column.

        Whether that has to be asked again, because a batch is under way that a reader must finish first.
        """
        unfinished = False
        with self._fitting:
            if not self.by_stream:
                return False  # stopped
            for name in self._streams.growing():  # a frame is read by run()
                before = self.by_stream.get(name)
                if before is None:
                    self._begin(self._new(name))
                elif before.active and (
                    before.retired or not self._streams.columns_needed(name).issubset(self._columns[name])
                ):
                    unfinished |= not self._replaced(name, before)
        return unfinished

    def reader(self, name: str) -> Reader:
        """A reader of all that the queries need of a stream now, not yet begun."""
        columns, rows = self._streams.columns_in_use(name), self._streams.relations.read_stream(name)
        self._columns[name] = columns
        ours = [column for column in rows.columns if column.startswith("_windrow_")]
        return Reader(
            self._streams.staging(name),
            self._epochs,
            rows.select(*map(quoted, columns), *ours),
            partial(self._streams.queries_of, name, frozenset(columns)),
            self._streams.tables,
            self._report,
            partial(self._pace.keep, name, lambda: self.by_stream, live=self._every is not None),
        )

    def _new(self, name: str) -> Reader:
        """A reader that is about to begin."""
        reader = self.reader(name)
        if reader.staging.progress.sealed:
            LOG.warning(
                "stream '%s' was sealed in this home by an earlier run: whatever comes now is late, and a "
                "seal is not taken back. In another home, a run without seal=True (--seal) leaves it open",
                name,
            )
        reader.staging.preload(self._streams.queries_of(name))
        self.by_stream = self.by_stream | {name: reader}
        return reader

    def _replaced(self, name: str, before: Reader) -> bool:
        """Let another reader take over; if a batch is under way, only make it the last one of this reader."""
        before.retire()
        with before.staging.between_batches() as free:
            if not free:
                return False
            self.by_stream = self.by_stream | {name: self.reader(name)}
        before.stop()  # outside, or it would wait for a batch that waits for its turn
        self._begin(self.by_stream[name])
        return True

    def _begin(self, reader: Reader) -> None:
        every, staging = self._every, reader.staging
        if every is None:
            staging.listening = None
            reader.start(live=False, availableNow=True)
        else:
            looked = reader.looked if self._clock is time.time else None
            staging.listening = Listening(self._clock, every / 1e6, looked)
            reader.start(live=True, processingTime=f"{every} microseconds")

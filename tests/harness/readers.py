"""The readers of an engine that runs: which there are, what they read, whether they wait."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Event

import pytest

from tests.harness.faults import STAGING, disturbed


class WatchedReader:
    """A reader of a stream, watched from outside; also when another one has taken over from it."""

    def __init__(self, engine, stream, reader):
        self._engine, self._stream, self._reader = engine, stream, reader

    @property
    def is_replaced(self):
        """Whether another reader reads the stream by now."""
        return self._engine._running.readers.by_stream[self._stream] is not self._reader

    @property
    def is_retired(self):
        """Whether it takes no more batches, and waits to be replaced."""
        return self._reader.retired

    @property
    def is_waiting(self):
        """Whether Spark has looked, since the last batch, and found nothing."""
        return self._reader.is_waiting

    @property
    def is_stopping(self):
        """Whether it has been told to stop."""
        return self._reader._stopping

    @property
    def is_active(self):
        """Whether it is still reading, or about to."""
        return self._reader.active

    @property
    def spark_query(self):
        """Spark's StreamingQuery; None before it is started and after it is stopped."""
        return self._reader._query

    def looked(self):
        """When Spark last began to look for rows, in seconds since 1970; None before the first time."""
        return self._reader.looked()

    def begin_to_stop(self):
        """Do what stopping does before anything else, and no more."""
        self._reader._stopping = True

    def wait(self):
        """Wait until it ends; raises what ended it."""
        self._reader.wait()

    def stop(self):
        """Stop it."""
        self._reader.stop()


def watched_reader(engine, stream):
    """The reader that reads a stream now."""
    return WatchedReader(engine, stream, engine._running.readers.by_stream[stream])


class _Gone:
    """Spark's query, when Java is gone: whatever it is asked."""

    def __getattr__(self, name):
        raise ConnectionRefusedError(111, "Connection refused")


def reader_without_java(engine, stream):
    """A reader whose Java has died."""
    reader = engine._running.readers.reader(stream)
    reader._query = _Gone()
    return WatchedReader(engine, stream, reader)


def columns_read(engine, stream):
    """The columns of a stream that are read, for the queries that there are."""
    return engine._running.streams.columns_in_use(stream)


def somebody_waits_for_an_epoch(engine):
    """Whether a batch or a heartbeat is ready and waits until the epoch that is under way is committed."""
    return bool(engine._running._epochs._waiting)


@contextmanager
def readers_stay(engine):
    """Readers are not replaced meanwhile, whatever columns the queries need."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine._running.readers, "keep_up", lambda: None)
        yield


class Turn:
    """The turn of a stream, taken."""

    def __init__(self, engine, reader):
        self._engine, self._reader = engine, reader
        self._handed_out = Event()

    def wait_for_batch(self):
        """Wait until Spark has handed out a batch, which then waits for its turn."""
        assert self._handed_out.wait(60)

    def beat(self):
        """Commit a heartbeat before the batch that waits."""
        self._engine._running.commit_heartbeat([(self._reader.staging, self._reader.queries)])


@contextmanager
def turn_taken(engine, stream):
    """Let no batch of a stream be staged meanwhile: those that Spark hands out wait for their turn."""
    reader = engine._running.readers.by_stream[stream]
    turn = Turn(engine, reader)

    def told(number, call, *_):
        turn._handed_out.set()
        return call()

    with disturbed(STAGING, told), reader.staging._turn:
        yield turn

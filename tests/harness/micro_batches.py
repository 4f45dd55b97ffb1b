"""Batches handed to an engine's stream one by one, as its reader would hand them: any rows, in any batches."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass

from windrow.runtime.epochs.epoch import Epochs
from windrow.runtime.epochs.stage import StreamRunner


@dataclass(frozen=True)
class Fed:
    """What became of a batch."""

    passes: dict[str, int]
    """How many passes over the batch each query took, by name."""
    failed: dict[str, Exception]
    """The queries that it put into quarantine, by name, and why."""


class Feed:
    """The stream of an engine that holds its home."""

    def __init__(self, engine, stream, clock):
        self._queries = engine._queries.values
        self._runner = StreamRunner(engine._home, engine._relations.stream(stream), clock)
        self._epochs = Epochs(engine.spark, engine._home)

    def batch(self, frame, number):
        """Commit a batch; what became of it, or None if it had been committed before."""
        with self._runner.staged(frame, number, self._queries, lambda queries: {}) as part:
            if part is None:
                return None
            self._epochs.run(part)
            return Fed({name: len(tables) for name, tables in part.partials.items()}, part.failed)

    def beat(self):
        """Let time go on without rows."""
        with self._runner.beating(self._queries) as part:
            if part is not None:
                self._epochs.run(part)

    def seal(self):
        """Answer every window that is open."""
        self._epochs.run(self._runner.sealing(self._queries()))


@contextmanager
def feeding(engine, stream, clock=lambda: 0.0):
    """Hold the home of an engine and feed one of its streams, for the queries that the engine was told of and
    those that the home has."""
    engine._registry.resume()
    with engine._home.running():
        yield Feed(engine, stream, clock)
        stored = [query.stored for query in engine._queries.values()]
        engine._home.note_delivered({q.id: q.delivered for q in stored if q.delivered is not None})

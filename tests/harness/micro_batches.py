"""Batches handed to an engine's stream one by one, as its reader would hand them: any rows, in any batches."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from windrow.runtime.epochs.epoch import Epochs
from windrow.runtime.epochs.stage import Staging
from windrow.runtime.home.slice_log import SliceLog
from windrow.runtime.state.current_plan import CurrentPlan
from windrow.runtime.state.executor import Executor


@dataclass(frozen=True)
class Fed:
    """What became of a batch."""

    passes: dict[str, int]
    """How many passes over the batch each query took, by name."""
    failed: dict[str, Exception]
    """The queries that it put into quarantine, by name, and why."""


class Feed:
    """Streams of an engine that holds its home; the first is meant where none is named."""

    def __init__(self, engine, streams, clock):
        self._queries = lambda: engine._queries.values()
        home, log = engine._home, SliceLog(engine._home)
        self._plan = CurrentPlan(home, engine._plan.settings, lambda: self._queries())
        self._executor = Executor(engine.spark, home, log)
        self._stagings = {
            name: Staging(home, engine._relations.stream(name), self._plan, self._executor, clock)
            for name in streams
        }
        self._staging = self._stagings[streams[0]]
        self._epochs = Epochs(engine.spark, home, self._plan, self._executor, log)
        self._home, self._log, self._registry = home, log, engine._registry

    def batch(self, frame, number):
        """Commit a batch; what became of it, or None if it had been committed before."""
        with self._staging.staged(frame, number, self._queries, lambda queries: {}) as part:
            if part is None:
                return None
            self._epochs.run(part)
            names = {query.stored.id: query.stored.name for query in part.queries}
            passes = {
                name: len(part.tables[port])
                for port in part.tables
                for number, name in names.items()
                if number in part.plan.operators[port.operator].members
            }
            return Fed(passes, {names[number]: error for number, error in part.failed.items()})

    def together(self, batches):
        """Commit batches of several streams in one epoch: for each stream a frame and its number."""
        with ExitStack() as stack:
            self._epochs.run(*(stack.enter_context(self._staged(*one)) for one in self._each(batches)))

    @contextmanager
    def staged(self, batches):
        """Batches of several streams that are staged and not committed: the one to commit is called for."""
        with ExitStack() as stack:
            parts = {
                stream: stack.enter_context(self._staged(stream, frame, number))
                for stream, frame, number in self._each(batches)
            }
            yield lambda stream: self._epochs.run(parts[stream])

    @staticmethod
    def _each(batches):
        return [(stream, frame, number) for stream, (frame, number) in batches.items()]

    def _staged(self, stream, frame, number):
        """A batch of one stream, for the queries that read it."""
        queries = lambda: [query for query in self._queries() if stream in query.plan.streams]  # noqa: E731
        return self._stagings[stream].staged(frame, number, queries, lambda some: {})

    @property
    def plan(self):
        """The plan that runs."""
        return self._plan.plan

    @property
    def experience(self):
        """What is known of the passes over the first stream."""
        return self._staging.planning.experience

    def plan_in_the_home(self):
        """The plan that another engine would find."""
        return CurrentPlan(self._home, self._plan.settings, self._queries).plan

    def check_states(self):
        """See that every state in memory is the one that would be read back from the home; by what it holds
        open, and from where on it needs what is closed. Which operators have one, by their numbers."""
        for number, held in self._executor._states.items():
            read = self._executor._read_back(held.plan, held.spec, self._plan.evaluated(number, 0))
            ours, theirs = (_rows(operator.open_slices()) for operator in (held.operator, read))
            assert ours == theirs, number
            assert held.operator.horizon == read.horizon, number
        return self._executor._states.keys()

    def beat(self):
        """Let time go on without rows."""
        with self._staging.beating(self._queries) as part:
            if part is not None:
                self._epochs.run(part)

    def not_told_of(self, name):
        """As if the engine had not been told of a query that its home has; until the function that this returns
        is called."""
        registry = self._registry
        query = registry.queries[name]
        registry.queries = {other: known for other, known in registry.queries.items() if other != name}
        self._plan.forget()

        def tell():
            registry.queries = registry.queries | {name: query}

        return tell

    def seal(self, stream=None):
        """Nothing comes to a stream any more: answer every window that is open."""
        staging = self._staging if stream is None else self._stagings[stream]
        name = staging.stream.name
        queries = [query for query in self._queries() if name in query.plan.streams]
        self._epochs.run(staging.sealing(queries))


def _rows(table):
    return [] if table is None else sorted(map(repr, table.select(sorted(table.column_names)).to_pylist()))


@contextmanager
def feeding(engine, *streams, clock=lambda: 0.0):
    """Hold the home of an engine and feed some of its streams, for the queries that the engine was told of and
    those that the home has."""
    engine._registry.resume()
    with engine._home.running():
        yield Feed(engine, streams, clock)
        stored = [query.stored for query in engine._queries.values()]
        engine._home.note_delivered({q.id: q.delivered for q in stored if q.delivered is not None})

"""The streams that the queries of an engine are over: who reads which columns of each, and its stage."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from windrow.runtime.epochs.stage import Staging
from windrow.runtime.watch.waiting import open_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import DataFrame

    from windrow.api.relations import Relations
    from windrow.runtime.home.home import Home
    from windrow.runtime.state.current_plan import CurrentPlan
    from windrow.runtime.state.executor import Executor
    from windrow.runtime.state.queries import RunningQuery
    from windrow.runtime.watch.waiting import OpenStream


class Streams:
    """Streams by name, as the queries that there are at the moment need them."""

    def __init__(
        self,
        home: Home,
        relations: Relations,
        queries: Callable[[], list[RunningQuery]],
        plan: CurrentPlan,
        executor: Executor,
        clock: Callable[[], float],
    ) -> None:
        self.relations = relations
        self.queries = queries
        """All queries of the engine."""
        self._home = home
        self._plan = plan
        self._executor = executor
        self._clock = clock
        self._stagings: dict[str, Staging] = {}
        self._making = Lock()

    def names(self) -> list[str]:
        """The streams that queries are over."""
        return list(dict.fromkeys(stream for query in self.queries() for stream in query.plan.streams))

    def growing(self) -> list[str]:
        """The streams of queries to which more rows may come."""
        return [name for name in self.names() if self.relations.is_unbounded(name)]

    def frames(self) -> list[str]:
        """The streams of queries that are static DataFrames, to which nothing comes."""
        return [name for name in self.names() if not self.relations.is_unbounded(name)]

    def frames_together(self) -> list[list[str]]:
        """The static DataFrames, those beside each other that a query reads together."""
        together: dict[str, list[str]] = {name: [name] for name in self.frames()}
        for query in self.queries():
            names = [name for name in query.plan.streams if name in together]
            for name in names[1:]:
                if together[name] is not together[names[0]]:
                    together[names[0]] += together[name]
                    for other in together[name]:
                        together[other] = together[names[0]]
        return [names for name, names in together.items() if names[0] == name]

    def staging(self, name: str) -> Staging:
        """What stages the batches of a stream: a single one, also if threads ask for it at once, since it
        knows how far the stream is and whose turn it is."""
        with self._making:
            if name not in self._stagings:
                stream, files = self.relations.stream(name), self.relations.file_source(name)
                self._stagings[name] = Staging(
                    self._home, stream, self._plan, self._executor, self._clock, files
                )
            return self._stagings[name]

    def forget(self) -> None:
        """Read anew from the home how far each stream is: another engine has gone on with it."""
        with self._making:
            self._stagings.clear()

    def queries_of(self, name: str, columns: frozenset[str] | None = None) -> list[RunningQuery]:
        """The queries on a stream; those that need no other columns, if some are given."""
        return [
            query
            for query in self.queries()
            if name in query.plan.streams and (columns is None or columns >= query.plan.columns_in_use[name])
        ]

    def columns_needed(self, name: str) -> set[str]:
        """The columns of a stream that its queries need."""
        different = {query.plan.columns_in_use[name] for query in self.queries_of(name)}
        return {column for columns in different for column in columns}

    def columns_in_use(self, name: str) -> list[str]:
        """The columns of a stream that are read: all of a text, where a line is good or bad as a whole."""
        stream, used = self.relations.stream(name), self.columns_needed(name)
        return [column for column in stream.columns if stream.text or column in used]

    def tables(self, queries: Iterable[RunningQuery]) -> dict[str, DataFrame]:
        """The tables that queries are joined with, by name."""
        used = {table for query in queries for table in query.plan.tables}
        return {name: self.relations.frame(name) for name in used}

    def waiting_rows(self, name: str) -> int:
        """How many rows of a stream wait in memory for other streams."""
        return self._executor.waiting_rows(self._plan.plan.of_stream(name).values(), name)

    def waiting(self) -> list[OpenStream]:
        """What has come and is not answered yet, by stream, and what that waits for."""
        found = [
            open_stream(
                self.relations.stream(name),
                self._home.catalog.progress(name),
                self.queries_of(name),
                grows=self.relations.is_unbounded(name),
            )
            for name in self.names()
        ]
        return [stream for stream in found if stream is not None]

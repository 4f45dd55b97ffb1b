"""A running engine: the handle that `Engine.start` returns."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from pyspark.errors import PySparkException

from windrow.errors import WindrowError
from windrow.runtime.analysis import reason

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack


class Live:
    """Streams that are being processed; stop it, or use it as a context manager."""

    def __init__(self, queries: list[Any], held: ExitStack, failure: Callable[[], Exception | None]) -> None:
        self._queries = queries
        self._held = held
        self._failure = failure

    def add(self, query: Any) -> None:
        """Take in a streaming query that has been started."""
        self._queries.append(query)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def active(self) -> bool:
        """Whether every stream is still being processed."""
        return all(query.isActive for query in self._queries)

    def process_available(self) -> None:
        """Wait until all rows that are there now have been processed."""
        for query in self._queries:
            with_our_errors(query.processAllAvailable, self._failure)

    def wait(self, seconds: float | None = None) -> None:
        """Wait until a stream stops, or for some time; raises what stopped it."""
        until = None if seconds is None else time.monotonic() + seconds
        while self.active and (until is None or time.monotonic() < until):
            with_our_errors(partial(self._queries[0].awaitTermination, 0.2), self._failure)
        for query in self._queries:
            if not query.isActive:
                await_stream(query, self._failure)

    def stop(self) -> None:
        """Stop; an epoch that is under way is given up, whole, and a later start begins with it again."""
        try:
            for query in self._queries:
                query.stop()
        finally:
            self._held.close()


def await_stream(query: Any, failure: Callable[[], Exception | None]) -> None:
    """Wait for a streaming query to end."""
    with_our_errors(query.awaitTermination, failure)


def with_our_errors(wait: Callable[[], Any], failure: Callable[[], Exception | None]) -> None:
    """Wait; an error of ours that stopped the stream is raised as itself, not as Spark's report of it."""
    try:
        wait()
    except PySparkException as error:
        ours = failure()
        if isinstance(ours, WindrowError):
            raise ours from error
        detail = f"{type(ours).__name__}: {ours}" if ours is not None else reason(error)
        raise WindrowError(f"the stream stopped: {detail}") from (ours or error)

"""A running engine: the handle that `Engine.start` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from contextlib import ExitStack


class Live:
    """Streams that are being processed; stop it, or use it as a context manager."""

    def __init__(self, queries: list[Any], held: ExitStack) -> None:
        self._queries = queries
        self._held = held

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
            query.processAllAvailable()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until a stream stops, or for some time; raises what stopped it."""
        for query in self._queries:
            query.awaitTermination(seconds) if seconds is not None else query.awaitTermination()

    def stop(self) -> None:
        """Stop after the batches that are under way; a later start goes on from there."""
        for query in self._queries:
            query.stop()
        self._held.close()

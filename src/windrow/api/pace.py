"""Streams that a query reads together go on at one pace: rows of one that is ahead wait in the query's
operator until the others have come as far, and what waits there must not become too much.

In a run that takes what is there, a stream that is ahead waits for those whose readers still read. A live one
waits only when more rows than `most_waiting` of it wait already. A stream that is behind never waits, so that
none waits for ever for one that waits itself.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from windrow.columns import BEGINNING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from windrow.api.streams import Streams
    from windrow.runtime.epochs.reader import Reader

LOOK_SECONDS = 0.02
"""How often a stream that is held back looks whether the others have come as far: they are read by other
threads, and the smallest Spark job takes 0.1 s."""


class Pace:
    """Holds streams back that are ahead of others."""

    def __init__(self, streams: Streams, most_waiting: int) -> None:
        self._streams = streams
        self._most_waiting = most_waiting

    def keep(
        self,
        name: str,
        readers: Callable[[], Mapping[str, Reader]],
        stopping: Callable[[], bool],
        *,
        live: bool,
    ) -> None:
        """Return when a stream may take its next batch, or when it is being stopped."""
        while self._is_ahead(name, readers()) and not stopping():
            if live and self._streams.waiting_rows(name) <= self._most_waiting:
                return
            time.sleep(LOOK_SECONDS)

    def _is_ahead(self, name: str, readers: Mapping[str, Reader]) -> bool:
        """Whether a stream has come further than one that is still read, and that a query reads with it."""
        others = {
            other
            for query in self._streams.queries_of(name)
            for other in query.plan.streams
            if other != name and query.stored.runs
        }
        behind = [other for other in others if other in readers and readers[other].active]
        return any(self._reached(other) < self._reached(name) for other in behind)

    def _reached(self, name: str) -> int:
        watermark = self._streams.staging(name).progress.watermark
        return BEGINNING if watermark is None else watermark

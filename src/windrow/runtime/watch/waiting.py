"""What a run has left open: windows that the watermark has not passed, and what they wait for.

It follows from how far a stream is and from the windows of its queries; no state is looked at, whoever
holds it, and nothing is asked of Spark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.cql import format_duration
from windrow.runtime.watch.status import instant

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from windrow.logical import Stream
    from windrow.runtime.home.records import Progress
    from windrow.runtime.state.queries import RunningQuery

NAMED = 5
"""Queries that a sentence names; the others are counted."""


@dataclass(frozen=True)
class OpenWindows:
    """The windows of a query that have rows, or may have some, and are not answered yet."""

    first_end: datetime
    """When the first of them ends."""
    last_end: datetime

    def __str__(self) -> str:
        if self.first_end == self.last_end:
            return f"the window that ends {_plain(self.first_end)}"
        return f"the windows that end {_plain(self.first_end)} to {_plain(self.last_end)}"


@dataclass(frozen=True)
class UncountedRows:
    """The rows that have not been counted or answered: others may still come before them."""

    since: datetime
    """Rows with this event time or a later one are not."""

    def __str__(self) -> str:
        return f"the rows from {_plain(self.since)} on"


@dataclass(frozen=True)
class OpenStream:
    """A stream that is not sealed, and what its queries have still to answer.

    As text it is a sentence that says what waits, what for, and how to have the answers now.
    """

    name: str
    watermark: datetime
    queries: Mapping[str, OpenWindows | UncountedRows]
    """By the name of the query; queries that wait with nothing are not in it."""
    grows: bool
    """Whether more rows may come: not to a static DataFrame."""
    rows_from: datetime | None
    """A row with this event time, or a later one, closes the first window: it is the end of that window and
    the stream's DELAY. None if only windows of rows wait: any later row lets them go on."""
    idle_timeout: int | None
    """After so many microseconds without rows, time goes on with the clock; None: never."""

    def __str__(self) -> str:
        waits = [f"{name} waits with {what}" for name, what in list(self.queries.items())[:NAMED]]
        if len(self.queries) > NAMED:
            waits.append(f"{len(self.queries) - NAMED:,} more wait")
        ways = []
        if self.grows:
            later = "a later row" if self.rows_from is None else f"a row of {_plain(self.rows_from)} or later"
            ways.append(f"{later} lets the first go on")
        if self.grows and self.idle_timeout is not None:
            ways.append(f"so does a silence of {format_duration(self.idle_timeout)}, while an engine runs")
        ways.append("run(seal=True), or --seal, answers everything now, and what comes later is late")
        return (
            f"stream '{self.name}' stays open at the watermark {_plain(self.watermark)}: {', '.join(waits)}; "
            f"{'; '.join(ways)}"
        )


def open_stream(
    stream: Stream, progress: Progress, queries: Iterable[RunningQuery], *, grows: bool
) -> OpenStream | None:
    """What the queries on a stream still wait with, and for what; None if nothing waits."""
    watermark, latest = progress.watermark, progress.latest
    if progress.sealed or watermark is None or latest is None:
        return None
    waiting: dict[str, OpenWindows | UncountedRows] = {}
    ends = []
    for query in queries:
        stored = query.stored
        if not (stored.runs and stored.started):
            continue
        if query.plan.waits_for_rows and watermark <= latest:
            waiting[stored.name] = UncountedRows(instant(watermark))
        for window in query.plan.evaluations:
            answered = watermark
            if stored.complete_after is not None:  # windows that began before it came are not answered
                answered = max(answered, stored.complete_after + window.range)
            first = window.first_evaluation_after(answered)
            last = window.last_evaluation_until(latest + window.range)
            if first <= last:
                waiting[stored.name] = OpenWindows(instant(first), instant(last))
                ends.append(first)
    if not waiting:
        return None
    rows_from = instant(min(ends) + stream.delay) if ends else None
    return OpenStream(stream.name, instant(watermark), waiting, grows, rows_from, stream.idle_timeout)


def _plain(at: datetime) -> str:
    return at.replace(tzinfo=None).isoformat(sep=" ")

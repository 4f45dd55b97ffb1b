"""A status as a notebook shows it: a line, a table of the streams, a table of the queries."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from rich.filesize import decimal

from windrow.runtime.watch.shown import Shown, duration, until

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.runtime.watch.status_parts import QueryStatus, RequestStatus, StreamStatus

STREAMS = {
    "stream": False, "rows": True, "rows/s": True, "watermark": False, "lag": True, "late": True,
    "dead": True, "epoch": True, "": False,
}  # fmt: skip
"""The columns, and which hold numbers."""
QUERIES = {
    "query": False, "stream": False, "condition": False, "answers": True, "until": False, "entries": True,
    "state": True,
}  # fmt: skip


def status_html(
    line: str,
    streams: Sequence[StreamStatus],
    queries: Sequence[QueryStatus],
    requests: Sequence[RequestStatus],
) -> str:
    """A status, complete in itself: a line about the whole, the tables, and below them why queries no longer
    run."""
    parts = [f"<p>{escape(line)}</p>"]
    if streams:
        parts.append(_streams(streams).html())
    if queries:
        parts.append(_queries(queries).html())
    told = [
        f"{query.name} failed in epoch {query.quarantined_epoch}: {query.quarantined}"
        for query in queries
        if query.quarantined is not None
    ]
    told += [
        f"{request.name} is {request.condition}: {request.refused or 'no engine has looked yet'}"
        for request in requests
    ]
    parts += [f"<p>{escape(line)}</p>" for line in told]
    return f"<div>{''.join(parts)}</div>"


def _streams(streams: Sequence[StreamStatus]) -> Shown:
    rows = [
        [
            stream.name, f"{stream.rows:,}", f"{stream.rate:,.0f}", until(stream.watermark),
            duration(stream.lag), f"{stream.late:,}", f"{stream.dead:,}", duration(stream.epoch_seconds),
            "sealed" if stream.sealed else "idle" if stream.idle else "",
        ]
        for stream in streams
    ]  # fmt: skip
    return Shown([*STREAMS], [*STREAMS.values()], rows)


def _queries(queries: Sequence[QueryStatus]) -> Shown:
    rows = [
        [
            query.name, query.stream, query.condition, f"{query.answers:,}", until(query.latest_end),
            f"{query.entries:,}", decimal(query.state_bytes),
        ]
        for query in queries
    ]  # fmt: skip
    return Shown([*QUERIES], [*QUERIES.values()], rows)

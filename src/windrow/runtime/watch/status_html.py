"""A status as a notebook shows it: a line, a table of the streams, a table of the queries."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from rich.filesize import decimal

from windrow.runtime.watch.shown import Shown, duration, until

if TYPE_CHECKING:
    from windrow.runtime.watch.status import Status

STREAMS = {
    "stream": False, "rows": True, "rows/s": True, "watermark": False, "lag": True, "late": True,
    "dead": True, "epoch": True, "": False,
}  # fmt: skip
"""The columns, and which hold numbers."""
QUERIES = {
    "query": False, "stream": False, "condition": False, "answers": True, "until": False, "entries": True,
    "state": True,
}  # fmt: skip


def status_html(status: Status) -> str:
    """The status, complete in itself; why queries no longer run is told below their table."""
    running = "an engine is running" if status.running else "no engine is running"
    epoch = f"epoch {status.epoch:,}" if status.epoch >= 0 else "no epoch yet"
    watermark = f", watermark {until(status.watermark)}" if status.watermark is not None else ""
    parts = [f"<p>{escape(f'{running}, {epoch}{watermark}')}</p>"]
    if status.streams:
        parts.append(_streams(status).html())
    if status.queries:
        parts.append(_queries(status).html())
    told = [
        f"{query.name} failed in epoch {query.quarantined_epoch}: {query.quarantined}"
        for query in status.queries
        if query.quarantined is not None
    ]
    told += [
        f"{request.name} is {request.condition}: {request.refused or 'no engine has looked yet'}"
        for request in status.requests
    ]
    parts += [f"<p>{escape(line)}</p>" for line in told]
    return f"<div>{''.join(parts)}</div>"


def _streams(status: Status) -> Shown:
    rows = [
        [
            stream.name, f"{stream.rows:,}", f"{stream.rate:,.0f}", until(stream.watermark),
            duration(stream.lag), f"{stream.late:,}", f"{stream.dead:,}", duration(stream.epoch_seconds),
            "sealed" if stream.sealed else "idle" if stream.idle else "",
        ]
        for stream in status.streams
    ]  # fmt: skip
    return Shown([*STREAMS], [*STREAMS.values()], rows)


def _queries(status: Status) -> Shown:
    rows = [
        [
            query.name, query.stream, query.condition, f"{query.answers:,}", until(query.latest_end),
            f"{query.entries:,}", decimal(query.state_bytes),
        ]
        for query in status.queries
    ]  # fmt: skip
    return Shown([*QUERIES], [*QUERIES.values()], rows)

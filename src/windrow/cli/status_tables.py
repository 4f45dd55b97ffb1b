"""A status as people read it: its streams, its queries, why some of them no longer run, its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.filesize import decimal
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from windrow.api.watching import duration, until
from windrow.cli.terminal import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

    from windrow.api.homes import QueryStatus, RequestStatus, Status, StreamStatus

CONDITION_STYLES = {"quarantined": "red", "refused": "red", "sealed": "dim", "waiting": "yellow"}


def status_picture(status: Status) -> RenderableType:
    """All of it."""
    epoch = f"epoch {status.epoch:,}" if status.epoch >= 0 else "no epoch yet"
    watermark = f", watermark {until(status.watermark)}" if status.watermark is not None else ""
    running = "an engine is running" if status.running else "no engine is running"
    parts: list[RenderableType] = [f"{running}, {epoch}{watermark}"]
    if status.streams:
        parts += ["", streams_table(status.streams)]
    if status.queries:
        parts += ["", queries_table(status.queries), *reasons(status.queries)]
    if status.requests:
        parts += ["", *request_list(status.requests, sql=False)]
    return Group(*parts, "", f"disk: {disk(status)}")


def streams_table(streams: Iterable[StreamStatus]) -> Table:
    """What came, and how far each is."""
    table = _table("stream", "rows>", "rows/s>", "watermark", "lag>", "late>", "dead>", "epoch>", "")
    for stream in streams:
        table.add_row(
            Text(stream.name, style="bold"),
            f"{stream.rows:,}",
            f"{stream.rate:,.0f}",
            until(stream.watermark),
            duration(stream.lag),
            _alarming(stream.late),
            _alarming(stream.dead),
            duration(stream.epoch_seconds),
            "sealed" if stream.sealed else "idle" if stream.idle else "",
        )
    return table


def queries_table(queries: Iterable[QueryStatus]) -> Table:
    """What each has answered, and what it holds."""
    table = _table("query", "stream", "condition", "answers>", "until", "entries>", "state>")
    for query in queries:
        table.add_row(
            Text(query.name, style="red" if query.quarantined is not None else "cyan"),
            Text(query.stream),
            Text(query.condition, style=CONDITION_STYLES.get(query.condition, "green")),
            f"{query.answers:,}",
            until(query.latest_end),
            f"{query.entries:,}",
            decimal(query.state_bytes),
        )
    return table


def query_list(queries: Iterable[QueryStatus]) -> Iterable[RenderableType]:
    """Every query in full: a line, why it no longer runs, and its SQL."""
    for query in queries:
        line = Text(query.name, style="bold red" if query.quarantined is not None else "bold cyan")
        line.append(f" on {query.stream}, ", style="not bold default")
        line.append(query.condition, style=f"not bold {CONDITION_STYLES.get(query.condition, 'green')}")
        ended = f", until {until(query.latest_end)}" if query.latest_end is not None else ""
        kept = f", kept for {duration(query.retain)}" if query.retain is not None else ""
        since = query.complete_after
        complete = f", complete for windows that begin after {until(since)}" if since is not None else ""
        line.append(f": {counted(query.answers, 'answer')}{ended}{kept}{complete}", style="not bold default")
        yield line
        if query.quarantined is not None:
            yield Padding(reason(query), (0, 0, 0, 4), expand=False)
        yield Padding(Text(query.sql, style="dim"), (0, 0, 0, 4), expand=False)
        yield ""


def request_list(requests: Iterable[RequestStatus], *, sql: bool = True) -> Iterable[RenderableType]:
    """Every query that was asked for and is not there: a line, why it was refused, and its SQL."""
    for request in requests:
        style = CONDITION_STYLES[request.condition]
        line = Text(request.name, style=f"bold {style}")
        told = "refused" if request.refused is not None else "waiting for an engine to run"
        yield line.append(f", {told}", style="not bold default")
        if request.refused is not None:
            yield Padding(Text(request.refused, style="red"), (0, 0, 0, 4), expand=False)
        if sql:
            yield Padding(Text(request.sql, style="dim"), (0, 0, 0, 4), expand=False)
            yield ""


def reasons(queries: Iterable[QueryStatus]) -> list[Text]:
    """Why queries are in quarantine, a line each."""
    return [
        Text(f"{query.name}: ", style="red").append_text(reason(query))
        for query in queries
        if query.quarantined is not None
    ]


def reason(query: QueryStatus) -> Text:
    """Why a query no longer runs, and since when."""
    since = "" if query.quarantined_epoch is None else f"in epoch {query.quarantined_epoch:,}: "
    return Text(f"failed {since}{query.quarantined}", style="red")


def disk(status: Status) -> str:
    """What lies on disk."""
    return ", ".join(
        f"{kind} {decimal(size)} ({counted(status.files.get(kind, 0), 'file')})"
        for kind, size in status.bytes.items()
    ) or "nothing yet"  # fmt: skip


def _alarming(count: int) -> Text:
    return Text(f"{count:,}", style="yellow" if count else "")


def _table(*columns: str) -> Table:
    """A table without lines; a ">" behind a heading puts the column to the right."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column.rstrip(">"), justify="right" if column.endswith(">") else "left")
    return table

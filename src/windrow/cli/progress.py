"""How a run is going: rows, rate, watermark, late and dead rows, answers and state a query.

On a terminal the picture redraws itself; elsewhere every epoch that had rows or answers is a line. What
came and was answered is counted over this run; the rest is the status of the engine, asked for once a
second.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from rich.console import Group
from rich.filesize import decimal
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from windrow.cli.terminal import cell, counted, duration, instant, is_interactive, messages_console

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import RenderableType

    from windrow.api.engine import EpochReport
    from windrow.api.homes import QueryStatus, Status, StreamStatus

SHOWN_QUERIES = 15
STATUS_SECONDS = 1.0


@dataclass
class StreamTotals:
    """What a run has read of one stream."""

    rows: int = 0
    late: int = 0
    dead: int = 0
    watermark: int | None = None
    idle: bool = False
    epoch_seconds: float | None = None

    def add(self, report: EpochReport) -> None:
        """Count an epoch in."""
        self.rows += report.rows
        self.late += report.late
        self.dead += report.dead
        self.watermark = report.watermark
        self.idle = report.idle
        self.epoch_seconds = report.seconds

    def refused(self) -> str:
        """Late and dead rows, if there are any."""
        counts = [(self.late, "late"), (self.dead, "dead")]
        return ", ".join(f"{count:,} {fate}" for count, fate in counts if count)


@dataclass
class QueryTotals:
    """What a run has answered for one query."""

    answers: int = 0
    last: str = "–"
    quarantined: str | None = None


@dataclass
class RunProgress:
    """Give it every EpochReport; as a context manager it also shows what it knows."""

    queries: Sequence[str]
    hint: str = ""
    status: Callable[[], Status] | None = None
    streams: dict[str, StreamTotals] = field(default_factory=dict)
    totals: dict[str, QueryTotals] = field(default_factory=dict)
    begun: float = field(default_factory=time.monotonic)
    _live: Live | None = None
    _status: Status | None = None
    _status_at: float = -STATUS_SECONDS

    def __enter__(self) -> Self:
        self.begun = time.monotonic()
        self.totals = {name: QueryTotals() for name in self.queries}
        if is_interactive():
            self._live = Live(
                get_renderable=self.render, console=messages_console(), refresh_per_second=8, transient=True
            )
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    @property
    def seconds(self) -> float:
        """How long the run has taken so far."""
        return time.monotonic() - self.begun

    @property
    def any_quarantined(self) -> bool:
        """Whether a query has failed in this run."""
        return any(totals.quarantined is not None for totals in list(self.totals.values()))

    def __call__(self, report: EpochReport) -> None:
        """Count an epoch in."""
        stream = self.streams.setdefault(report.stream, StreamTotals())
        was_idle = stream.idle
        stream.add(report)
        for name, count in report.answers.items():
            totals = self.totals.setdefault(name, QueryTotals())
            totals.answers += count
            totals.quarantined = None  # it runs, so it has been resumed if it was
            if name in report.latest:
                totals.last = cell(report.latest_time(name))
        for name, why in report.quarantined.items():
            self.totals.setdefault(name, QueryTotals()).quarantined = why
        if self._live is None:
            self._print(report, was_idle=was_idle)

    def _print(self, report: EpochReport, *, was_idle: bool) -> None:
        """An epoch in a line. What is quarantined, the engine itself warns of."""
        console = messages_console()
        answers = sum(report.answers.values())
        if report.idle != was_idle:
            news = "is idle: time goes on with the clock" if report.idle else "has rows again"
            console.print(f"{report.stream} {news}", markup=False)
        if report.batch is not None or answers:
            refused = StreamTotals(late=report.late, dead=report.dead).refused()
            console.print(
                f"epoch {report.epoch}: {report.stream} +{counted(report.rows, 'row')}"
                f"{f' ({refused})' if refused else ''}, watermark {instant(report.watermark)}, "
                f"+{counted(answers, 'answer')}, in {duration(report.seconds)}",
                markup=False,
            )

    # the picture

    def render(self) -> RenderableType:
        """The picture of this moment."""
        self._ask()
        heading = Spinner("dots", Text(f"running for {self.seconds:.0f} s{self.hint}"))
        known = {stream.name: stream for stream in self._status.streams} if self._status else {}
        streams = [
            self._render_stream(name, totals, known.get(name)) for name, totals in self.streams.items()
        ]
        return Group(heading, *streams, self._render_queries(), *self._render_reasons())

    def _ask(self) -> None:
        if self.status is not None and time.monotonic() - self._status_at >= STATUS_SECONDS:
            self._status = self.status()
            self._status_at = time.monotonic()

    def _render_stream(self, name: str, totals: StreamTotals, known: StreamStatus | None) -> RenderableType:
        rate = totals.rows / max(self.seconds, 1e-9)
        first = Table.grid(padding=(0, 3))
        first.add_row(
            Text(f"  {name}", style="bold"),
            f"{totals.rows:,} rows",
            f"{rate:,.0f} rows/s",
            f"watermark {instant(totals.watermark)}",
            Text(totals.refused(), style="yellow"),
        )
        facts = [f"last epoch {duration(totals.epoch_seconds)}"]
        if known is not None and known.lag is not None:
            facts.append(f"lag {duration(known.lag)}")
        if totals.idle:
            facts.append("idle")
        return Group(first, Text(f"  {', '.join(facts)}", style="dim"))

    def _render_queries(self) -> RenderableType:
        known = {query.name: query for query in self._status.queries} if self._status else {}
        table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 3, 0, 0))
        table.add_column("  query")
        table.add_column("answers", justify="right")
        table.add_column("until")
        if known:
            table.add_column("entries", justify="right")
            table.add_column("state", justify="right")
        for name, totals in list(self.totals.items())[:SHOWN_QUERIES]:
            style = "cyan" if totals.quarantined is None else "red"
            table.add_row(
                Text(f"  {name}", style=style), f"{totals.answers:,}", totals.last, *_held(known.get(name))
            )
        more = len(self.totals) - SHOWN_QUERIES
        if more > 0:
            table.add_row(f"  [dim]… and {more:,} more[/dim]", "", "")
        return table

    def _render_reasons(self) -> list[RenderableType]:
        return [
            Text(f"  {name} is quarantined: {' '.join(totals.quarantined.split())}", style="red",
                 overflow="ellipsis", no_wrap=True)
            for name, totals in list(self.totals.items())
            if totals.quarantined is not None
        ]  # fmt: skip

    def summary(self) -> str:
        """The run in a line."""
        rows = sum(totals.rows for totals in self.streams.values())
        rate = rows / max(self.seconds, 1e-9)
        speed = f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
        parts = [f"{counted(rows, 'row')} in {self.seconds:.1f} s ({speed} rows/s)"]
        for name, totals in self.streams.items():
            if totals.refused():
                where = f" in {name}" if len(self.streams) > 1 else ""
                parts.append(f"[yellow]{totals.refused()}{where}[/yellow]")
        return ", ".join(parts)


def _held(query: QueryStatus | None) -> list[str]:
    return [] if query is None else [f"{query.entries:,}", decimal(query.state_bytes)]

"""How a run is going: rows, rate, watermark, late and dead rows, and answers a query.

On a terminal the picture redraws itself; elsewhere every epoch is a line.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from rich.console import Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from windrow.cli.terminal import cell, counted, instant, is_interactive, messages_console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from windrow.api.engine import EpochReport

SHOWN_QUERIES = 15


@dataclass
class StreamTotals:
    """What a run has read of one stream."""

    rows: int = 0
    late: int = 0
    dead: int = 0
    watermark: int | None = None

    def add(self, report: EpochReport) -> None:
        """Count an epoch in."""
        self.rows += report.rows
        self.late += report.late
        self.dead += report.dead
        self.watermark = report.watermark

    def refused(self) -> str:
        """Late and dead rows, if there are any."""
        counts = [(self.late, "late"), (self.dead, "dead")]
        return ", ".join(f"{count:,} {fate}" for count, fate in counts if count)


@dataclass
class QueryTotals:
    """What a run has answered for one query."""

    answers: int = 0
    last: str = "–"


@dataclass
class RunProgress:
    """Give it every EpochReport; as a context manager it also shows what it knows."""

    queries: Sequence[str]
    hint: str = ""
    streams: dict[str, StreamTotals] = field(default_factory=dict)
    totals: dict[str, QueryTotals] = field(default_factory=dict)
    begun: float = field(default_factory=time.monotonic)
    _live: Live | None = None

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

    def __call__(self, report: EpochReport) -> None:
        """Count an epoch in."""
        stream = self.streams.setdefault(report.stream, StreamTotals())
        stream.add(report)
        for name, count in report.answers.items():
            totals = self.totals.setdefault(name, QueryTotals())
            totals.answers += count
            if name in report.latest:
                totals.last = cell(report.latest[name]["window_end"][0].as_py())
        if self._live is None:
            refused = StreamTotals(late=report.late, dead=report.dead).refused()
            messages_console().print(
                f"epoch {report.epoch}: {report.stream} +{counted(report.rows, 'row')}"
                f"{f' ({refused})' if refused else ''}, watermark {instant(report.watermark)}, "
                f"+{counted(sum(report.answers.values()), 'answer')}"
            )

    def render(self) -> RenderableType:
        """The picture of this moment."""
        heading = Spinner("dots", Text(f"running for {self.seconds:.0f} s{self.hint}"))
        streams = Table.grid(padding=(0, 3))
        for name, totals in self.streams.items():
            rate = totals.rows / self.seconds
            streams.add_row(
                f"  [bold]{name}[/bold]",
                f"{totals.rows:,} rows",
                f"{rate:,.0f} rows/s",
                f"watermark {instant(totals.watermark)}",
                f"[yellow]{totals.refused()}[/yellow]" if totals.refused() else "",
            )
        return Group(heading, streams, self._render_queries())

    def _render_queries(self) -> RenderableType:
        table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 3, 0, 0))
        table.add_column("  query")
        table.add_column("answers", justify="right")
        table.add_column("until")
        for name, totals in list(self.totals.items())[:SHOWN_QUERIES]:
            table.add_row(f"  [cyan]{name}[/cyan]", f"{totals.answers:,}", totals.last)
        more = len(self.totals) - SHOWN_QUERIES
        if more > 0:
            table.add_row(f"  [dim]… and {more:,} more[/dim]", "", "")
        return table

    def summary(self) -> str:
        """The run in a line."""
        rows = sum(totals.rows for totals in self.streams.values())
        rate = rows / max(self.seconds, 1e-9)
        parts = [f"{counted(rows, 'row')} in {self.seconds:.1f} s ({rate:,.0f} rows/s)"]
        for name, totals in self.streams.items():
            if totals.refused():
                where = f" in {name}" if len(self.streams) > 1 else ""
                parts.append(f"[yellow]{totals.refused()}{where}[/yellow]")
        return ", ".join(parts)

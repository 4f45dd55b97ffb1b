"""The departures board: the latest answers of the demo's queries, redrawn after every epoch.

Where nobody is looking (no terminal), an epoch is a line.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from rich.console import Group
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from windrow.cli.terminal import answers_console, is_interactive

if TYPE_CHECKING:
    from rich.console import RenderableType

    from windrow.api.engine import EpochReport

Rows = list[dict[str, Any]]

RANGES = {"6 hours": "delays_6h", "24 hours": "delays_24h", "7 days": "delays_7d", "30 days": "delays_30d"}
TOP = 5


@dataclass
class Board:
    """Give it every EpochReport."""

    flights: int
    rows: int = 0
    answers: int = 0
    reached: datetime | None = None
    latest: dict[str, Rows] = field(default_factory=dict)
    busiest: list[tuple[int, datetime]] = field(default_factory=list)
    """The busiest hours so far: departures, and when the hour ended; at most one a day."""
    foggy: int = 0
    """Flights that left in fog so far; and how many minutes late, all together."""
    foggy_delay: int = 0
    begun: float = field(default_factory=time.monotonic)
    _live: Live | None = None

    def __enter__(self) -> Self:
        self.begun = time.monotonic()
        if is_interactive():
            self._live = Live(get_renderable=self.render, console=answers_console(), refresh_per_second=8)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    @property
    def seconds(self) -> float:
        """How long the replay has taken so far."""
        return time.monotonic() - self.begun

    def __call__(self, report: EpochReport) -> None:
        """Take in an epoch."""
        self.answers += sum(report.answers.values())
        if report.stream != "flights":
            self.latest |= {name: table.to_pylist() for name, table in report.latest.items()}
            return
        self.rows += report.rows
        if report.watermark is not None:
            self.reached = datetime(1970, 1, 1) + timedelta(microseconds=report.watermark)
        if report.rows:  # the sealing epoch answers windows that run past the data: not news
            for name, table in report.latest.items():
                self.latest[name] = table.to_pylist()
        if self._live is None:
            answers_console().print(self.line())

    def departures(self, _: int, answers: Any) -> None:
        """A sink for the query `departures`: keeps the busiest hours."""
        counts = answers["departures"].to_numpy()
        for place in counts.argsort()[::-1][: TOP * 24].tolist():
            self.busiest.append((int(counts[place]), answers["window_end"][place].as_py()))
        best: dict[Any, tuple[int, datetime]] = {}
        for hour in sorted(self.busiest, reverse=True):
            best.setdefault(hour[1].date(), hour)
        self.busiest = list(best.values())[:TOP]

    def in_fog(self, _: int, answers: Any) -> None:
        """A sink for the query `in_fog`: counts the flights that left."""
        delays = answers["dep_delay"].drop_null()
        self.foggy += len(delays)
        self.foggy_delay += sum(delays.to_pylist())

    def line(self) -> str:
        """The state of things in a line."""
        day = f"{self.reached:%d %b %Y}" if self.reached else "–"
        rows = [row for row in self.latest.get("delays_7d", []) if row["mean"] is not None]
        means = {row["origin"]: row["mean"] for row in rows}
        delays = ", ".join(f"{origin} {mean:.1f}" for origin, mean in sorted(means.items()))
        news = f"; mean delay over 7 days: {delays} min" if delays else ""
        return f"{day}: {self.rows:,} flights, {self.answers:,} answers{news}"

    # the picture

    def render(self) -> RenderableType:
        """The whole board."""
        lists = Table.grid(padding=(0, 4, 0, 0))
        lists.add_row(self._carriers(), self._busiest_hours(), self._late_routes())
        board = Group(self._header(), "", self._delays(), "", lists, "", *self._footer())
        return Padding(board, (1, 1))

    def _header(self) -> RenderableType:
        grid = Table.grid(padding=(0, 2))
        day = f"{self.reached:%d %b %Y}" if self.reached else f"the first batch … {self.seconds:.0f} s"
        rate = self.rows / max(self.seconds, 1e-9)
        grid.add_row(
            Text(day, style="bold"),
            ProgressBar(total=self.flights, completed=self.rows, width=16),
            f"{self.rows:,} flights",
            f"{rate:,.0f} rows/s",
            Text(f"{self.answers:,} answers", style="green"),
        )
        return grid

    def _delays(self) -> RenderableType:
        table = _table("Departure delay, minutes: mean over the window, and the worst", wide=True)
        table.add_column("airport")
        for label in RANGES:
            table.add_column(label, justify="right")
        table.add_column("± 7 days", justify="right")
        table.add_column("cancelled", justify="right")
        columns = [self._by_origin(query) for query in RANGES.values()]
        cancelled = self._by_origin("cancelled")
        for origin in ("EWR", "JFK", "LGA"):
            delays = [_delay(column.get(origin)) for column in columns]
            spread = columns[2].get(origin, {}).get("spread")
            percent = cancelled.get(origin, {}).get("percent")
            table.add_row(
                Text(origin, style="bold"),
                *delays,
                "" if spread is None else f"{spread:.0f}",
                "" if percent is None else Text(f"{percent:.1f} %", style="red" if percent >= 10 else ""),
            )
        return table

    def _by_origin(self, query: str) -> dict[str, dict[str, Any]]:
        return {row["origin"]: row for row in self.latest.get(query, [])}

    def _carriers(self) -> RenderableType:
        table = _table("Worst airlines, 7 days")
        rows = [row for row in self.latest.get("carriers", []) if row["mean"] is not None]
        for row in sorted(rows, key=lambda row: -row["mean"])[:TOP]:
            table.add_row(_short(row["airline"]), _minutes(row["mean"]))
        return _filled(table)

    def _busiest_hours(self) -> RenderableType:
        table = _table("Busiest hours so far")
        for departures, end in self.busiest:
            table.add_row(f"{end - timedelta(hours=1):%a %d %b %H:%M}", f"{departures}")
        return _filled(table)

    def _late_routes(self) -> RenderableType:
        table = _table("Latest routes, 3 days")
        for row in sorted(self.latest.get("late_routes", []), key=lambda row: -row["mean"])[:TOP]:
            table.add_row(f"{row['origin']} → {row['dest']}", _minutes(row["mean"]))
        return _filled(table)

    def _footer(self) -> list[Text]:
        miles = [f"{row['miles']:,} miles scheduled in 24 hours" for row in self.latest.get("distance", [])]
        made_up = [
            f"{row['minutes']:.1f} minutes made up in the air by flights that left late, over 7 days"
            for row in self.latest.get("made_up", [])
        ]
        fog = []
        if self.foggy:
            mean = self.foggy_delay / self.foggy
            fog = [f"{self.foggy:,} flights left in fog so far, {mean:.1f} minutes late on average"]
        return [Text(line, style="dim") for line in (*miles, *made_up, *fog)]


def _table(title: str, *, wide: bool = False) -> Table:
    table = Table(
        box=None, title=title, title_justify="left", title_style="cyan", header_style="dim", pad_edge=False,
        show_header=wide, padding=(0, 3, 0, 0) if wide else (0, 2, 0, 0), min_width=len(title),
    )  # fmt: skip
    if not wide:
        table.add_column(no_wrap=True)
        table.add_column(justify="right")
    return table


def _short(airline: str) -> str:
    for end in (" Inc.", " Co.", " Corporation", " Airlines"):
        airline = airline.removesuffix(end)
    return airline


def _filled(table: Table) -> Table:
    """Empty rows up to the full height, so that nothing below jumps."""
    for _ in range(TOP - table.row_count):
        table.add_row("", "")
    return table


def _delay(row: dict[str, Any] | None) -> Text:
    if row is None or row["mean"] is None:
        return Text("")
    return _minutes(row["mean"]).append(f" {row['worst']:>4}", style="dim")


def _minutes(value: float) -> Text:
    style = "red" if value >= 30 else "yellow" if value >= 15 else "green"
    return Text(f"{value:.1f}", style=style)

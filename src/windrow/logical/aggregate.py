"""A window aggregate over one stream: scan, enrich, select, aggregate, project, from the stream up."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.columns import WINDOW_END, WINDOW_ROW, WINDOW_START
from windrow.cql.durations import format_duration
from windrow.logical.patterns import UpdatePattern
from windrow.logical.query import BoundQuery
from windrow.slicing import RowWindow

if TYPE_CHECKING:
    from collections.abc import Hashable

    from windrow.logical.relation import Stream
    from windrow.slicing import Window


@dataclass(frozen=True, kw_only=True)
class AggregateQuery(BoundQuery):
    """One window aggregate over one stream, answered at each evaluation."""

    window: Window | RowWindow

    @property
    def pattern(self) -> UpdatePattern:
        """What was answered at an evaluation stands."""
        return UpdatePattern.MONOTONIC

    @property
    def time_column(self) -> str:
        """When a window ends."""
        return WINDOW_END

    @property
    def time_windows(self) -> tuple[Window, ...]:
        """Its window, if that is one of time."""
        return () if isinstance(self.window, RowWindow) else (self.window,)

    @property
    def row_window(self) -> RowWindow | None:
        """Its window, if that is one of rows."""
        return self.window if isinstance(self.window, RowWindow) else None

    @property
    def time_columns(self) -> dict[str, pa.DataType]:
        """When its window begins and ends, and, counting rows, with which."""
        return window_columns(self.window, self.stream)

    @property
    def shape(self) -> Hashable:
        """Queries of one operator differ in their windows, and perhaps in this."""
        return self.aggregates, self.outputs, self.having

    def steps(self) -> list[str]:
        """The operators, from the answer down to the stream, for people."""
        steps = []
        if self.needs_projection:
            outputs = (f"{self.readable(o.expression)} AS {o.name}" for o in self.outputs)
            steps.append(f"project {', '.join(outputs)}")
        if self.having:
            steps.append(f"having {self.readable(self.having)}")
        by = f" by {', '.join(map(self.readable, self.keys))}" if self.keys else ""
        what = ", ".join(self.readable(str(aggregate)) for aggregate in self.aggregates) or "the groups"
        partition = f"PARTITION BY {', '.join(map(self.readable, self.keys))} "
        which = partition if self.row_window is not None and self.row_window.partitioned else ""
        steps.append(f"aggregate {what}{by} over [{which}{describe(self.window)}]")
        if self.where:
            steps.append(f"select {self.readable(self.where)}")
        if self.row_window is not None:
            steps.append(f"number rows{by if which else ''} in stream order")
        steps.extend(self.readable(str(enrichment)) for enrichment in reversed(self.enrichments))
        steps.append(str(self.scan))
        return steps

    def readable(self, sql: str) -> str:
        """An expression as a person would write it: answer columns as what they are, nothing quoted."""

        def spell(match: re.Match[str]) -> str:
            place = int(match[2])
            return str(self.keys[place] if match[1] == "key" else self.aggregates[place])

        return super().readable(re.sub(r"`_(key|aggregate)(\d+)`", spell, sql))


def window_columns(window: Window | RowWindow, stream: Stream) -> dict[str, pa.DataType]:
    """What a result says about its window: when it begins and ends, and, counting rows, with which."""
    columns = {WINDOW_START: stream.time_type, WINDOW_END: stream.time_type}
    return columns | {WINDOW_ROW: pa.int64()} if isinstance(window, RowWindow) else columns


def describe(window: Window | RowWindow) -> str:
    """A window as CQL writes it.

    >>> from windrow.slicing import Window
    >>> describe(Window(3_600_000_000, 60_000_000)), describe(RowWindow(100, 10))
    ('RANGE 1 hour SLIDE 1 minute', 'ROWS 100 SLIDE 10')
    """
    if isinstance(window, RowWindow):
        return f"ROWS {window.rows} SLIDE {window.slide}"
    offset = f" OFFSET {format_duration(window.offset)}" if window.offset else ""
    return f"RANGE {format_duration(window.range)} SLIDE {format_duration(window.slide)}{offset}"

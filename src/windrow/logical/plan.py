"""The bound plan of a query, from the stream up: scan, enrich, select, aggregate, project.

Every expression is Spark SQL over columns qualified by relation, so that two queries that mean the
same have the same text; types are Spark's own, as Arrow types.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.cql.durations import format_duration
from windrow.slicing import RowWindow

if TYPE_CHECKING:
    from windrow.aggregates import Aggregate
    from windrow.logical.relation import Stream
    from windrow.slicing import Window


@dataclass(frozen=True)
class Scan:
    """Reads the columns in use of one stream."""

    stream: Stream = field(compare=False)
    columns: tuple[str, ...] = field(compare=False)

    def __str__(self) -> str:
        return f"scan {self.stream.name}: {', '.join(self.columns)}"


@dataclass(frozen=True)
class Enrich:
    """Joins each row with an unchanging table. `join` is the JOIN clause."""

    table: str
    join: str

    def __str__(self) -> str:
        return f"enrich: {self.join}"


@dataclass(frozen=True)
class Output:
    """A result column: Spark SQL over the answer columns of the aggregation."""

    name: str
    expression: str
    type: pa.DataType = field(compare=False)
    answer: str | None = None
    """The answer column that it is, where it is nothing more."""


@dataclass(frozen=True)
class AggregateQuery:
    """One window aggregate over one stream."""

    scan: Scan
    enrichments: tuple[Enrich, ...]
    where: str | None
    window: Window | RowWindow
    keys: tuple[str, ...]
    key_types: tuple[pa.DataType, ...]
    aggregates: tuple[Aggregate, ...]
    outputs: tuple[Output, ...]
    having: str | None
    algorithm: str | None = None
    """The final aggregator that a hint asks for."""

    @property
    def stream(self) -> Stream:
        """The stream that the window slides over."""
        return self.scan.stream

    @property
    def time_windows(self) -> tuple[Window, ...]:
        """Its window, if that is one of time."""
        return () if isinstance(self.window, RowWindow) else (self.window,)

    @property
    def row_window(self) -> RowWindow | None:
        """Its window, if that is one of rows."""
        return self.window if isinstance(self.window, RowWindow) else None

    @property
    def window_columns(self) -> dict[str, pa.DataType]:
        """The columns that every result begins with."""
        return window_columns(self.window, self.stream)

    @property
    def needs_projection(self) -> bool:
        """Whether Spark must compute the SELECT list or HAVING from the answers."""
        return self.having is not None or any(output.answer is None for output in self.outputs)

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

        sql = re.sub(r"`_(key|aggregate)(\d+)`", spell, sql).replace("`", "").replace("_windrow_", "")
        return sql if self.enrichments else sql.replace(f"{self.stream.name}.", "")


def window_columns(window: Window | RowWindow, stream: Stream) -> dict[str, pa.DataType]:
    """What a result says about its window: when it begins and ends, and, counting rows, with which."""
    columns = {"window_start": stream.time_type, "window_end": stream.time_type}
    return columns | {"window_row": pa.int64()} if isinstance(window, RowWindow) else columns


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

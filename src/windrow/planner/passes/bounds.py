"""Which rows of a batch count: the conditions for a row to be late or dead, and the tally of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.types as pat

from windrow.columns import DEAD, INSTANT, LATE, LATEST, RAW, ROWS, SLICE, YEAR_1, YEAR_10000, quoted
from windrow.logical import view_name

if TYPE_CHECKING:
    import pyarrow as pa

    from windrow.logical import Stream


@dataclass(frozen=True)
class Bounds:
    """Which rows of a batch count: not late, and not absurdly early for their clock. None: no bound."""

    watermark: int | None = None
    ahead: int | None = None

    def good(self, stream: Stream) -> str:
        """The condition for a row to enter windows."""
        earliest = str(YEAR_1) + "L" if self.watermark is None else _by_reference(self.watermark)
        readable = f"{RAW} IS NULL AND " if stream.text else ""
        return f"{readable}{INSTANT} >= {earliest} AND {INSTANT} <= {self._last}"

    def admit(self, first: int, last: int) -> bool:
        """Whether every row whose event time is between these enters windows, if it can be read."""
        earliest = YEAR_1 if self.watermark is None else self.watermark
        latest = YEAR_10000 - 1 if self.ahead is None else self.ahead
        return earliest <= first and last <= latest

    def dead(self, stream: Stream) -> str:
        """The condition for a row that could not be read, or has no usable event time."""
        unreadable = f"{RAW} IS NOT NULL OR " if stream.text else ""
        wild = f"{INSTANT} < {YEAR_1}L OR {INSTANT} > {self._last}"
        return f"({unreadable}{INSTANT} IS NULL OR {wild})"

    def fate(self, stream: Stream, otherwise: str) -> str:
        """DEAD, LATE, or an expression for the rows that count."""
        refused = f"CASE WHEN {self.dead(stream)} THEN {DEAD}L ELSE {LATE}L END"
        return f"CASE WHEN {self.good(stream)} THEN {otherwise} ELSE {refused} END"

    @property
    def _last(self) -> str:
        return f"{YEAR_10000 - 1}L" if self.ahead is None else _by_reference(self.ahead)


def _by_reference(value: int) -> str:
    """A constant that Spark's generated code refers to and does not spell out.

    A watermark in the code would make every batch compile its own, two classes a pass; measured on
    small batches, that is most of an epoch. A constant array is passed by reference, and an index that
    depends on the row keeps the optimizer from folding it away.
    """
    return f"element_at(array({value}L, {value}L), IF({INSTANT} < 0, 1, 2))"


def instants_sql(stream: Stream) -> str:
    """The stream's rows, with the event time in microseconds."""
    instant = instant_sql(stream.timestamp, stream.time_type)
    return f"SELECT *, {instant} AS {INSTANT} FROM {view_name(stream.name)}"


def instant_sql(column: str, of_type: pa.DataType) -> str:
    """Microseconds since 1970 of a TIMESTAMP or TIMESTAMP_NTZ column."""
    name = quoted(column)
    if pat.is_timestamp(of_type) and of_type.tz is None:
        # Piece by piece: everything shorter goes through the session's time zone and its gaps.
        micros = f"CAST(extract(SECOND FROM {name}) * 1000000 AS BIGINT)"
        clock = f"hour({name}) * 3600000000L + minute({name}) * 60000000L + {micros}"
        instant = f"unix_date(CAST({name} AS DATE)) * 86400000000L + {clock}"
        # In the first day that 64 bits can hold, the multiplication would overflow and fail the batch.
        first = -106_751_991 * 86_400_000_000
        return f"CASE WHEN {name} < TIMESTAMP_NTZ '-290308-12-22' THEN {first}L ELSE {instant} END"
    return f"unix_micros({name})"


def tally_sql(stream: Stream, bounds: Bounds) -> str:
    """The rows of a batch by their fate, and the latest instant of those that count."""
    latest = f"max({INSTANT}) FILTER (WHERE {bounds.good(stream)})"
    items = f"{bounds.fate(stream, '0L')} AS {SLICE}, {latest} AS {LATEST}, count(*) AS {ROWS}"
    return f"SELECT {items} FROM ({instants_sql(stream)}) GROUP BY 1"

"""The windows of one query, which have to agree: in when they are evaluated, and in what an instant is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.cql import format_duration, span
from windrow.errors import StatementError

if TYPE_CHECKING:
    import pyarrow as pa

    from windrow.cql import TimeWindowNode
    from windrow.logical.relation import Stream


class Windows:
    """The windows of a query, in the order in which they stand in it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: list[tuple[TimeWindowNode, Stream]] = []
        self.starts_asked_at: tuple[int, int] | None = None
        """Where the statement wants to know when windows begin."""

    def add(self, window: TimeWindowNode, stream: Stream) -> None:
        """One more; an error if it does not agree with the others."""
        if self._found:
            first, other = self._found[0]
            problem, hint = _disagreement(window, first) or _other_time(stream, other) or ("", "")
            if problem:
                raise StatementError(problem, self._text, *span(window), hint)
        self._found.append((window, stream))

    @property
    def slide(self) -> int | None:
        """The time between two evaluations; None: it is answered at every change."""
        return self._found[0][0].slide if self._found else None

    @property
    def offset(self) -> int:
        """When evaluations are, beside multiples of the slide."""
        return self._found[0][0].offset if self._found else 0

    @property
    def stream(self) -> Stream:
        """A stream whose event times are like those of all others."""
        return self._found[0][1]

    @property
    def range(self) -> int | None:
        """How long all of them are, if they are equally long."""
        ranges = {window.range for window, _ in self._found}
        return ranges.pop() if len(ranges) == 1 else None

    @property
    def time_type(self) -> pa.DataType:
        """The type of instants."""
        return self._found[0][1].time_type

    def check_starts(self) -> None:
        """An error if the statement asks when windows begin, and they do not begin together."""
        if self.starts_asked_at is not None and self.range is None:
            raise StatementError(
                "the windows of this query begin at different times, so that there is no window_start",
                self._text,
                *self.starts_asked_at,
                "they end together: use window_end",
            )


def _disagreement(window: TimeWindowNode, first: TimeWindowNode) -> tuple[str, str] | None:
    if window.slide == first.slide and window.offset == first.offset:
        return None
    if (window.slide is None) != (first.slide is None):
        problem = (
            "one window has a SLIDE and another has none, so that they are not answered at the same time"
        )
        return problem, f"give all windows of the query the same SLIDE, or none; the first is {first}"
    what = "SLIDE" if window.slide != first.slide else "OFFSET"
    problem = f"the windows of a query are evaluated together, and this one has another {what} than the first"
    slide = f"SLIDE {format_duration(first.slide or 0).upper()}"
    offset = f" OFFSET {format_duration(first.offset).upper()}" if first.offset else ""
    return problem, f"give all windows of the query the same, such as {slide}{offset}"


def _other_time(stream: Stream, other: Stream) -> tuple[str, str] | None:
    zones = [one.zone or "that of the session" for one in (stream, other)]
    if zones[0] != zones[1]:
        names = f"stream '{stream.name}' ({zones[0]}) and '{other.name}' ({zones[1]})"
        return f"{names} are read in different time zones", "declare both with the same time zone"
    types = [str(one.columns.get(one.timestamp)) for one in (stream, other)]
    if types[0] != types[1]:
        problem = f"'{stream.name}' has event times of type {types[0]}, '{other.name}' of {types[1]}"
        return problem, "make both TIMESTAMP, or both TIMESTAMP_NTZ"
    return None

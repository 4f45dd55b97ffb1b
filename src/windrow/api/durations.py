"""Durations as a caller of the engine writes them: `retain="30 days"`."""

from __future__ import annotations

from windrow.cql import parse_duration
from windrow.errors import WindrowError


def positive(what: str, duration: str | None) -> int | None:
    """A duration in microseconds, None if there is none; `what` names the argument in the error.

    >>> positive("retain", "2 seconds")
    2000000
    """
    if duration is None:
        return None
    length = parse_duration(duration)
    if length <= 0:
        raise WindrowError(f"{what} must be longer than nothing, not {duration!r}")
    return length

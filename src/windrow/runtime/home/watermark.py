"""How watermarks move: with the rows, and, on a stream that has fallen silent, with the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.columns import BEGINNING, END_OF_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable

    from windrow.logical import Stream
    from windrow.runtime.home.records import Progress


def after_rows(stream: Stream, progress: Progress, latest: int | None) -> tuple[int | None, int | None]:
    """The latest event time and the watermark when rows up to `latest` have come (None: none that count)."""
    if latest is None or progress.sealed:
        return progress.latest, progress.watermark
    if progress.latest is not None:
        latest = max(latest, progress.latest)
    reached = latest - stream.delay
    return latest, reached if progress.watermark is None else max(progress.watermark, reached)


def after_silence(stream: Stream, progress: Progress, until: float, since: float | None) -> int | None:
    """The watermark of a stream that has been silent for its IDLE TIMEOUT; None if it has not been.

    Event time is taken to have passed at the pace of the clock. `until`: the last instant at which the
    stream is known to have been silent. `since`: when the engine began to listen, if that is later than the
    last batch.
    """
    if stream.idle_timeout is None or progress.sealed or progress.latest is None:
        return None
    silent = round((until - max(progress.clock, since or 0.0)) * 1e6)
    if silent < stream.idle_timeout:
        return None
    assert progress.watermark is not None
    return max(progress.watermark, progress.latest + silent - stream.delay)


def is_silent(stream: Stream, progress: Progress, until: float, since: float | None) -> bool:
    """Whether a stream that has never shown a row has been listened to for its IDLE TIMEOUT."""
    if stream.idle_timeout is None or progress.sealed or progress.latest is not None or since is None:
        return False
    return round((until - since) * 1e6) >= stream.idle_timeout


def joint(streams: Iterable[Progress]) -> int | None:
    """The watermark of several streams together: the least of those that are not idle, if any is not.

    A sealed stream holds nothing back, nor does one that is idle and has never shown a row. None as long as a
    stream that counts has shown no row.
    """
    open_ones = [progress for progress in streams if not progress.sealed]
    counting = [progress for progress in open_ones if not progress.idle]
    counting = counting or [progress for progress in open_ones if progress.watermark is not None]
    marks = [progress.watermark for progress in counting]
    return None if not marks or None in marks else min(mark for mark in marks if mark is not None)


def reached(streams: Iterable[Progress]) -> int:
    """Up to where what reads some streams is to be answered: their joint watermark, the end of time when all
    are sealed, and the beginning as long as there is no watermark."""
    listed = list(streams)
    if all(progress.sealed for progress in listed):
        return END_OF_TIME
    mark = joint(listed)
    return BEGINNING if mark is None else mark

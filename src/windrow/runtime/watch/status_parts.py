"""What a status is about: a stream, a query, a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime, timedelta


@dataclass(frozen=True)
class StreamStatus:
    """One stream: what came, and how far it is."""

    name: str
    rows: int
    late: int
    dead: int
    batch: int
    rate: float
    """Rows a second over the last minute of the clock."""
    watermark: datetime | None
    lag: timedelta | None
    """How far the watermark is behind the clock."""
    idle: bool
    sealed: bool
    epoch_seconds: float | None
    """How long its last epoch took."""
    last_batch: datetime | None


@dataclass(frozen=True)
class QueryStatus:
    """One query: what it has answered, what it holds, and whether it still runs."""

    name: str
    stream: str
    sql: str
    answers: int
    latest_end: datetime | None
    """The end of the latest window answered."""
    started: bool
    """Whether an epoch has had it."""
    entries: int
    """Partials held, in open and closed slices."""
    state_bytes: int
    sealed: bool
    quarantined: str | None
    """Why it no longer runs."""
    quarantined_epoch: int | None
    retain: timedelta | None
    complete_after: datetime | None = None
    """Windows that begin later hold all their rows; None: all of them do."""

    @property
    def condition(self) -> str:
        """In a word: active, waiting (for its first epoch), sealed or quarantined."""
        if self.quarantined is not None:
            return "quarantined"
        if not self.started:
            return "waiting"
        return "sealed" if self.sealed else "active"


@dataclass(frozen=True)
class RequestStatus:
    """A query that somebody asked for and no engine has added: none has looked yet, or it was refused."""

    name: str
    sql: str
    refused: str | None

    @property
    def condition(self) -> str:
        """In a word: waiting (for an engine) or refused."""
        return "waiting" if self.refused is None else "refused"

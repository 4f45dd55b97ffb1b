"""How an engine is doing: read from its home's catalog, so that any process can ask."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from windrow.runtime.home.lock import is_held
from windrow.runtime.home.requests import Requests
from windrow.runtime.home.watermark import joint
from windrow.runtime.watch.status_html import status_html

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from windrow.runtime.home.catalog import Catalog

RATE_SECONDS = 60
EPOCH_0 = datetime(1970, 1, 1, tzinfo=UTC)


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


@dataclass(frozen=True)
class Status:
    """An engine at a moment."""

    epoch: int
    """The last one committed; -1 before the first."""
    running: bool
    """Whether an engine is running on the home."""
    clock: datetime
    watermark: datetime | None
    """The least of the streams that are not idle."""
    streams: tuple[StreamStatus, ...]
    queries: tuple[QueryStatus, ...]
    bytes: Mapping[str, int]
    """On disk: results, slices, late, dead."""
    files: Mapping[str, int]
    requests: tuple[RequestStatus, ...] = ()

    def _repr_html_(self) -> str:
        return status_html(self)


def read_status(home: Path, catalog: Catalog, clock: float) -> Status:
    """The status of a home with its catalog."""
    streams = catalog.streams()
    disk = catalog.disk_use()
    return Status(
        epoch=catalog.last_epoch(),
        running=is_held(home),
        clock=instant(round(clock * 1e6)),
        watermark=_maybe(joint(catalog.progress(name) for name in streams)),
        streams=tuple(_stream(catalog, name, clock) for name in streams),
        queries=tuple(
            QueryStatus(
                query.name, query.stream, query.sql, query.answers, _maybe(query.latest_end), query.started,
                query.entries, query.state_bytes, query.sealed, query.quarantined, query.quarantined_epoch,
                None if query.retain is None else timedelta(microseconds=query.retain),
                _maybe(query.complete_after),
            )
            for query in catalog.queries()
        ),
        requests=tuple(
            RequestStatus(
                request.name, request.sql, None if refusal is None else str(refusal.error(request.sql))
            )
            for request, refusal in Requests(catalog).added()
        ),
        bytes={use.kind: use.bytes for use in disk},
        files={use.kind: use.files for use in disk},
    )  # fmt: skip


def _stream(catalog: Catalog, name: str, clock: float) -> StreamStatus:
    progress = catalog.progress(name)
    epochs = catalog.past_epochs(name)
    recent = sum(epoch.rows for epoch in epochs if epoch.clock > clock - RATE_SECONDS)
    watermark = _maybe(progress.watermark)
    return StreamStatus(
        name=name,
        rows=progress.rows,
        late=progress.late,
        dead=progress.dead,
        batch=progress.batch,
        rate=recent / RATE_SECONDS,
        watermark=watermark,
        lag=None if watermark is None else instant(round(clock * 1e6)) - watermark,
        idle=progress.idle,
        sealed=progress.sealed,
        epoch_seconds=epochs[-1].seconds if epochs else None,
        last_batch=instant(round(progress.clock * 1e6)) if progress.batch >= 0 else None,
    )


def instant(micros: int) -> datetime:
    """Microseconds since 1970 as a datetime; one beyond Python's calendar is its end."""
    try:
        return EPOCH_0 + timedelta(microseconds=micros)
    except OverflowError:
        return (datetime.max if micros > 0 else datetime.min).replace(tzinfo=UTC)


def _maybe(micros: int | None) -> datetime | None:
    return None if micros is None else instant(micros)

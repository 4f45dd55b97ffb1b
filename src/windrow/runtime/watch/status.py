"""How an engine is doing: read from its home's catalog, so that any process can ask."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from windrow.runtime.home.lock import is_held
from windrow.runtime.home.requests import Requests
from windrow.runtime.home.watermark import joint
from windrow.runtime.watch.shown import until
from windrow.runtime.watch.status_html import status_html
from windrow.runtime.watch.status_parts import QueryStatus, RequestStatus, StreamStatus

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from windrow.runtime.home.catalog import Catalog

RATE_SECONDS = 60
EPOCH_0 = datetime(1970, 1, 1, tzinfo=UTC)


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
        running = "an engine is running" if self.running else "no engine is running"
        epoch = f"epoch {self.epoch:,}" if self.epoch >= 0 else "no epoch yet"
        watermark = f", watermark {until(self.watermark)}" if self.watermark is not None else ""
        line = f"{running}, {epoch}{watermark}"
        return status_html(line, self.streams, self.queries, self.requests)


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
                query.name, ", ".join(query.streams), query.sql, query.answers, _maybe(query.latest_end),
                query.started,
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

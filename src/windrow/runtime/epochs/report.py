"""What an epoch did with one stream: for displays, for the log, for whoever watches."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from windrow.runtime.logs import event

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from windrow.runtime.epochs.stage import Part


@dataclass(frozen=True)
class EpochReport:
    """What an epoch did with one stream, for people who watch."""

    epoch: int
    stream: str
    batch: int | None
    """None: a heartbeat, or the seal."""
    rows: int
    late: int
    dead: int
    watermark: int | None
    seconds: float
    idle: bool = False
    answers: Mapping[str, int] = field(default_factory=dict)
    """Answers written, by query."""
    latest: Mapping[str, pa.Table] = field(default_factory=dict)
    """The last evaluation of each query that had answers."""
    quarantined: Mapping[str, str] = field(default_factory=dict)
    """Queries that failed in it, with the reason."""
    commit_seconds: float = 0.0
    """How much of it was writing slices, forcing to disk and committing; answers are written before that."""
    writing_seconds: float = 0.0
    """How much of it was writing answers."""
    node_seconds: Mapping[int, float] = field(default_factory=dict)
    """How long each Spark task that holds trees had to do, by node."""
    plans_failed: int = 0
    """How often trees could not be planned anew since the engine started, a fault of Windrow's that costs
    speed, not answers; the log has the reasons."""


def log_epoch(report: EpochReport, part: Part) -> None:
    """Log what a committed epoch did."""
    stream, epoch = report.stream, report.epoch
    for query, error in part.failed.items():
        event(
            logging.ERROR, "query_quarantined", "query '%(query)s' failed and is quarantined: %(reason)s",
            query=query, stream=stream, epoch=epoch, reason=str(error), error=error,
        )  # fmt: skip
    if report.dead:
        event(
            logging.WARNING, "dead_letters",
            "stream '%(stream)s': %(dead)d dead letters in epoch %(epoch)d, %(total)d in all; "
            "eng.dead('%(stream)s') has them",
            stream=stream, epoch=epoch, dead=report.dead, total=part.progress.dead,
            max_dead=part.runner.stream.max_dead,
        )  # fmt: skip
    if report.idle != part.was_idle:
        now = "is silent and goes on with the clock" if report.idle else "has rows again"
        event(
            logging.INFO, "stream_idle" if report.idle else "stream_awake", f"stream '%(stream)s' {now}",
            stream=stream, epoch=epoch, watermark=report.watermark,
        )  # fmt: skip
    answers = sum(report.answers.values())
    quiet = report.batch is None and not answers
    event(
        logging.DEBUG if quiet else logging.INFO, "epoch_committed",
        "epoch %(epoch)d: %(stream)s +%(rows)d rows, +%(answers)d answers",
        epoch=epoch, stream=stream, batch=report.batch, rows=report.rows, late=report.late, dead=report.dead,
        watermark=report.watermark, idle=report.idle, answers=answers, seconds=report.seconds,
        commit_seconds=report.commit_seconds,
        node_seconds=list(report.node_seconds.values()),
    )  # fmt: skip

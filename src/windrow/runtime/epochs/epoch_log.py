"""What the log says of an epoch that is committed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from windrow.runtime.logs import event

if TYPE_CHECKING:
    from collections.abc import Mapping

    from windrow.runtime.epochs.part import Part
    from windrow.runtime.epochs.report import EpochReport


def log_epoch(report: EpochReport, part: Part, failed: Mapping[int, Exception]) -> None:
    """Log what a committed epoch did; `failed` are the queries that it did without, by their numbers."""
    stream, epoch = report.stream, report.epoch
    for query in part.queries:
        error = failed.get(query.stored.id)
        if error is None:
            continue
        event(
            logging.ERROR, "query_quarantined", "query '%(query)s' failed and is quarantined: %(reason)s",
            query=query.stored.name, stream=stream, epoch=epoch, reason=str(error), error=error,
        )  # fmt: skip
    if report.dead:
        event(
            logging.WARNING, "dead_letters",
            "stream '%(stream)s': %(dead)d dead letters in epoch %(epoch)d, %(total)d in all; "
            "eng.dead('%(stream)s') has them",
            stream=stream, epoch=epoch, dead=report.dead, total=part.progress.dead,
            max_dead=part.stream.max_dead,
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

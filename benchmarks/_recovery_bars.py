"""What `recovery` promises, and the numbers of a commit that it is judged by."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from _harness import Bar, Timing

if TYPE_CHECKING:
    from recovery import Settings

PARTS = ("Spark pass", "answering", "writing answers", "writing slices", "fsync", "transaction", "removing")
RECOVERY_BOUND, AGE_BOUND, COMMIT_BOUND = 1.0, 1.3, 0.15


def commit_summary(rows: int, epochs: list[dict[str, float]]) -> dict[str, Any]:
    """The medians of the epochs of one size.

    `share` is what the engine itself reports. Answers are written while they are made, before that
    begins, so `share_with_answers` counts this writing too.
    """
    share = Timing(tuple(epoch["commit_seconds"] / epoch["seconds"] for epoch in epochs))
    writing = [(epoch["commit_seconds"] + epoch["writing answers"]) / epoch["seconds"] for epoch in epochs]
    return {
        "rows": rows,
        "answers": statistics.median(epoch["answers"] for epoch in epochs),
        "epochs": len(epochs),
        "seconds": round(statistics.median(epoch["seconds"] for epoch in epochs), 4),
        "commit_seconds": round(statistics.median(epoch["commit_seconds"] for epoch in epochs), 4),
        "share": round(share.median, 4),
        "share_spread": round(share.spread, 3),
        "share_with_answers": round(statistics.median(writing), 4),
        "parts": {part: round(statistics.median(epoch[part] for epoch in epochs), 4) for part in PARTS},
    }


def over_start(recovery: Mapping[str, Any], plain: Mapping[str, Any]) -> float:
    """A restart, over a start of Spark and two epochs."""
    return float(recovery["median"] / (plain["median"] + 2 * recovery["steady"]))


def bars(
    settings: Settings,
    plain: Mapping[str, Any],
    recoveries: list[dict[str, Any]],
    commits: list[dict[str, Any]],
) -> Iterator[Bar]:
    """What is promised of the measured values."""
    for recovery in recoveries:
        name = f"recovery / (Spark's own start + 2 epochs), {recovery['label']}"
        yield Bar(name, over_start(recovery, plain), RECOVERY_BOUND, at_most=True)
    window = settings.ages_window
    by_age = {
        recovery["epochs"]: recovery["median"]
        for recovery in recoveries
        if (recovery["range"], recovery["slide"]) == (window.range, window.slide)
    }
    youngest, oldest = min(settings.ages), max(settings.ages)
    yield Bar(
        f"recovery after {oldest:,} epochs / after {youngest:,}",
        by_age[oldest] / by_age[youngest],
        AGE_BOUND,
        at_most=True,
    )
    largest = max(commits, key=lambda commit: commit["rows"])
    name = f"commit's part of an epoch of {largest['rows']:,} rows"
    yield Bar(name, largest["share"], COMMIT_BOUND, at_most=True)

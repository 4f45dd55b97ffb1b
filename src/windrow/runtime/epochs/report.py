"""What an epoch did with one stream: for displays, for the log, for whoever watches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from windrow.runtime.home.results import time_column

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    import pyarrow as pa


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
    """The last evaluation of each query that had answers, or its latest answers if each has its own time."""
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

    def latest_time(self, query: str) -> datetime:
        """The time of the last of a query's latest answers."""
        answers = self.latest[query]
        last: datetime = answers[time_column(answers.schema)][-1].as_py()
        return last

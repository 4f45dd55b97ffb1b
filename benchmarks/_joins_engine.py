"""An engine over generated links: how long it takes, and what each of its epochs does."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from _joins_links import LINKS, SCHEMA

from windrow import Engine
from windrow.runtime.home.catalog import Catalog

if TYPE_CHECKING:
    from pathlib import Path

    from _joins_links import Links
    from pyspark.sql import DataFrame, SparkSession

    from windrow.api.engine import EpochReport

QUERY = "answers"


@dataclass(frozen=True)
class Epoch:
    """What an epoch was about, and what it left."""

    at: float
    """When it was over, in seconds since no particular moment."""
    batch: int | None
    """None: the seal."""
    rows: int
    answers: int
    state_bytes: int
    """What it wrote of the state of operators."""
    entries: int
    """What the query held after it, rows that wait included."""


@dataclass(frozen=True)
class Epochs:
    """What the epochs of the second half of the batches did, in which all windows are full."""

    all: tuple[Epoch, ...]

    @property
    def later(self) -> list[Epoch]:
        return [epoch for epoch in self._of_batches if epoch.at > self._middle]

    @property
    def seconds(self) -> float:
        """How long they took together: to commits, from the last one before."""
        return max(epoch.at for epoch in self.later) - self._middle

    @property
    def nanoseconds_each(self) -> float:
        """What they took for a row and result."""
        return 1e9 * self.seconds / sum(epoch.rows + epoch.answers for epoch in self.later)

    @property
    def state_bytes(self) -> float:
        """What they wrote of the state of operators, on average."""
        return sum(epoch.state_bytes for epoch in self.later) / len(self.later)

    @property
    def entries(self) -> int:
        """The most that the query held after one of them."""
        return max(epoch.entries for epoch in self.later)

    @property
    def _of_batches(self) -> list[Epoch]:
        return [epoch for epoch in self.all if epoch.batch is not None]

    @property
    def _middle(self) -> float:
        batches = 1 + max(epoch.batch or 0 for epoch in self.all)
        return max(epoch.at for epoch in self._of_batches if (epoch.batch or 0) < batches // 2)


@dataclass
class Watcher:
    """Notes each epoch of an engine."""

    engine: Engine
    home: Path
    epochs: list[Epoch] = field(default_factory=list)

    def note(self, report: EpochReport) -> None:
        """Called after every epoch."""
        at = time.perf_counter()
        catalog = Catalog(self.home / "catalog.db")
        files = catalog.files("slices")
        catalog.close()
        written = sum(f.bytes or 0 for f in files if f.first_epoch == f.last_epoch == report.epoch)
        (query,) = self.engine.status().queries
        if query.quarantined is not None:
            raise RuntimeError(f"{query.sql}: {query.quarantined}")
        answers = sum(report.answers.values())
        self.epochs.append(Epoch(at, report.batch, report.rows, answers, written, query.entries))


def run_engine(
    spark: SparkSession, links: Links, statement: str, scratch: Path, streams: Sequence[str] = LINKS
) -> tuple[float, Epochs, DataFrame]:
    """A query over links in a new home, from the engine's construction to its last commit: the seconds, the
    epochs and the answers. Everything is sealed in the end, so that the last rows are answered too."""
    begun = time.perf_counter()
    with Engine(scratch / "home", spark=spark) as engine:
        watcher = Watcher(engine, scratch / "home")
        engine.on_epoch = watcher.note
        for link in streams:
            options = {"maxFilesPerTrigger": "1"}
            engine.stream(link, links.files_of(link), "ts", schema=SCHEMA, options=options)
        engine.query(QUERY, statement)
        engine.run(seal=True)
        return time.perf_counter() - begun, Epochs(tuple(watcher.epochs)), engine.results(QUERY)

"""How far each stream has been read, and the last epochs, in the catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.runtime.home.catalog.database import Database
from windrow.runtime.home.records import PastEpoch, Progress

if TYPE_CHECKING:
    import sqlite3

    from windrow.runtime.home.records import Epoch

KEPT_EPOCHS = 1_000
"""How many epochs the catalog remembers; only people look at them."""


class EpochTables(Database):
    """The tables `progress` and `epochs`."""

    def progress(self, stream: str) -> Progress:
        """How far a stream has been read."""
        rows = self.rows(
            "SELECT batch, latest, watermark, sealed, idle, clock, rows, late, dead, offsets "
            "FROM progress WHERE stream = ?",
            stream,
        )
        for batch, latest, watermark, sealed, idle, *rest in rows:
            return Progress(batch, latest, watermark, bool(sealed), bool(idle), *rest)
        return Progress()

    def read_streams(self) -> list[str]:
        """The streams of which something has been committed."""
        return [stream for (stream,) in self.rows("SELECT stream FROM progress")]

    def last_epoch(self) -> int:
        """The number of the last committed epoch; -1 before the first."""
        ((epoch,),) = self.rows("SELECT coalesce(max(epoch), -1) FROM epochs")
        return int(epoch)

    def past_epochs(self, stream: str) -> list[PastEpoch]:
        """The epochs of a stream that are remembered, oldest first."""
        rows = self.rows("SELECT clock, rows, seconds FROM epochs WHERE stream = ? ORDER BY epoch", stream)
        return [PastEpoch(*row) for row in rows]

    def rate(self, stream: str) -> float | None:
        """Rows a second of event time, of late; None as long as nobody can know."""
        recent = self.rows(
            "SELECT rows, watermark FROM epochs WHERE stream = ? AND watermark IS NOT NULL "
            "ORDER BY epoch DESC LIMIT 20",
            stream,
        )
        if len(recent) < 2 or recent[0][1] <= recent[-1][1]:
            return None
        return sum(rows for rows, _ in recent[:-1]) * 1e6 / (recent[0][1] - recent[-1][1])

    def batch_seconds(self, stream: str) -> float | None:
        """How much event time a batch brings, of late; None as long as nobody can know."""
        recent = self.rows(
            "SELECT watermark FROM epochs WHERE stream = ? AND watermark IS NOT NULL AND batch IS NOT NULL "
            "ORDER BY epoch DESC LIMIT 20",
            stream,
        )
        return (recent[0][0] - recent[-1][0]) / 1e6 / (len(recent) - 1) if len(recent) > 1 else None

    @staticmethod
    def write_progress(database: sqlite3.Connection, stream: str, progress: Progress) -> None:
        """Remember how far a stream has been read, as part of a transaction."""
        p = progress
        database.execute(
            "INSERT OR REPLACE INTO progress VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (stream, p.batch, p.latest, p.watermark, p.sealed, p.idle, p.clock, p.rows, p.late, p.dead,
             p.offsets),
        )  # fmt: skip

    @staticmethod
    def note_epoch(database: sqlite3.Connection, epoch: Epoch) -> None:
        """Remember an epoch, and forget those that are too long ago, as part of a transaction."""
        database.executemany(
            "INSERT INTO epochs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (epoch.number, stream, advance.batch, advance.progress.watermark, epoch.clock, epoch.seconds,
                 advance.rows, advance.late, advance.dead, advance.answers)
                for stream, advance in epoch.streams.items()
            ],
        )  # fmt: skip
        database.execute("DELETE FROM epochs WHERE epoch <= ?", (epoch.number - KEPT_EPOCHS,))

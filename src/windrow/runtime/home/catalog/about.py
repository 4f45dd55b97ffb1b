"""What the catalog says about the home as a whole: its format, who holds it, what its clock says."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from windrow.runtime.home.catalog.database import Database
from windrow.runtime.home.catalog.schema import make_tables

if TYPE_CHECKING:
    from pathlib import Path

LONGEST_STEP = 86_400.0
"""By how many seconds an epoch moves the home's clock at most: a machine whose clock is set a month ahead,
or was off for as long, lets late rows and dead letters grow older by a day, not by all of their RETAIN."""
RECENT_EPOCHS = 20
"""The home's clock moves by what an epoch's clock is ahead of all of so many before it. One would not do:
streams stage at the same time, and an epoch may be of a batch that was staged before the last epoch's."""


class AboutTable(Database):
    """The table `about`, of one row."""

    def format(self) -> int | None:
        """The format that the catalog was made with; None if it is empty."""
        if not self.rows("SELECT 1 FROM sqlite_master WHERE name = 'about'"):
            return None
        ((found,),) = self.rows("SELECT format FROM about")
        return int(found)

    def make(self) -> None:
        """Make the tables of a catalog that is empty."""
        with self.transaction() as database:
            make_tables(database)

    def damage(self) -> str | None:
        """What is wrong with the file, as SQLite says it; None if nothing is."""
        ((found,),) = self.rows("PRAGMA integrity_check(1)")
        return None if found == "ok" else str(found)

    def copy_to(self, target: Path) -> None:
        """Copy the catalog, as it is committed, to a file that is not there; nobody holds the copy's home."""
        with closing(sqlite3.connect(self._path)) as source, closing(sqlite3.connect(target)) as copy:
            source.backup(copy)
            copy.execute("UPDATE about SET token = NULL, owner = NULL")
            copy.commit()

    # who holds the home

    def owner(self) -> tuple[str | None, str | None]:
        """The token of the engine that took the home last, and that engine as people know it."""
        ((token, owner),) = self.rows("SELECT token, owner FROM about")
        return token, owner

    @staticmethod
    def set_owner(database: sqlite3.Connection, token: str, owner: str) -> None:
        """Let an engine have the home, as part of a transaction."""
        database.execute("UPDATE about SET token = ?, owner = ?", (token, owner))

    # the home's clock

    def clock(self) -> float:
        """What the home's clock says, by which late rows and dead letters are dated and expire.

        It moves with epochs, by as much as the clock moved since the epochs before, but never back, and never
        by more than `LONGEST_STEP` at once.
        """
        ((clock,),) = self.rows("SELECT clock FROM about")
        return float(clock)

    @staticmethod
    def move_clock(database: sqlite3.Connection, clock: float) -> float:
        """Let the home's clock go on with an epoch that is about to be noted, as part of a transaction; what
        it says then."""
        ((now, before),) = database.execute(
            "SELECT clock, (SELECT max(clock) FROM epochs WHERE epoch > "
            "(SELECT max(epoch) FROM epochs) - ?) FROM about",
            (RECENT_EPOCHS,),
        )
        now = clock if before is None else now + min(max(clock - before, 0.0), LONGEST_STEP)
        database.execute("UPDATE about SET clock = ?", (now,))
        return float(now)

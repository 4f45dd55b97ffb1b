"""Homes of the format before, brought to the present one when they are opened; older ones are refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from windrow.errors import HomeError
from windrow.runtime.home.catalog import FORMAT
from windrow.runtime.home.folder_names import folder_name

if TYPE_CHECKING:
    from windrow.runtime.home.home import Home

OLDEST = 4
"""The oldest format that is brought up to date."""


def check_format(path: Path, found: int) -> None:
    """Raise a HomeError if a home has a format that this Windrow neither reads nor brings up to date."""
    if found > FORMAT:
        raise HomeError(
            f"{path} has format {found} and this Windrow reads up to {FORMAT}; use a newer Windrow"
        )
    if found < OLDEST:
        raise HomeError(
            f"{path} has format {found} and this Windrow opens formats {OLDEST} and {FORMAT}; open it once "
            f"with an earlier Windrow, which brings it to format {FORMAT}, or begin a new home, which reads "
            "the streams from their beginning"
        )


def migrate(home: Home) -> None:
    """Bring a home from format 4, which did not know who holds a home, how old its rows are by the clock of
    its epochs, nor which batches Spark's own record of a stream is about, to the present one, whole or not
    at all."""
    _move_checkpoints(home)
    with home.catalog.transaction() as database:
        for column in ("token TEXT", "owner TEXT", "clock REAL NOT NULL DEFAULT 0"):
            database.execute(f"ALTER TABLE about ADD COLUMN {column}")
        database.execute("UPDATE about SET clock = (SELECT coalesce(max(clock), 0) FROM epochs)")
        database.execute("ALTER TABLE progress ADD COLUMN offsets TEXT")
        database.execute("UPDATE about SET format = ?", (FORMAT,))


def _move_checkpoints(home: Home) -> None:
    """In format 4, what Spark had noted of a stream was under the stream's bare name, wherever that led.

    A directory that has been moved stays moved if the migration then fails, and the next one finds it.
    """
    top = home.path / "streams"
    for (stream,) in home.catalog.rows("SELECT stream FROM progress"):
        old = Path(os.path.normpath(top / stream.lower()))
        new = top / folder_name(stream)
        if old == new or new.exists() or not old.exists():
            continue
        top.mkdir(exist_ok=True)
        if top not in old.parents:
            raise HomeError(
                f"what Spark noted of stream '{stream}' is not in the home {home.path}, but in {old}, where "
                f"its name led; if it is this stream's, move it to {new}, and open the home again"
            )
        old.rename(new)

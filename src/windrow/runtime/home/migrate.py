"""Homes of earlier formats, brought to the present one when they are opened; very old ones are refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from windrow.errors import HomeError
from windrow.runtime.home.catalog import FORMAT
from windrow.runtime.home.catalog.schema import from_format_4, from_format_5, from_format_6
from windrow.runtime.home.folder_names import folder_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from windrow.runtime.home.catalog import Catalog

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
            f"{path} has format {found} and this Windrow opens formats {OLDEST} to {FORMAT}; open it once "
            f"with an earlier Windrow, which brings it to format 5, or begin a new home, which reads "
            "the streams from their beginning"
        )


def migrate(home: Path, catalog: Catalog, found: int) -> None:
    """Bring a home from an earlier format to the present one, whole or not at all."""
    if found == 4:
        _move_checkpoints(home, catalog.read_streams())
    with catalog.transaction() as database:
        if found == 4:
            from_format_4(database)
        if found <= 5:
            from_format_5(database)
        from_format_6(database)


def _move_checkpoints(home: Path, streams: Iterable[str]) -> None:
    """In format 4, what Spark had noted of a stream was under the stream's bare name, wherever that led.

    A directory that has been moved stays moved if the migration then fails, and the next one finds it.
    """
    top = home / "streams"
    for stream in streams:
        old = Path(os.path.normpath(top / stream.lower()))
        new = top / folder_name(stream)
        if old == new or new.exists() or not old.exists():
            continue
        top.mkdir(exist_ok=True)
        if top not in old.parents:
            raise HomeError(
                f"what Spark noted of stream '{stream}' is not in the home {home}, but in {old}, where "
                f"its name led; if it is this stream's, move it to {new}, and open the home again"
            )
        old.rename(new)

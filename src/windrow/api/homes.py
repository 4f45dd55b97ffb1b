"""What can be done with a home without Spark: to ask how it is doing, and what a query answers; to copy it.

Any process may, while an engine runs; nothing is made where there is no home.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.errors import HomeError
from windrow.runtime.home.backup import back_up
from windrow.runtime.home.catalog import FORMAT, Catalog
from windrow.runtime.home.durable import explained
from windrow.runtime.home.lock import check_free
from windrow.runtime.home.migrate import check_format
from windrow.runtime.home.requests import Requests
from windrow.runtime.home.views import View, parsed_instant, view
from windrow.runtime.logs import log_to as log_to
from windrow.runtime.logs import plain
from windrow.runtime.watch.status import Status as Status
from windrow.runtime.watch.status import read_status
from windrow.runtime.watch.status_parts import QueryStatus as QueryStatus
from windrow.runtime.watch.status_parts import RequestStatus as RequestStatus
from windrow.runtime.watch.status_parts import StreamStatus as StreamStatus

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator
    from datetime import datetime


def home_status(home: str | os.PathLike[str], clock: Callable[[], float] = time.time) -> Status:
    """The status of a home, as `Engine.status()` gives it."""
    with _reading(home) as catalog:
        return read_status(existing(home), catalog, clock())


def home_view(home: str | os.PathLike[str], name: str, at: str | datetime | None = None) -> View:
    """The answer of a query of a home at an instant, as `Engine.view()` gives it, and the instant."""
    instant = None if at is None else parsed_instant(at)
    with _reading(home) as catalog:
        query = catalog.query(name)
        if query is None:
            raise Requests(catalog).unknown(name)
        return view(existing(home), catalog, query, instant)


def back_up_home(
    home: str | os.PathLike[str],
    target: str | os.PathLike[str],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Copy a home, as it is at this moment, to a new directory; how many files it lists.

    An engine may be running on it. `progress` is told how many bytes have been copied, and of how many.
    """
    with _reading(home) as catalog:
        return back_up(existing(home), catalog, Path(target).absolute(), progress)


def check_that_none_runs(home: str | os.PathLike[str]) -> None:
    """Raise a HomeError if an engine is running on a home; where there is none, none does."""
    check_free(Path(home).absolute())


def as_json(status: Status) -> dict[str, Any]:
    """A status as JSON has it: instants in ISO 8601, durations in seconds, and each query's condition."""
    found: dict[str, Any] = plain(status)
    for kind in ("queries", "requests"):
        for query, shown in zip(getattr(status, kind), found[kind], strict=True):
            shown["condition"] = query.condition
    return found


@contextmanager
def _reading(home: str | os.PathLike[str]) -> Iterator[Catalog]:
    path = existing(home)
    try:
        catalog = Catalog(path / "catalog.db")
        try:
            found = catalog.format()
            if found is None:
                raise HomeError(f"{path} is not a home: its catalog.db is another one's")
            check_format(path, found)
            if found < FORMAT:
                raise HomeError(
                    f"{path} has format {found}, of an earlier Windrow; an engine that runs on it brings it "
                    f"to format {FORMAT}"
                )
            yield catalog
        finally:
            catalog.close()
    except sqlite3.Error as error:
        raise HomeError(f"cannot read the home {path}: {explained(error)}") from error


def existing(home: str | os.PathLike[str]) -> Path:
    """The directory of a home, which must be one."""
    path = Path(home).absolute()
    if not path.exists():
        raise HomeError(f"there is no home at {path}")
    if not (path / "catalog.db").is_file():
        raise HomeError(f"{path} is not a home: it has no catalog.db")
    if not (path / "catalog.db").stat().st_size:
        raise HomeError(f"{path} is not a home: its catalog.db is empty")
    return path

"""What can be asked of a home without Spark: how it is doing, and to drop a query.

Any process may ask while an engine runs; nothing is made where there is no home.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.errors import HomeError, WindrowError, suggestion
from windrow.runtime.catalog import FORMAT, Catalog
from windrow.runtime.durable import explained
from windrow.runtime.lock import check_free
from windrow.runtime.logs import log_to as log_to
from windrow.runtime.logs import plain
from windrow.runtime.status import QueryStatus as QueryStatus
from windrow.runtime.status import Status as Status
from windrow.runtime.status import StreamStatus as StreamStatus
from windrow.runtime.status import read_status

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator


def home_status(home: str | os.PathLike[str], clock: Callable[[], float] = time.time) -> Status:
    """The status of a home, as `Engine.status()` gives it."""
    with _reading(home) as catalog:
        return read_status(_existing(home), catalog, clock())


def check_that_none_runs(home: str | os.PathLike[str]) -> None:
    """Raise a HomeError if an engine is running on a home; where there is none, none does."""
    check_free(Path(home).absolute())


def as_json(status: Status) -> dict[str, Any]:
    """A status as JSON has it: instants in ISO 8601, durations in seconds, and each query's condition."""
    found: dict[str, Any] = plain(status)
    for query, shown in zip(status.queries, found["queries"], strict=True):
        shown["condition"] = query.condition
    return found


def drop_query(home: str | os.PathLike[str], name: str, clock: Callable[[], float] = time.time) -> None:
    """Forget a query of a home on which no engine runs, and its state; its results go with it."""
    path = _existing(home)
    # Imported here: it brings the operators, and with them Numba, which a status can do without.
    from windrow.runtime.home import Home

    with ExitStack() as held:
        opened = Home(path)
        held.callback(opened.close)
        stored = opened.catalog.query(name)
        if stored is None:
            names = [query.name for query in opened.catalog.queries()]
            known = f"this home has: {', '.join(names)}" if names else "this home has none"
            raise WindrowError(f"there is no query '{name}'; {suggestion(name, names) or known}")
        try:
            held.enter_context(opened.running())
        except HomeError as error:
            if not isinstance(error.__cause__, BlockingIOError):
                raise
            raise HomeError(
                f"an engine is running on {path}, and would go on with '{stored.name}'; nothing was dropped. "
                f"Stop it first, or drop the query there: eng.drop({stored.name!r})"
            ) from error
        opened.drop_query(stored, clock())


@contextmanager
def _reading(home: str | os.PathLike[str]) -> Iterator[Catalog]:
    path = _existing(home)
    try:
        catalog = Catalog(path / "catalog.db")
        try:
            found = catalog.format()
            if found is None:
                raise HomeError(f"{path} is not a home: its catalog.db is another one's")
            if found > FORMAT:
                raise HomeError(
                    f"{path} has format {found} and this Windrow reads up to {FORMAT}; use a newer Windrow"
                )
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


def _existing(home: str | os.PathLike[str]) -> Path:
    path = Path(home).absolute()
    if not path.exists():
        raise HomeError(f"there is no home at {path}")
    if not (path / "catalog.db").is_file():
        raise HomeError(f"{path} is not a home: it has no catalog.db")
    if not (path / "catalog.db").stat().st_size:
        raise HomeError(f"{path} is not a home: its catalog.db is empty")
    return path

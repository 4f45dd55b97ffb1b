"""Queries that come back from quarantine: what is forgotten of their failure, and where they go on.

- On a stream that goes on, a query goes on with it, as one that comes late does: `complete_after` says
  which windows it has all rows of, once an epoch has had it. The answers that it gave stay.
- Over a static DataFrame it begins again: it becomes a new query of the same name, which reads the frame
  from its beginning. The answers of the one before go with it, or they would be there twice.
- On a stream that is sealed no rows come any more, so it is refused.

All of it is in the catalog, so that it needs no Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.errors import WindrowError
from windrow.runtime.home.records import NewQuery
from windrow.runtime.home.requests import Requests

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from windrow.runtime.home.home import Home
    from windrow.runtime.home.records import StoredQuery

STATIC_FRAME = "static DataFrame"
"""What the home calls, as the format of a stream, a frame that is read whole by a run."""


def resume(
    home: Home, database: sqlite3.Connection, names: Iterable[str], clock: float
) -> dict[int, StoredQuery]:
    """Take queries out of quarantine, as part of a transaction: as they are then, by the numbers they had."""
    resumed: dict[int, StoredQuery] = {}
    for name in names:
        stored = home.catalog.query(name)
        if stored is None:
            raise Requests(home.catalog).unknown(name)
        if stored.id in resumed.keys() | {query.id for query in resumed.values()}:
            continue  # named twice
        if stored.quarantined is None:
            now = "has been answered whole" if stored.sealed else "runs, or waits for its first epoch"
            raise WindrowError(f"query '{stored.name}' is not quarantined: it {now}")
        resumed[stored.id] = _resumed(home, database, stored, clock)
    return resumed


def _resumed(home: Home, database: sqlite3.Connection, stored: StoredQuery, clock: float) -> StoredQuery:
    definitions = [home.catalog.definition(stream) for stream in stored.streams]
    if any(each is not None and each.definition.get("format") == STATIC_FRAME for each in definitions):
        home.forget_queries(database, [stored], clock)
        new = NewQuery(stored.name, stored.sql, stored.streams, stored.schema, stored.retain)
        return home.catalog.insert_queries(database, [new])[0]
    if all(home.catalog.progress(stream).sealed for stream in stored.streams):
        names = " and ".join(f"stream '{stream}' is" for stream in stored.streams)
        raise WindrowError(
            f"query '{stored.name}' cannot go on: {names} sealed in this home, and no rows come any more; "
            "its answers so far can be read as ever"
        )
    return home.catalog.end_quarantine(database, stored)

"""The catalog: streams, tables, queries, how far each stream has been read, and which files exist.

One SQLite database. Every change is a transaction; what an epoch did becomes visible by one of them
(`Home.commit`). Any number of processes may read while one engine runs.

What changes the catalog takes the `database` of a transaction, so that several changes are one; what only
reads it may be called at any time, also within a transaction of the same thread, whose changes it then sees.
"""

from __future__ import annotations

from windrow.runtime.home.catalog.about import AboutTable
from windrow.runtime.home.catalog.epochs import EpochTables
from windrow.runtime.home.catalog.files import FileTables
from windrow.runtime.home.catalog.plans import PlanTables
from windrow.runtime.home.catalog.queries import QueriesTable
from windrow.runtime.home.catalog.relations import RelationsTable
from windrow.runtime.home.catalog.requests import RequestsTable


class Catalog(AboutTable, RelationsTable, QueriesTable, PlanTables, EpochTables, FileTables, RequestsTable):
    """The database of a home, opened; the file is made if it is not there."""

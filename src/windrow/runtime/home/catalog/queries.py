"""The queries of a home, in the catalog.

A query that was dropped stays as a row: an epoch that was under way then finds that it is gone.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from windrow.errors import HomeError
from windrow.runtime.home.catalog.arrow_schemas import (
    read_schema,
    schema_bytes,
    stored_answers_can_end,
    stored_schema_id,
)
from windrow.runtime.home.catalog.described import DescribedTable
from windrow.runtime.home.declarations import declaring_as
from windrow.runtime.home.records import KeptAnswers, NewQuery, StoredQuery

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping
    from pathlib import Path


class QueriesTable(DescribedTable):
    """The table `queries`. Who adds one also writes down what Spark said about it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.may_expire = True
        """Whether result files may have outlived their RETAIN, or their queries, since somebody last looked
        and set this to False (not on disk). Set within the transaction by which they may have."""

    def queries(self) -> list[StoredQuery]:
        """The queries that have not been dropped, in the order in which they came."""
        return self._stored("")

    def query(self, name: str) -> StoredQuery | None:
        """A query by its name."""
        # Of a query that comes, its name is asked for three times, and free each time: that is quickly said.
        for (number,) in self.rows("SELECT id FROM queries WHERE name = ? AND NOT dropped", name):
            return next(iter(self._stored("AND q.id = ?", number)), None)
        return None

    def _stored(self, condition: str, *values: Any) -> list[StoredQuery]:
        rows = self.rows(
            "WITH shares AS (SELECT operator, count(*) AS members FROM members GROUP BY operator) "
            "SELECT q.id, name, sql, (SELECT json_group_array(stream) FROM "
            "(SELECT stream FROM query_streams WHERE query = q.id ORDER BY place)), schema, retain, "
            "started, sealed, complete_after, quarantined, quarantined_epoch, delivered, answers, "
            "latest_end, coalesce(sum(o.entries / s.members), 0), coalesce(sum(o.bytes / s.members), 0) "
            "FROM queries q LEFT JOIN members m ON m.query = q.id LEFT JOIN operators o ON o.id = m.operator "
            "LEFT JOIN shares s ON s.operator = m.operator "
            f"WHERE NOT dropped {condition} GROUP BY q.id ORDER BY q.id",
            *values,
        )
        return [
            StoredQuery(
                number,
                name,
                sql,
                tuple(json.loads(streams)),
                read_schema(schema),
                retain,
                bool(started),
                bool(sealed),
                *rest,
            )
            for number, name, sql, streams, schema, retain, started, sealed, *rest in rows
        ]

    def running_queries(self) -> set[int]:
        """The numbers of the queries that epochs still have."""
        running = "SELECT id FROM queries WHERE NOT dropped AND NOT sealed AND quarantined IS NULL"
        return {query for (query,) in self.rows(running)}

    def schema_ids(self) -> set[str]:
        """The result schemas of the queries that have not been dropped."""
        found = self.rows("SELECT DISTINCT schema FROM queries WHERE NOT dropped")
        return {stored_schema_id(schema) for (schema,) in found}

    def kept_answers(self) -> dict[str, list[KeptAnswers]]:
        """By result schema, which answers can still be asked for of the queries that have not been dropped.

        Compaction asks beside every epoch, hence without all else that `queries` knows: for 3,000 queries
        that was measured to take 25 ms, and this 5.
        """
        found: dict[str, list[KeptAnswers]] = {}
        for schema, query, retain, after, latest_end in self.rows(
            "SELECT schema, id, retain, latest_end - retain, latest_end FROM queries WHERE NOT dropped"
        ):
            answers = KeptAnswers(query, retain, after, latest_end, stored_answers_can_end(schema))
            found.setdefault(stored_schema_id(schema), []).append(answers)
        return found

    # what queries are bound to

    def bound_records(self) -> dict[int, str]:
        """What the queries that have not been dropped were bound to, as records, by their numbers; not those
        that have to be bound each time."""
        return dict(
            self.rows(
                "SELECT b.query, b.record FROM bound b JOIN queries q ON q.id = b.query WHERE NOT q.dropped"
            )
        )

    def bound_record(self, query: int) -> str | None:
        """What the query of a number was bound to, as a record; None if it has to be bound each time."""
        for (record,) in self.rows("SELECT record FROM bound WHERE query = ?", query):
            return str(record)
        return None

    @staticmethod
    def write_bound(database: sqlite3.Connection, records: Mapping[int, str]) -> None:
        """Remember what queries are bound to, as part of a transaction."""
        database.executemany("INSERT OR REPLACE INTO bound VALUES (?, ?)", list(records.items()))

    # queries that come

    def insert_queries(self, database: sqlite3.Connection, queries: Iterable[NewQuery]) -> list[StoredQuery]:
        """Remember queries, as part of a transaction; the same text under the same name again is the same
        query."""
        added = []
        for new in queries:
            known = self.same_query(new)
            # Equal schemas may differ in what they declare (`results.declaring`), and those of earlier homes
            # declare nothing: the files of a query are found by the schema that it has. What the schema
            # declares of answers makes no difference to that.
            schema = new.schema
            if known is not None and known.schema == new.schema:
                schema = declaring_as(known.schema, new.schema)
            if known is None:
                found = database.execute(
                    "INSERT INTO queries (name, sql, schema, retain) VALUES (?, ?, ?, ?)",
                    (new.name, new.sql, schema_bytes(schema), new.retain),
                )
                number = found.lastrowid
                assert number is not None
                database.executemany(
                    "INSERT INTO query_streams VALUES (?, ?, ?)",
                    [(number, place, stream) for place, stream in enumerate(new.streams)],
                )
                known = StoredQuery(number, new.name, new.sql, new.streams, schema, new.retain)
            elif known.retain != new.retain or not known.schema.equals(schema, check_metadata=True):
                self.may_expire = True
                database.execute(
                    "UPDATE queries SET retain = ?, schema = ? WHERE id = ?",
                    (new.retain, schema_bytes(schema), known.id),
                )
            added.append(replace(known, retain=new.retain, schema=schema))
        self._write_learned(database)
        return added

    def same_query(self, new: NewQuery) -> StoredQuery | None:
        """The query under this name, which must be the same one; None if the name is free.

        As long as no epoch has had it, its results may have other types: its stream was declared anew.
        """
        known = self.query(new.name)
        if known is not None and (known.sql != new.sql or (known.started and known.schema != new.schema)):
            raise self.taken(known)
        return known

    def taken(self, known: StoredQuery) -> HomeError:
        """That a name is not free."""
        return HomeError(
            f"there is a query '{known.name}' already:\n  {known.sql}\nuse another name, or drop it: "
            f"windrow query drop {self._path.parent} {known.name}"
        )

    # queries that run, and go

    @staticmethod
    def update_queries(database: sqlite3.Connection, queries: Iterable[StoredQuery]) -> int:
        """Remember queries as they are after an epoch, as part of a transaction; how many have not been
        dropped meanwhile."""
        kept = database.executemany(
            "UPDATE queries SET started = 1, sealed = ?, complete_after = ?, quarantined = ?, "
            "quarantined_epoch = ?, answers = ?, latest_end = ? WHERE id = ? AND NOT dropped",
            [
                (q.sealed, q.complete_after, q.quarantined, q.quarantined_epoch, q.answers, q.latest_end,
                 q.id)
                for q in queries
            ],
        )  # fmt: skip
        return kept.rowcount

    @staticmethod
    def set_delivered(database: sqlite3.Connection, delivered: dict[int, int]) -> None:
        """Remember up to which epoch sinks have had their answers, as part of a transaction."""
        database.executemany(
            "UPDATE queries SET delivered = ? WHERE id = ?",
            [(epoch, query) for query, epoch in delivered.items()],
        )

    @staticmethod
    def end_quarantine(database: sqlite3.Connection, query: StoredQuery) -> StoredQuery:
        """Let a query begin again with the next epoch, as part of a transaction; the query as it is then."""
        database.execute(
            "UPDATE queries SET started = 0, complete_after = NULL, quarantined = NULL, "
            "quarantined_epoch = NULL WHERE id = ?",
            (query.id,),
        )
        return replace(query, started=False, complete_after=None, quarantined=None, quarantined_epoch=None)

    def drop_queries(self, database: sqlite3.Connection, queries: Iterable[StoredQuery]) -> None:
        """Forget queries, as part of a transaction; their files stay listed."""
        self.may_expire = True
        numbers = [(query.id,) for query in queries]
        database.executemany("UPDATE queries SET dropped = 1 WHERE id = ?", numbers)
        database.executemany("DELETE FROM bound WHERE query = ?", numbers)

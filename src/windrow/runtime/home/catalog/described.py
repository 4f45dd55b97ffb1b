"""What Spark answered when it was asked for the schemas of statements: a restart need not ask again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.runtime.home.catalog.arrow_schemas import read_schema, schema_bytes
from windrow.runtime.home.catalog.database import Database

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    import pyarrow as pa

KEPT_DESCRIBED = 100_000
"""How many of Spark's answers the catalog remembers, before it begins anew."""


class DescribedTable(Database):
    """The table `described`, and the answers that are not written down yet."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._learned: dict[str, pa.Schema] = {}

    def described(self, question: str) -> pa.Schema | None:
        """The schema that Spark gave for a statement, if it was ever asked."""
        if question in self._learned:
            return self._learned[question]
        for (schema,) in self.rows("SELECT schema FROM described WHERE question = ?", question):
            return read_schema(schema)
        return None

    def note_described(self, question: str, schema: pa.Schema) -> None:
        """Remember what Spark said; written down with the next query that is added, or on demand."""
        self._learned[question] = schema

    def keep_described(self) -> None:
        """Write down what Spark said."""
        if self._learned:
            with self.transaction() as database:
                self._write_learned(database)

    def _write_learned(self, database: sqlite3.Connection) -> None:
        ((count,),) = database.execute("SELECT coalesce(max(rowid), 0) FROM described")
        if count + len(self._learned) > KEPT_DESCRIBED:
            database.execute("DELETE FROM described")
        database.executemany(
            "INSERT OR REPLACE INTO described VALUES (?, ?)",
            [(question, schema_bytes(schema)) for question, schema in self._learned.items()],
        )
        self._learned.clear()

"""The streams and tables that were declared, in the catalog."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from windrow.runtime.home.catalog.database import Database
from windrow.runtime.home.records import StoredRelation

if TYPE_CHECKING:
    import sqlite3


class RelationsTable(Database):
    """The table `relations`."""

    @staticmethod
    def write_definition(
        database: sqlite3.Connection, name: str, kind: str, definition: dict[str, Any] | None
    ) -> None:
        """Remember a relation, or (None) forget it, as part of a transaction."""
        if definition is None:
            database.execute("DELETE FROM relations WHERE name = ?", (name,))
            return
        text = json.dumps(definition, sort_keys=True)
        database.execute("INSERT OR REPLACE INTO relations VALUES (?, ?, ?)", (name, kind, text))

    def definition(self, name: str) -> StoredRelation | None:
        """A relation as it was declared; None for one that the home cannot know (a DataFrame)."""
        return next(iter(self._defined("WHERE name = ?", name)), None)

    def definitions(self) -> list[StoredRelation]:
        """All relations, as they were declared."""
        return self._defined("")

    def _defined(self, condition: str, *values: Any) -> list[StoredRelation]:
        rows = self.rows(f"SELECT name, kind, definition FROM relations {condition}", *values)
        return [StoredRelation(name, kind, json.loads(text)) for name, kind, text in rows]

    def streams(self) -> list[str]:
        """The streams that have been declared or read."""
        rows = self.rows(
            "SELECT name FROM relations WHERE kind = 'stream' UNION SELECT stream FROM progress ORDER BY 1"
        )
        return list({name.lower(): name for (name,) in rows}.values())

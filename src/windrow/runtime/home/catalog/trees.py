"""Which queries share their slices: the trees of each stream and their members, in the catalog."""

from __future__ import annotations

from itertools import groupby
from threading import Lock
from typing import TYPE_CHECKING

from windrow.runtime.home.catalog.database import Database
from windrow.runtime.home.records import StoredMember, StoredTree

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from windrow.runtime.home.records import TreeSize


class TreeTables(Database):
    """The tables `trees` and `members`."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._counting = Lock()
        self._last_tree = 0

    def new_tree(self) -> int:
        """A number that no tree has had. It counts here until an epoch commits the tree."""
        with self._counting:
            found = self.rows("SELECT seq FROM sqlite_sequence WHERE name = 'trees'")
            committed = max((number for (number,) in found), default=0)
            self._last_tree = max(self._last_tree, committed) + 1
            return self._last_tree

    def tree_ids(self, stream: str) -> list[int]:
        """The numbers of a stream's trees, which are those that still have a state."""
        return [number for (number,) in self.rows("SELECT id FROM trees WHERE stream = ?", stream)]

    def trees(self, stream: str) -> list[StoredTree]:
        """The trees of a stream that have queries."""
        rows = self.rows(
            "SELECT t.id, t.shared, t.node, m.query, m.joined, m.after, m.until FROM trees t "
            "JOIN members m ON m.tree = t.id WHERE t.stream = ? ORDER BY t.id, m.query",
            stream,
        )
        return [
            StoredTree(number, bool(shared), node, [StoredMember(*row[3:]) for row in of_tree])
            for (number, shared, node), of_tree in groupby(rows, lambda row: row[:3])
        ]

    @staticmethod
    def write_trees(database: sqlite3.Connection, stream: str, trees: Sequence[StoredTree]) -> None:
        """Remember the trees of a stream, in place of those that it had, as part of a transaction."""
        database.execute(
            "DELETE FROM members WHERE tree IN (SELECT id FROM trees WHERE stream = ?)", (stream,)
        )
        database.execute("DELETE FROM trees WHERE stream = ?", (stream,))
        database.executemany(
            "INSERT INTO trees (id, stream, shared, node) VALUES (?, ?, ?, ?)",
            [(tree.id, stream, tree.shared, tree.node) for tree in trees],
        )
        database.executemany(
            "INSERT INTO members VALUES (?, ?, ?, ?, ?)",
            [(tree.id, m.query, m.joined, m.after, m.until) for tree in trees for m in tree.members],
        )

    @staticmethod
    def set_tree_sizes(database: sqlite3.Connection, sizes: Iterable[TreeSize]) -> None:
        """Remember how much trees hold, as part of a transaction."""
        database.executemany(
            "UPDATE trees SET entries = ?, bytes = ? WHERE id = ?",
            [(size.entries, size.bytes, size.tree) for size in sizes],
        )

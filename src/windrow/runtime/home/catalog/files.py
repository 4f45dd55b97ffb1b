"""Which files of a home exist, and which only wait to be removed, in the catalog."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from windrow.errors import HomeError
from windrow.runtime.home.catalog.database import Database
from windrow.runtime.home.records import FOLDERS, DataFile, DiskUse

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable


class FileTables(Database):
    """The tables `files` and `doomed`."""

    def files(self, kind: str, owner: str | None = None) -> list[DataFile]:
        """The files of a kind (and owner), oldest first."""
        rows = self.rows(
            "SELECT path, kind, owner, first_epoch, last_epoch, rows, earliest, latest, level, bytes, "
            "checksum FROM files WHERE kind = ? AND owner = coalesce(?, owner) "
            "ORDER BY first_epoch, last_epoch, path",
            kind, owner,
        )  # fmt: skip
        return [DataFile(self._inside(path), *rest) for path, *rest in rows]

    def doomed(self) -> list[tuple[str, float]]:
        """The files that exist no longer and are still on disk, and since when; the latest first."""
        rows = self.rows("SELECT path, clock FROM doomed ORDER BY clock DESC, path")
        return [(self._inside(path), clock) for path, clock in rows]

    def _inside(self, path: str) -> str:
        """The path of a file of the home; an error if it leads elsewhere: files are removed by it."""
        parts = PurePosixPath(path).parts
        if len(parts) < 2 or parts[0] not in FOLDERS or ".." in parts:
            raise HomeError(
                f"{self._path} lists {path!r}, which is no file of a home: somebody else has written there. "
                "Nothing was read or removed by it; put the whole home back from a copy"
            )
        return path

    def listed_paths(self) -> set[str]:
        """The paths of the files that exist, as they are written: nobody has looked where they lead."""
        return {path for (path,) in self.rows("SELECT path FROM files")}

    def doomed_paths(self) -> set[str]:
        """The paths of the files that exist no longer, as they are written: nobody has looked where they
        lead."""
        return {path for (path,) in self.rows("SELECT path FROM doomed")}

    def disk_use(self) -> list[DiskUse]:
        """How much there is of each kind of file."""
        rows = self.rows("SELECT kind, sum(bytes), count(*) FROM files GROUP BY kind")
        return [DiskUse(kind, size or 0, count) for kind, size, count in rows]

    def crowded(self, fan: int, full: int) -> list[tuple[str, str]]:
        """The kinds and owners that have at least `fan` files of one level smaller than `full` bytes."""
        rows = self.rows(
            "SELECT kind, owner FROM files WHERE bytes < ? GROUP BY kind, owner, level HAVING count(*) >= ?",
            full, fan,
        )  # fmt: skip
        return list(dict.fromkeys((kind, owner) for kind, owner in rows))

    @staticmethod
    def list_files(database: sqlite3.Connection, files: Iterable[DataFile]) -> None:
        """Let files exist, as part of a transaction."""
        database.executemany(
            "INSERT INTO files (path, kind, owner, first_epoch, last_epoch, rows, earliest, latest, level, "
            "bytes, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (f.path, f.kind, f.owner, f.first_epoch, f.last_epoch, f.rows, f.earliest, f.latest, f.level,
                 f.bytes, f.checksum)
                for f in files
            ],
        )  # fmt: skip

    @staticmethod
    def forget_files(
        database: sqlite3.Connection, paths: Iterable[str], doomed_at: float | None = None
    ) -> None:
        """Let files exist no longer, as part of a transaction. Doomed ones stay on disk for those who are
        reading them."""
        paths = list(paths)
        database.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in paths])
        if doomed_at is not None:
            database.executemany(
                "INSERT OR REPLACE INTO doomed VALUES (?, ?)", [(path, doomed_at) for path in paths]
            )

    @staticmethod
    def forget_doomed(database: sqlite3.Connection, paths: Iterable[str]) -> None:
        """Forget files that are about to be removed from disk, as part of a transaction."""
        database.executemany("DELETE FROM doomed WHERE path = ?", [(path,) for path in paths])

    @staticmethod
    def set_doomed_since(database: sqlite3.Connection, paths: Iterable[str], clock: float) -> None:
        """Let files be doomed since another time, as part of a transaction."""
        database.executemany("UPDATE doomed SET clock = ? WHERE path = ?", [(clock, path) for path in paths])

"""The home: one directory with everything that an engine remembers, and the one step that commits.

Data lie in files that are never changed once written; the catalog says which of them exist. An epoch
writes its files under names that nobody used before, forces them to disk, and then commits one
transaction: the new files, the ones that are no longer needed, and how far the streams have been read.
docs/commit.md has the protocol on a page.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from windrow.errors import HomeError
from windrow.runtime.faults import reach
from windrow.runtime.home.backup import sweep_backups
from windrow.runtime.home.catalog import FORMAT, Catalog
from windrow.runtime.home.checkpoint_log import force_batch
from windrow.runtime.home.durable import check, explained, force, force_directories, new_path
from windrow.runtime.home.folder_names import folder_name
from windrow.runtime.home.lock import holding
from windrow.runtime.home.migrate import check_format, migrate
from windrow.runtime.home.ownership import Ownership
from windrow.runtime.home.records import FOLDERS
from windrow.runtime.logs import event

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from windrow.runtime.home.records import DataFile, Epoch, StoredQuery

GRACE_SECONDS, GRACE_FILES = 600, 200
"""How long, and how many, files stay on disk that compaction replaced: a DataFrame may be reading them."""
LEAST_GRACE_SECONDS = 60
"""How long they stay however many they are: of twenty result schemas, one epoch can replace 320, and those
who have just asked for a DataFrame must be able to read it."""


class Home:
    """A home directory, opened; made if it is not there."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.path = Path(directory).absolute()
        self.reading_slices = RLock()
        """Held by whoever reads the slice log: compaction must not take a file away meanwhile."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)  # one that is there keeps its mode
            if any(self.path.iterdir()) and not (self.path / "catalog.db").exists():
                raise HomeError(
                    f"{self.path} is not a home, and it is not empty; name a new directory, or an empty one"
                )
            self.catalog = Catalog(self.path / "catalog.db")
            self._prepare()
            self._ownership = Ownership(self.path, self.catalog)
        except (OSError, sqlite3.Error) as error:
            raise HomeError(f"cannot use {self.path} as a home: {explained(error)}") from error

    def _prepare(self) -> None:
        found = self.catalog.format()
        if found is None:
            self.catalog.make()
            return
        check_format(self.path, found)
        if found < FORMAT:
            with holding(self.path):
                found = self.catalog.format()  # another engine may have been quicker
                if found is not None and found < FORMAT:
                    migrate(self.path, self.catalog, found)

    @property
    def costs_path(self) -> Path:
        """Where `windrow calibrate` keeps what it measured."""
        return self.path / "costs.json"

    def close(self) -> None:
        """Close the catalog."""
        self.catalog.close()

    def name_of(self, path: Path) -> str:
        """A path as the catalog writes it."""
        return str(path.relative_to(self.path))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Hold the home for a run: one engine at a time. Sweeps what an earlier crash left behind."""
        with self._ownership.taken():
            try:
                swept, epoch = self._sweep(), self.catalog.last_epoch()
            except OSError as error:
                raise HomeError(f"cannot run on {self.path}: {explained(error)}") from error
            if epoch >= 0:
                event(
                    logging.INFO, "recovered", "%(home)s goes on after epoch %(epoch)d",
                    home=str(self.path), epoch=epoch, queries=len(self.catalog.queries()), swept=swept,
                )  # fmt: skip
            yield

    @property
    def is_ours(self) -> bool:
        """Whether this engine is running on the home."""
        return self._ownership.is_ours

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """A transaction of the engine that runs here; nothing is written if another has taken over."""
        return self._ownership.transaction()

    def define(self, name: str, kind: str, definition: dict[str, Any] | None) -> None:
        """Remember a relation, or its new definition; None takes it back. Anybody may, but not an engine that
        has lost the home."""
        with self.transaction() if self.is_ours else self.catalog.transaction() as database:
            Catalog.write_definition(database, name, kind, definition)

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that changes which queries there are: of the engine that runs here, or of one that
        does not run while no other does. Raises HomeInUse if another runs: it has to be asked."""
        if self.is_ours:
            with self.transaction() as database:
                yield database
        else:
            with holding(self.path), self.catalog.transaction() as database:
                yield database

    def _sweep(self) -> int:
        sweep_backups(self.path)
        paths = self.catalog.listed_paths() | self.catalog.doomed_paths()
        known = {self.path / path for path in paths}
        for path in (*(self.path / folder for folder in FOLDERS), *known):
            if path.is_symlink():
                raise HomeError(
                    f"{path} is a link to {path.resolve()}, which is not of this home, and a home reads and "
                    "removes its own files; move the whole home there instead"
                )
        orphans = [
            path
            for folder in FOLDERS
            for path in (self.path / folder).rglob("*")
            if (path.is_symlink() or path.is_file()) and path not in known
        ]
        for path in orphans:
            path.unlink(missing_ok=True)
        for folder in FOLDERS:
            for path in sorted((self.path / folder).rglob("*"), reverse=True):
                if path.is_dir() and not any(path.iterdir()):
                    path.rmdir()
        return len(orphans)

    def checkpoint(self, stream: str) -> Path:
        """Where Spark keeps its own record of a stream."""
        return self.path / "streams" / folder_name(stream)

    def new_path(self, folder: str, epoch: int, suffix: str) -> Path:
        """A path that no file of the home has had."""
        return new_path(self.path, folder, epoch, suffix)

    def forced(self, files: Iterable[DataFile]) -> list[DataFile]:
        """The files, forced to disk, with their sizes and checksums."""
        done = []
        for file in files:
            size, checksum = force(self.path / file.path)
            done.append(replace(file, bytes=size, checksum=checksum))
        force_directories([self.path / file.path for file in done], self.path)
        return done

    def commit(self, epoch: Epoch) -> None:
        """The one atomic step."""
        reach("files written")
        files = self.forced(epoch.files)
        for stream, advance in epoch.streams.items():
            if advance.batch is not None:
                force_batch(self.checkpoint(stream), advance.batch, self.path)
        reach("files forced to disk")
        with self.transaction() as database:
            self._check_order(epoch)
            now = int(Catalog.move_clock(database, epoch.clock) * 1e6)
            Catalog.forget_files(database, epoch.unneeded)
            Catalog.list_files(database, [_dated(file, now) for file in files])
            Catalog.set_delivered(database, epoch.delivered)
            kept = Catalog.update_queries(database, epoch.queries)
            dropped = kept < len(epoch.queries)  # some were, while the epoch was under way
            if dropped:
                self._forget_unowned(database, epoch.queries, epoch.clock + epoch.seconds)
            if dropped or any(query.retain is not None for query in epoch.queries):
                self.catalog.may_expire = True
            for stream, advance in epoch.streams.items():
                Catalog.write_progress(database, stream, advance.progress)
            Catalog.write_plan(database, epoch.plan)
            Catalog.set_operator_sizes(database, epoch.sizes)
            Catalog.note_epoch(database, epoch)
            reach("transaction open")
        reach("epoch committed")
        with self.reading_slices:  # another stream may be reading its own from the same file
            for path in epoch.unneeded:
                with suppress(OSError):  # it no longer exists for anybody; the next start sweeps it away
                    (self.path / path).unlink(missing_ok=True)
        reach("old files removed")

    def _check_order(self, epoch: Epoch) -> None:
        """An epoch builds on the one before, and a batch on the batch before (a frame has none)."""
        last = self.catalog.last_epoch()
        if epoch.number != last + 1:
            raise HomeError(f"epoch {epoch.number} does not follow epoch {last}, the last one in {self.path}")
        for stream, advance in epoch.streams.items():
            committed = self.catalog.progress(stream).batch
            if advance.batch is not None and advance.batch != committed + 1:
                raise HomeError(
                    f"batch {advance.batch} of stream '{stream}' does not follow batch {committed}, the last "
                    "one committed"
                )

    def note_delivered(self, delivered: dict[int, int]) -> None:
        """Remember up to which epoch sinks have had their answers."""
        if delivered:
            with self.transaction() as database:
                Catalog.set_delivered(database, delivered)

    def replace_files(self, old: Iterable[DataFile], new: Iterable[DataFile], clock: float) -> None:
        """Let compacted files take the place of others, which stay on disk for a while."""
        old, new = list(old), self.forced(new)
        with self.reading_slices if any(file.kind == "slices" for file in old) else nullcontext():
            self._replace(old, new, clock)

    def _replace(self, old: list[DataFile], new: list[DataFile], clock: float) -> None:
        with self.transaction() as database:
            listed = self.catalog.listed_paths()
            still_there = all(file.path in listed for file in old)
            if still_there:
                Catalog.list_files(database, new)
                for file in old:  # nobody but the engine reads slices
                    Catalog.forget_files(database, [file.path], None if file.kind == "slices" else clock)
        superfluous = [file for file in old if file.kind == "slices"] if still_there else new
        for file in superfluous:  # if not, an epoch forgot one of the old ones meanwhile
            (self.path / file.path).unlink(missing_ok=True)

    def remove_doomed(self, clock: float) -> None:
        """Remove replaced files that nobody can be reading any more."""
        doomed = self.catalog.doomed()
        paths = [
            path
            for place, (path, since) in enumerate(doomed)
            if clock - since >= (GRACE_SECONDS if place < GRACE_FILES else LEAST_GRACE_SECONDS)
        ]
        # Where the clock was set back, files count from now.
        ahead = [path for path, since in doomed if since > clock]
        if paths or ahead:
            with self.transaction() as database:
                Catalog.forget_doomed(database, paths)
                Catalog.set_doomed_since(database, ahead, clock)
        for path in paths:
            (self.path / path).unlink(missing_ok=True)

    def check(self) -> int:
        """Read every file and compare it with what was written; how many there are. Raises a HomeError."""
        damage = self.catalog.damage()
        if damage is not None:
            raise HomeError(f"{self.path}/catalog.db is damaged: {damage}; put the home back from a copy")
        files = [file for kind in FOLDERS for file in self.catalog.files(kind)]
        for file in files:
            check(self.path / file.path, file.bytes, file.checksum)
        return len(files)

    def drop_query(self, query: StoredQuery, clock: float) -> None:
        """Forget a query and its state; its results can no longer be read. Raises HomeInUse if another
        engine runs here."""
        with self.changing() as database:
            self.forget_queries(database, [query], clock)

    def forget_queries(
        self, database: sqlite3.Connection, queries: Iterable[StoredQuery], clock: float
    ) -> None:
        """Forget queries and their state, as part of a transaction."""
        queries = list(queries)
        self.catalog.drop_queries(database, queries)
        self._forget_unowned(database, queries, clock)

    def _forget_unowned(
        self, database: sqlite3.Connection, queries: Iterable[StoredQuery], clock: float
    ) -> None:
        """Let go of the files of queries that have been dropped, unless others have theirs in them."""
        queries = list(queries)
        schemas = {query.schema_id for query in queries} - self.catalog.schema_ids()
        Catalog.forget_idle_operators(database)
        unneeded = [file.path for schema in schemas for file in self.catalog.files("results", schema)]
        if not self.catalog.operator_ids():  # else the next epoch lets those go that it does not need
            unneeded += [file.path for file in self.catalog.files("slices")]
        Catalog.forget_files(database, unneeded, clock)


def _dated(file: DataFile, now: int) -> DataFile:
    """A file of an epoch; late rows and dead letters are as old as the home's clock says."""
    return replace(file, earliest=now, latest=now) if file.kind in ("late", "dead") else file

"""Housekeeping: many small files become few larger ones, and what has outlived its RETAIN goes.

Files have levels: an epoch writes level 0, and sixteen of one level become one of the next, so that n
epochs leave about 16 × log₁₆ n files and a row is rewritten log₁₆ n times. Nothing that can be asked
for changes. It runs in a thread of its own, beside the epochs; a crash leaves either the old files or
the new one.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Thread
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from windrow.columns import OP, QUERY
from windrow.errors import HomeError
from windrow.runtime.faults import reach
from windrow.runtime.home.alive_groups import AliveNote, write_alive_last
from windrow.runtime.home.durable import check, reading
from windrow.runtime.home.folder_names import folder_name
from windrow.runtime.home.results import results_writer, time_column
from windrow.runtime.home.retention import edge_of, is_due, kept_results, may_ask
from windrow.runtime.home.slice_log import SliceLog
from windrow.runtime.logs import event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from windrow.runtime.home.home import Home
    from windrow.runtime.home.records import DataFile, KeptAnswers

DEFAULT_RETAIN = 30 * 86_400_000_000
"""How long late rows and dead letters are kept where no RETAIN says so: thirty days, by the home's clock."""
FAN = 16
FULL = 128 << 20
"""Files of this many bytes stay as they are."""
SORTED_BYTES = 64 << 20
"""Up to this size on disk the rows of a merge are sorted in memory; beyond, they are copied in order."""
GROUP_ROWS = 1 << 17


class Compactor:
    """Keeps a home small while an engine runs on it."""

    def __init__(self, home: Home, clock: Callable[[], float]) -> None:
        self._home = home
        self._clock = clock
        self._due = Event()
        self._stopping = False

    @contextmanager
    def working(self) -> Iterator[None]:
        """Work in the background."""
        self._stopping = False
        self._home.catalog.may_expire = True  # another process may have changed what can be asked for
        self._due.set()
        thread = Thread(target=self._work, name="windrow compaction", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stopping = True
            self._due.set()
            thread.join()

    def wake(self) -> None:
        """There may be something to do."""
        self._due.set()

    def _work(self) -> None:
        while not self._stopping:
            self._due.wait()
            self._due.clear()
            try:
                self.compact()
            except Exception as error:  # the epochs go on, and so must this thread
                event(
                    logging.ERROR, "compaction_failed",
                    "compaction of %(home)s failed, and is tried again later: %(reason)s",
                    home=str(self._home.path), reason=str(error), error=error,
                )  # fmt: skip

    def compact(self) -> int:
        """Do all that is due; how many files were merged."""
        merged = 0
        self._expire()
        while not self._stopping and (run := self._next_run()):
            merged += self._merge(run, run[0].level + 1)
        self._home.remove_doomed(self._clock())
        reach("compacted files removed")
        return merged

    def _next_run(self) -> list[DataFile]:
        """Sixteen files of one level, one behind the other, that are due to become one; empty if none are.

        Nothing may lie between them: slices close, and sinks are told, in the order of epochs.
        """
        groups = self._home.catalog.crowded(FAN, FULL)
        kept = self._home.catalog.kept_answers() if any(kind == "results" for kind, _ in groups) else {}
        for kind, owner in groups:
            run: list[DataFile] = []
            for file in self._home.catalog.files(kind, owner):
                if (file.bytes or 0) >= FULL:
                    run = []
                    continue
                run = [*run, file] if run and run[0].level == file.level else [file]
                if len(run) == FAN:
                    if not self._spans_too_much(run, kept.get(owner, [])):
                        return run
                    run = run[1:]
        return []

    def _spans_too_much(self, files: list[DataFile], kept: list[KeptAnswers]) -> bool:
        """Whether rows that are soon to go would wait for others that are not."""
        kind, owner = files[0].kind, files[0].owner
        if kind == "slices" or any(file.earliest is None or file.latest is None for file in files):
            return False
        earliest, latest = min(file.earliest or 0 for file in files), max(file.latest or 0 for file in files)
        if kind != "results":
            return latest - earliest > self._retain(owner)
        if any(answers.retain is None for answers in kept):
            return False
        # What has outlived its RETAIN is left out of the merged file.
        bounds = [answers.after for answers in kept if answers.after is not None]
        span = latest - max(earliest, min(bounds, default=earliest))
        return span > max((answers.retain or 0 for answers in kept), default=0)

    def _retain(self, stream: str) -> int:
        """How long late rows and dead letters of a stream are kept, in microseconds."""
        found = self._home.catalog.definition(stream)
        return int((None if found is None else found.definition.get("retain")) or DEFAULT_RETAIN)

    def _expire(self) -> None:
        """Let files go in which nothing can be asked for any more."""
        refused = [file for kind in ("late", "dead") for file in self._home.catalog.files(kind)]
        if refused:
            now = int(self._home.catalog.clock() * 1e6)
            oldest = {stream: now - self._retain(stream) for stream in {file.owner for file in refused}}
            self._let_go([file for file in refused if (file.latest or 0) < oldest[file.owner]])
        if self._home.catalog.may_expire:
            self._home.catalog.may_expire = False
            try:
                self._expire_results()
            except BaseException:
                self._home.catalog.may_expire = True
                raise

    def _expire_results(self) -> None:
        results = self._home.catalog.files("results")  # before the queries: none is newer than they know
        kept = self._home.catalog.kept_answers()
        home = self._home.path
        self._let_go(
            [file for file in results if not any(may_ask(q, file, home) for q in kept.get(file.owner, []))]
        )
        for file in self._home.catalog.files("results"):
            if not self._stopping and is_due(kept.get(file.owner, []), file, home):
                self._merge([file], file.level)

    def _let_go(self, files: list[DataFile]) -> None:
        if files:
            self._home.replace_files(files, [], self._clock())

    def _merge(self, files: list[DataFile], level: int) -> int:
        """Merge files into one of a level; how many: none if an epoch has let some go meanwhile."""
        first = files[0]
        listed = self._listed(first)
        suffix = "slices" if first.kind == "slices" else "parquet"
        path = self._home.new_path(f"{first.kind}/{folder_name(first.owner)}", first.first_epoch, suffix)
        try:
            if first.kind == "slices":
                merged = SliceLog(self._home).merge(files, path, self._home.catalog.operator_ids())
            else:
                merged = self._merge_rows(files, path)
        except BaseException as error:
            path.unlink(missing_ok=True)
            if isinstance(error, HomeError | FileNotFoundError) and listed - self._listed(first):
                return 0
            raise
        reach("compaction written")
        self._home.replace_files(files, [replace(merged, level=level)], self._clock())
        reach("compaction committed")
        event(
            logging.INFO, "compacted", "%(files)d files of %(kind)s %(owner)s became one of %(rows)d rows",
            kind=first.kind, owner=first.owner, files=len(files), into=merged.path, rows=merged.rows,
        )  # fmt: skip
        return len(files)

    def _listed(self, file: DataFile) -> set[str]:
        """The files beside this one that there are."""
        return {beside.path for beside in self._home.catalog.files(file.kind, file.owner)}

    def _merge_rows(self, files: list[DataFile], path: Path) -> DataFile:
        paths = [self._home.path / file.path for file in files]
        for file, found in zip(files, paths, strict=True):
            check(found, file.bytes, file.checksum)
        owners = self._home.catalog.kept_answers().get(files[0].owner, [])
        is_results = files[0].kind == "results"
        earliest = min((f.earliest for f in files if f.earliest is not None), default=None)
        edge = edge_of(owners, earliest)
        rows = 0
        if sum(file.bytes or 0 for file in files) <= SORTED_BYTES:
            table = pa.concat_tables(list(map(_read, paths)), promote_options="default")
            if is_results:
                table = kept_results(table, owners)
                by = time_column(table.schema)
                table = table.sort_by([(QUERY, "ascending"), (by, "ascending")])
            with results_writer(path, table.schema) as writer:
                if is_results and OP in table.schema.names:
                    write_alive_last(writer, table, GROUP_ROWS, edge)
                else:
                    writer.write_table(table, row_group_size=GROUP_ROWS)
            rows = len(table)
        else:
            schema = pa.unify_schemas([_open(found).schema_arrow for found in paths])
            with results_writer(path, schema) as writer:
                for found in paths:
                    with reading(found):
                        for batch in _open(found).iter_batches(GROUP_ROWS):
                            table = _widened(pa.Table.from_batches([batch]), schema)
                            table = kept_results(table, owners) if is_results else table
                            writer.write_table(table)
                            rows += len(table)
                if is_results and OP in schema.names:
                    AliveNote(folded=edge).write(writer)
        return replace(
            files[0],
            path=self._home.name_of(path),
            last_epoch=files[-1].last_epoch,
            rows=rows,
            earliest=earliest,
            latest=max((f.latest for f in files if f.latest is not None), default=None),
        )


def _open(path: Path) -> pq.ParquetFile:
    # Spark writes old-style timestamps, which Arrow would read as nanoseconds, too short for our calendar.
    return pq.ParquetFile(path, coerce_int96_timestamp_unit="us")


def _read(path: Path) -> pa.Table:
    with reading(path), _open(path) as file:
        return file.read()


def _widened(table: pa.Table, schema: pa.Schema) -> pa.Table:
    for field in schema:
        if field.name not in table.schema.names:
            table = table.append_column(field, pa.nulls(len(table), field.type))
    return table.select(schema.names).cast(schema)

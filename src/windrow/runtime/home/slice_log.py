"""The slice log: the state of operators at rest, one file an epoch for all of them.

A file holds, for each operator that the epoch had, the slices that closed in it (in a table, or in several
that are parts of its state) and the ones still open, as Arrow tables one behind the other; an index at its
end says where. An operator's state is its closed slices from all files, oldest first, and its open ones from
the newest file that knows it. A file goes when no operator needs anything in it; long windows over short
epochs are kept to few files by compaction.

    [Arrow stream]* | index (JSON) | length of the index (8 bytes) | WINDROW1
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc

from windrow.columns import BEGINNING, SLICE
from windrow.errors import HomeError
from windrow.operators.state.tables_at_rest import name_of
from windrow.runtime.home.durable import check, reading
from windrow.runtime.home.records import OPERATORS, DataFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from windrow.runtime.home.home import Home

MAGIC = b"WINDROW1"


@dataclass(frozen=True)
class Segment:
    """The slices of one operator in a file: closed or open; nothing has been written for no rows."""

    operator: int
    closed: bool
    offset: int
    length: int
    rows: int
    last_slice: int
    part: str = ""
    """Which part of the state, where closed slices are in several tables with columns of their own."""


@dataclass(frozen=True)
class State:
    """What a file keeps of one operator."""

    operator: int
    closed: Sequence[pa.Table]
    open: pa.Table | None
    knows_open: bool = True
    """False in a merged file when a newer one has the open slices."""

    @property
    def rows(self) -> int:
        """How many partials and rows there are to write."""
        return sum(map(len, self.closed)) + (0 if self.open is None else len(self.open))


class SliceLog:
    """The slice log of a home."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._segments: dict[str, list[Segment]] = {}

    def files(self) -> list[DataFile]:
        """Its files, oldest first."""
        return self._home.catalog.files("slices")

    def read(self, operator: int) -> tuple[list[pa.Table], pa.Table | None]:
        """An operator's closed slices, in the order in which they were closed, and its open ones."""
        with self._home.reading_slices:
            return read_slices(self.slices_of(operator))

    def slices_of(self, operator: int) -> list[tuple[Path, Segment]]:
        """Where they are, and stay while the home's `reading_slices` is held."""
        return [
            (self._home.path / file.path, segment)
            for file in self.files()
            for segment in self.segments(file)
            if segment.operator == operator
        ]

    def write(self, epoch: int, states: Iterable[State]) -> list[DataFile]:
        """Write the states of an epoch's operators: a file, or none where there is nothing to say of any."""
        with self._home.reading_slices:
            files = self.files()
            listed = {file.path for file in files}
            self._segments = {name: held for name, held in list(self._segments.items()) if name in listed}
            known = {segment.operator for file in files for segment in self.segments(file)}
        states = [state for state in states if state.rows or state.operator in known]
        if not states:
            return []
        path = self._home.new_path(f"slices/{OPERATORS}", epoch, "slices")
        segments = write_file(path, states)
        self._segments[self._home.name_of(path)] = segments
        rows = sum(segment.rows for segment in segments)
        return [DataFile(self._home.name_of(path), "slices", OPERATORS, epoch, epoch, rows)]

    def unneeded(self, horizons: Mapping[int, int | None], operators: Iterable[int]) -> list[str]:
        """The files that the epoch being committed makes superfluous.

        `horizons`: for the operators in it, from where on they need closed slices (None: not at all);
        `operators`: all that still have a state.
        """
        alive = set(operators) - {number for number, horizon in horizons.items() if horizon is None}
        with self._home.reading_slices:
            return [file.path for file in self.files() if not self._is_needed(file, horizons, alive)]

    def _is_needed(self, file: DataFile, horizons: Mapping[int, int | None], alive: set[int]) -> bool:
        for segment in self.segments(file):
            if segment.operator not in alive:
                continue
            if segment.operator not in horizons:
                return True  # the epoch does not have this operator, so its state stays as it is
            horizon = horizons[segment.operator]
            if segment.closed and segment.rows and horizon is not None and segment.last_slice >= horizon:
                return True
        return False

    def segments(self, file: DataFile) -> list[Segment]:
        """What a file holds; its checksum is compared the first time."""
        found = self._segments.get(file.path)
        if found is None:
            path = self._home.path / file.path
            check(path, file.bytes, file.checksum)
            found = self._segments[file.path] = _index(path)
        return found

    def merge(self, files: list[DataFile], path: Path, alive: set[int]) -> DataFile:
        """Write several files, oldest first, as one, without what nobody needs.

        Rows of a part of a state say until when they are needed. Those that no longer are go here already: a
        file stays whole as long as one row is needed, which may be for ever.
        """
        evaluated = self._home.catalog.evaluated()
        newest = {s.operator: f.path for f in self.files() for s in self.segments(f) if not s.closed}
        closed: dict[int, dict[str, list[pa.Table]]] = {}
        opened: dict[int, pa.Table | None] = {}
        for file in files:
            for segment in self.segments(file):
                if segment.operator not in alive or not (
                    segment.closed or newest.get(segment.operator) == file.path
                ):
                    continue
                table = _read(self._home.path / file.path, segment)
                if not segment.closed:
                    opened[segment.operator] = table
                    continue
                if table is not None and segment.part:
                    horizon = evaluated.get(segment.operator, BEGINNING)
                    table = table.filter(pc.greater_equal(table[SLICE], horizon))
                if table is not None and len(table):
                    closed.setdefault(segment.operator, {}).setdefault(segment.part, []).append(table)
        states = [
            State(
                number,
                [
                    pa.concat_tables(tables, promote_options="default")
                    for tables in closed.get(number, {}).values()
                ],
                opened.get(number),
                number in opened,
            )
            for number in dict.fromkeys([*closed, *opened])
        ]
        segments = write_file(path, states)
        self._segments[self._home.name_of(path)] = segments
        rows = sum(segment.rows for segment in segments)
        first, last = files[0], files[-1]
        return replace(first, path=self._home.name_of(path), last_epoch=last.last_epoch, rows=rows)


def read_slices(segments: Iterable[tuple[Path, Segment]]) -> tuple[list[pa.Table], pa.Table | None]:
    """Closed slices, in the order in which they were closed, and open ones, from where they are."""
    closed: list[pa.Table] = []
    opened: pa.Table | None = None
    for path, segment in segments:
        table = _read(path, segment)
        if not segment.closed:
            opened = table
        elif table is not None:
            closed.append(table)
    return closed, opened


def write_file(path: Path, states: Iterable[State]) -> list[Segment]:
    """Write a file of the log."""
    segments: list[Segment] = []
    with pa.OSFile(str(path), "wb") as file:
        for state in states:
            tables: list[tuple[bool, pa.Table | None]] = [(True, table) for table in state.closed]
            tables += [(False, state.open)] if state.knows_open else []
            for closed, table in tables:
                offset = file.tell()
                rows = 0 if table is None else len(table)
                last = 0
                if table is not None and rows:
                    with pa.ipc.new_stream(file, table.schema) as writer:
                        writer.write_table(table)
                    last = pc.max(table[SLICE]).as_py()
                part = "" if table is None else name_of(table.schema)
                length = file.tell() - offset
                segments.append(Segment(state.operator, closed, offset, length, rows, last, part))
        index = json.dumps([list(vars(segment).values()) for segment in segments]).encode()
        file.write(index + len(index).to_bytes(8, "big") + MAGIC)
    return segments


def _index(path: Path) -> list[Segment]:
    with reading(path):
        content = path.read_bytes()
        if not content.endswith(MAGIC):
            raise HomeError(f"{path} is not a slice log, or not whole")
        end = len(content) - len(MAGIC) - 8
        length = int.from_bytes(content[end : end + 8], "big")
        return [Segment(*values) for values in json.loads(content[end - length : end])]


def _read(path: Path, segment: Segment) -> pa.Table | None:
    if not segment.rows:
        return None
    with reading(path), path.open("rb") as file:
        file.seek(segment.offset)
        return pa.ipc.open_stream(file.read(segment.length)).read_all()

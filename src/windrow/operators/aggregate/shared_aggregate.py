"""The final half of many aggregate queries with the same rows and groups: a tree of the plan.

Its slices are cut finely enough for every query in it, and hold the partials that any of them needs,
each once; one structure (`final/shared/`) answers all windows, whatever their ranges and slides. Queries
come and go: a new one brings its cuts and partials from then on, and is answered from the instant that
its member says; what is held already stays as it is.

1. `push`: a table of partials, one row a slice (or finer granule) and key, in any order.
2. `advance`: slices that no row can enter any more close; windows that end by then are assembled.
3. Answers of members with the same aggregates are lowered together, and say in `_query` whose they are.

Cost: O(1) a slice and key, however many queries there are, and O(1) to O(log slices) an answer; no step
in Python a query. State at rest: as of a `WindowAggregate`, with the partials of all members.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from windrow.columns import (
    BEGINNING,
    END_OF_TIME,
    QUERY,
    SLICE,
    WINDOW_END,
    WINDOW_START,
    aggregate_name,
    key_name,
)
from windrow.final.shared import SharedWindows
from windrow.operators.aggregate.keyed_records import KeyedRecords
from windrow.operators.aggregate.open_slices import OpenSlices
from windrow.operators.aggregate.record_layout import one_chunk
from windrow.operators.aggregate.window_aggregate import LARGE
from windrow.slicing import composite, slice_starts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from windrow.aggregates import Aggregate, Operation, Partial
    from windrow.slicing import Window

    Array = np.ndarray[Any, Any]
    Records = dict[Operation, Array]


@dataclass(frozen=True)
class Member:
    """A query in a tree: its number, its window, and which evaluations the tree answers."""

    query: int
    window: Window
    aggregates: tuple[Aggregate, ...]
    after: int = BEGINNING
    until: int = END_OF_TIME
    """Evaluations e with after < e ≤ until."""
    back: bool = False
    """Whether it has not been answered yet, so that it also asks for windows that others have behind them."""
    shape: int = 0
    """Members of one shape have the same aggregates, and are answered in one table."""


@dataclass(frozen=True)
class Groups:
    """What all members have in common."""

    keys: tuple[str, ...]
    key_types: tuple[pa.DataType, ...]
    time_type: pa.DataType


class AnswersFailed(Exception):
    """Answers could not be made, because of one of these queries."""

    def __init__(self, queries: list[int], error: Exception) -> None:
        super().__init__(f"queries {queries}: {error}")
        self.queries = queries
        self.error = error


class SharedAggregate:
    """The running state of the queries of a tree."""

    def __init__(self, groups: Groups, members: Sequence[Member]) -> None:
        self.groups = groups
        self.evaluated = BEGINNING
        self._closed_until = BEGINNING
        self._take(members)
        self._reset()

    def _take(self, members: Sequence[Member]) -> None:
        """Arrange members so that each distinct window is evaluated once and each shape lowered once."""
        self.members = sorted(members, key=lambda member: (member.shape, member.query))
        self._partials = tuple(
            dict.fromkeys(p for m in self.members for aggregate in m.aggregates for p in aggregate.partials)
        )
        slots: dict[tuple[Window, int, int, bool], int] = {}
        place = [
            slots.setdefault(
                (m.window, m.after if m.back else max(m.after, self.evaluated), m.until, m.back), len(slots)
            )
            for m in self.members
        ]
        self._windows_asked = [window for window, *_ in slots]
        self._range, self._slide, self._offset = (
            np.array([getattr(window, name) for window in self._windows_asked], np.int64)
            for name in ("range", "slide", "offset")
        )
        self._after = np.array([after for _, after, _, _ in slots], np.int64)
        self._until = np.array([until for _, _, until, _ in slots], np.int64)
        self._back = np.array([back for *_, back in slots], bool)
        # Which members ask for a slot: those from asked_from[slot] up to the next one's.
        self._asked_by = np.argsort(np.array(place, np.int64), kind="stable")
        self._asked_from = np.searchsorted(
            np.array(place, np.int64)[self._asked_by], np.arange(len(slots) + 1)
        )
        self._queries = np.array([member.query for member in self.members], np.int32)
        self._shapes = np.array([member.shape for member in self.members], np.int64)
        self._cuts = composite(self._windows_asked)

    def _reset(self) -> None:
        groups = self.groups
        self._groups = KeyedRecords(groups.keys, groups.key_types, self._partials, self._rewrite)
        operations = self._groups.layout.operations
        self._open = OpenSlices(operations)
        self._windows = SharedWindows(self._windows_asked, operations)
        self._closed_rows = 0

    def set_members(self, members: Sequence[Member]) -> None:
        """Let queries come and go."""
        held = self._partials
        self._take(members)
        if set(self._partials) <= set(held):
            self._partials = held
            self._windows.set_windows(self._windows_asked)
            return
        slices, opened = self._groups.at_rest(*self._windows.held()), self.open_slices()
        self.restore([slices], opened, self.evaluated)

    @property
    def entries(self) -> int:
        """How many partials the state holds, open slices included."""
        return self._windows.entries + len(self._open.starts)

    @property
    def bytes(self) -> int:
        """About how much memory the partials and the structures over them take."""
        return self.entries * (12 + self._groups.layout.record_bytes) + self._windows.structure_bytes

    @property
    def groups_known(self) -> int:
        """How many groups have a number."""
        return len(self._groups)

    @property
    def horizon(self) -> int:
        """Closed slices that begin before this are in no window to come."""
        return int(np.min(self._next_ends() - self._range, initial=END_OF_TIME))

    @property
    def next_end(self) -> int:
        """When a window is evaluated next."""
        return int(np.min(self._next_ends(), initial=END_OF_TIME))

    def _next_ends(self) -> Array:
        """When each window is evaluated next; the end of time for those that are not any more."""
        after = self._answered()
        following = after + self._slide - (after - self._offset) % self._slide
        return np.where(following <= self._until, following, END_OF_TIME + self._range)

    def _answered(self) -> Array:
        """Up to where each window has been answered, or need not be."""
        return np.where(self._back, self._after, np.maximum(self._after, self.evaluated))

    def closes(self, until: int) -> bool:
        """Whether advancing that far could answer anything."""
        return self.entries > 0 and self.next_end <= until

    def push(self, tables: Sequence[pa.Table], port: int = 0) -> None:
        """Take in what the passes over a batch have collected: mostly one table, with a `_slice` column,
        the keys, and partials by their expressions. Several have the same rows, and a partial that is in
        two of them counts once."""
        taken: set[Partial] = set()
        for table in tables:
            if not len(table):
                continue
            table = table.combine_chunks()
            names = set(table.column_names)
            partials = [p for p in self._partials if p not in taken and names.issuperset(p.expressions)]
            if not partials and (taken or self._partials):
                continue
            taken.update(partials)
            starts = slice_starts(self._cuts, one_chunk(table, SLICE).to_numpy())
            # A query that has gone may have closed slices at a cut of its own; rows behind it still come.
            starts = np.maximum(starts, self._closed_until)
            records = self._groups.collected(table, partials)
            self._open.merge(starts, self._groups.numbers(table), records, len(self._groups))

    def advance(self, until: int) -> Iterator[tuple[int, pa.Table]]:
        """Close the slices of all windows that end by `until`, and answer those windows: tables, each of
        the members of one shape."""
        self._closed_rows = 0
        if until == BEGINNING or (until <= self.evaluated and not self._back.any()):
            return
        bound = np.minimum(self._until, until)
        edge = int(np.max(bound - (bound - self._offset) % self._slide, initial=BEGINNING))
        closed = self._open.close(before=edge)
        self._windows.append(*closed, len(self._groups))
        self._closed_until = max(self._closed_until, min(edge, until))
        for asked, ends, keys, records in self._windows.evaluate(self._answered(), bound):
            yield from self._lower(asked, ends, keys, records)
        self.evaluated = max(self.evaluated, until)
        self._back[:] = False
        self._windows.drop_before(self.horizon)
        self._closed_rows = min(len(closed[0]), self._windows.entries)
        self._forget_dead_keys()

    def _lower(
        self, asked: Array, ends: Array, keys: Array, records: Records
    ) -> Iterator[tuple[int, pa.Table]]:
        """The answers of each shape, sorted by query."""
        counts = np.diff(self._asked_from)[asked]
        answer = np.repeat(np.arange(len(asked)), counts)
        nth = np.arange(len(answer)) - np.repeat(np.cumsum(counts) - counts, counts)
        member = self._asked_by[self._asked_from[asked[answer]] + nth]
        small = len(self.members) <= np.iinfo(np.uint16).max  # NumPy sorts those by radix
        order = np.argsort(member.astype(np.uint16 if small else np.int64), kind="stable")
        member, answer = member[order], answer[order]
        shapes = self._shapes[member]
        bounds = [0, *(np.flatnonzero(np.diff(shapes)) + 1), len(shapes)]
        for first, last in pairwise(bounds):
            if first == last:
                continue
            rows, queries = answer[first:last], self._queries[member[first:last]]
            aggregates = self.members[member[first]].aggregates
            own = {operation: held[rows] for operation, held in records.items()}
            finish = ends[rows]
            times = [finish - self._range[asked[rows]], finish]
            columns = [pa.array(instants).cast(self.groups.time_type) for instants in times]
            columns += self._groups.columns(keys[rows])
            try:
                columns += [self._groups.layout.answers(aggregate, own) for aggregate in aggregates]
            except Exception as error:
                raise AnswersFailed(np.unique(queries).tolist(), error) from error
            names = [WINDOW_START, WINDOW_END, *(key_name(i) for i in range(len(self.groups.keys)))]
            names += [aggregate_name(i) for i in range(len(aggregates))]
            yield int(shapes[first]), pa.table([*columns, pa.array(queries)], names=[*names, QUERY])

    def closed_slices(self) -> tuple[pa.Table]:
        """At rest: the slices that the last `advance` closed and that a window still needs."""
        starts, keys, records = self._windows.held()
        new = slice(len(starts) - self._closed_rows, None)
        closed = {operation: rows[new] for operation, rows in records.items()}
        return (self._groups.at_rest(starts[new], keys[new], closed),)

    def open_slices(self) -> pa.Table:
        """At rest: the slices that may still receive rows."""
        return self._groups.at_rest(self._open.starts, self._open.keys, self._open.records)

    def restore(self, closed: Sequence[pa.Table], open_slices: pa.Table | None, evaluated: int) -> None:
        """Go on from tables at rest, closed ones in the order in which they were made.

        A table may lack the partials of a query that came later.
        """
        self.evaluated = evaluated
        self._reset()
        for table in closed:
            kept = table.filter(pa.compute.greater_equal(table[SLICE], self.horizon)).combine_chunks()
            self._windows.append(*self._groups.from_rest(kept, whole=False), len(self._groups))
        if open_slices is not None:
            slices = self._groups.from_rest(open_slices.combine_chunks(), whole=False)
            self._open.merge(*slices, len(self._groups))
        edges = self.evaluated - (self.evaluated - self._offset) % self._slide
        last = [int(np.max(some, initial=BEGINNING)) for some in (self._windows.held()[0], edges)]
        self._closed_until = max(last) if evaluated > BEGINNING else BEGINNING

    def _rewrite(self, operation: Operation, place: int, function: Callable[[Array], Array]) -> None:
        self._windows.rewrite(operation, place, function)
        held = self._open.records[operation]
        held[:, place] = function(held[:, place])

    def _forget_dead_keys(self) -> None:
        """Number the keys, rank the values and build the structures anew when most is no longer in use."""
        layout = self._groups.layout
        many = self._groups.known > 10_000 + 4 * self.entries * (1 + len(layout.dictionaries))
        large = self._windows.structure_bytes > LARGE + 16 * self.entries * layout.record_bytes
        if not (many or large):
            return
        new, closed_until = self._closed_rows, self._closed_until
        self.restore([self._groups.at_rest(*self._windows.held())], self.open_slices(), self.evaluated)
        self._closed_rows, self._closed_until = min(new, self._windows.entries), closed_until

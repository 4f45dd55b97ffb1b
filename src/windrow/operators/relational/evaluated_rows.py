"""All rows that are there at each evaluation: a SELECT without aggregates over windows with SLIDE.

The evaluation at e gives the rows that are there at e − 1, the last instant before it. They live from there
until the next evaluation; for ever, if the windows are INTERNAL. An evaluation without rows gives nothing,
and a row that sees no evaluation is forgotten as it comes.

When no row comes any more, evaluations go on as long as there are rows that will end. Rows that never do are
given for the last time by the first evaluation behind all changes: all others would say the same.

State: the rows, in the parts in which they have come since the last evaluation. At rest: rows as they come.

Time: O(1) a row that comes, and a row that is given. Space: the rows that will see another evaluation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from windrow.columns import BEGINNING, END_OF_TIME, SLICE
from windrow.operators.aggregate.record_layout import one_chunk
from windrow.operators.relational.changes import Changes
from windrow.operators.relational.columns_of import schema_of
from windrow.operators.relational.evaluations import Grid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from windrow.logical.tree import Evaluate

    Array = np.ndarray[Any, Any]

ROWS, CHANGED = "rows", "changed"
"""The tables at rest."""


class EvaluatedRows:
    """The running state of an `Evaluate`."""

    def __init__(self, node: Evaluate) -> None:
        self._grid = Grid(node.slide, node.offset)
        self._internal = node.internal
        self._schema = schema_of(node)
        self._rows = [self._schema.empty_table()]
        self._live: list[Array] = [np.empty(0, np.int64)]
        self._next = BEGINNING
        """The next evaluation; before the first `advance`, an instant before it."""
        self._changed = self._logged = BEGINNING
        """The last instant at which a row comes or ends, as far as is known; and what was logged of it."""
        self._arrived: list[pa.Table] = []
        """The rows that came since the last log, as they are at rest."""

    @property
    def entries(self) -> int:
        """How many rows it holds."""
        return sum(map(len, self._live))

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        return sum(int(rows.nbytes) for rows in self._rows) + sum(live.nbytes for live in self._live)

    def advance(self, inputs: Sequence[Changes], until: int) -> Changes:
        """The evaluations at e ≤ `until`."""
        (changes,) = inputs
        slide = self._grid.slide
        begin, last = self._next, self._grid.following(until) - slide
        first = self._take_in(changes)
        if last < begin:
            return Changes.none(self._schema)
        rows, live = pa.concat_tables(self._rows).combine_chunks(), np.concatenate(self._live)
        self._next = last + slide
        self._hold(rows, live)
        # Each row is given by its first evaluation, and all to the last of those due that it lives to see.
        first = np.concatenate([np.full(len(live) - len(first), begin), first])
        seen = np.minimum(self._grid.last_seen(live), last)
        if until == END_OF_TIME:
            seen[live == END_OF_TIME] = self._grid.following(self._changed)
        times = np.maximum((seen - first) // slide + 1, 0)
        places = np.repeat(np.arange(len(live)), times)
        turns = np.arange(len(places)) - np.repeat(np.cumsum(times) - times, times)
        evaluations = first[places] + turns * slide
        order = np.argsort(evaluations, kind="stable")
        ts = evaluations[order] - 1
        ends = np.full(len(ts), END_OF_TIME, np.int64) if self._internal else ts + slide
        return Changes(ts, ends, ends, rows.take(pa.array(places[order])))

    def next_change(self) -> int:
        """When the rows that are there are given next."""
        return self._next - 1 if self.entries else END_OF_TIME

    def log(self) -> Mapping[str, pa.Table]:
        """The rows that have come and will see another evaluation; and if some of those that are held never
        end, up to when there are changes, which says how long they are given."""
        arrived = [table.filter(pa.array(_instants(table) >= self._next)) for table in self._arrived]
        self._arrived.clear()
        logged = {ROWS: pa.concat_tables(arrived)} if arrived else {}
        if self._changed > self._logged and any(np.any(live == END_OF_TIME) for live in self._live):
            self._logged = self._changed
            logged[CHANGED] = pa.table({SLICE: [self._changed + self._grid.slide]})
        return logged

    def restore(self, logged: Mapping[str, Sequence[pa.Table]], evaluated: int) -> None:
        """Go on from the rows that will see another evaluation."""
        self._next = self._grid.following(evaluated)
        if tables := logged.get(ROWS):
            rows = pa.concat_tables(tables).combine_chunks()
            self._hold(rows.select(self._schema.names).cast(self._schema), _instants(rows))
            self._note(_instants(rows))
        for table in logged.get(CHANGED, ()):
            self._note(_instants(table) - self._grid.slide)
        self._logged = self._changed

    def _take_in(self, changes: Changes) -> Array:
        """Hold the rows that will see an evaluation; gives the first evaluation that each of them sees."""
        is_there = changes.live > changes.ts
        self._note(changes.ts[is_there])
        self._note(changes.live[is_there])
        first = np.maximum(self._grid.all_following(changes.ts), self._next)
        stays = changes.live >= first
        if stays.any():
            live, rows = changes.live[stays], changes.rows.filter(pa.array(stays)).cast(self._schema)
            self._live.append(live)
            self._rows.append(rows)
            self._arrived.append(rows.append_column(SLICE, pa.array(live)))
        return first[stays]

    def _hold(self, rows: pa.Table, live: Array) -> None:
        """Hold those of some rows that will see another evaluation, and no others."""
        stays = live >= self._next
        self._rows, self._live = [rows.filter(pa.array(stays))], [live[stays]]

    def _note(self, instants: Array) -> None:
        """Something comes or ends at these instants; what ends at END_OF_TIME never does."""
        self._changed = int(instants[instants < END_OF_TIME].max(initial=self._changed))


def _instants(table: pa.Table) -> Array:
    return np.asarray(one_chunk(table, SLICE).to_numpy())

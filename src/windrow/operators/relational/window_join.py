"""The join of two windows: every pair of rows that live at the same time, with equal keys and a condition
that holds.

1. The rows of both sides are inserted into chains by key and meet those of the other side, in the order of
   their instants (`operators/state/key_chains.py`).
2. Pairs come out some at a time. The columns that the condition reads are taken from the batches of both
   sides, and Spark says for which pairs it holds; for those the columns that somebody wants are taken.
3. Rows that end before the next ones can come are forgotten: whose they are says a queue of each side, FIFO
   where rows end in the order in which they come, a calendar queue otherwise.

At rest: the rows of both sides, appended once, when they have come, without those that have ended already.

Time: O(1) a row and a pair. Space: the rows that live, up to twice, and about 150 bytes for each row and each
key.
Source: Golab 2006, §2.2.2 (the join), §3.5.3 (its state).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns import END_OF_TIME, EXPIRES, SLICE
from windrow.errors import QueryFailed
from windrow.logical.patterns import UpdatePattern
from windrow.operators.aggregate.record_layout import one_chunk
from windrow.operators.relational.base import MOST_PAIRS
from windrow.operators.relational.changes import Changes, together
from windrow.operators.relational.columns_of import read_by, schema_of
from windrow.operators.state.calendar_queue import CalendarQueue
from windrow.operators.state.chain_kernels import LEFT
from windrow.operators.state.fifo_ring import FifoRing
from windrow.operators.state.kept_batches import KeptBatches
from windrow.operators.state.key_chains import KeyChains, MeetsTooMany

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from windrow.logical.tree import Join, Node
    from windrow.operators.relational.base import Evaluator

    Array = np.ndarray[Any, Any]

SMALL = 1 << 16
"""Room for fewer rows than that is not given back."""


class Side:
    """What is kept of one input of a join."""

    def __init__(self, name: str, node: Node, keys: Sequence[str], names: Sequence[str]) -> None:
        self.name, self.keys, self.names = name, list(keys), list(names)
        self.schema = pa.schema([field for field in schema_of(node) if field.name in names])
        self._is_fifo = node.pattern in (UpdatePattern.WEAKEST, UpdatePattern.MONOTONIC)
        self.arrived: list[pa.Table] = []
        """As they are logged: the rows that have come since they were asked for."""
        self.clear()

    def clear(self) -> None:
        """Forget all rows."""
        self.batches = KeptBatches()
        self.ends: FifoRing | CalendarQueue = FifoRing() if self._is_fifo else CalendarQueue()

    def at_rest(self, tables: Sequence[pa.Table], evaluated: int) -> Changes:
        """The rows in some tables that still live, as they were kept, by when they end. When they came no
        longer matters: it was before whatever comes now."""
        ends = [pa.field(EXPIRES, pa.int64()), pa.field(SLICE, pa.int64())]
        schema = pa.schema([*self.schema, *ends])
        alive = [table.filter(pc.greater(table[SLICE], evaluated)) for table in tables]
        same = [table.select(schema.names).cast(schema) for table in alive]
        rows = pa.concat_tables([schema.empty_table(), *same]).combine_chunks()
        live, exp = (one_chunk(rows, name).to_numpy() for name in (SLICE, EXPIRES))
        if np.any(live[1:] < live[:-1]):
            order = np.argsort(live, kind="stable")
            live, exp, rows = live[order], exp[order], rows.take(pa.array(order))
        when = np.full(len(rows), evaluated - 1, np.int64)
        return Changes(when, live, exp, rows)

    @property
    def bytes(self) -> int:
        """How much memory its rows take."""
        return self.batches.bytes + self.ends.bytes


class WindowJoin:
    """A join of two windows as it runs."""

    def __init__(self, node: Join, evaluate: Evaluator, most_pairs: int = MOST_PAIRS) -> None:
        """`most_pairs`: so many rows may a row meet, as it comes."""
        self._node, self._evaluate, self._most_pairs = node, evaluate, most_pairs
        self._schema = schema_of(node)
        all_names = [column.name for side in node.inputs for column in side.columns]
        self._read = [] if node.condition is None else read_by([node.condition], all_names)
        needed = {*node.kept, *self._read, *(name for pair in node.keys for name in pair)}
        self._sides = []
        for place, (name, below) in enumerate(zip(("left", "right"), node.inputs, strict=True)):
            keys = [pair[place] for pair in node.keys]
            self._sides.append(Side(name, below, keys, [c.name for c in below.columns if c.name in needed]))
        self._touched = 0
        self._clear()

    @property
    def entries(self) -> int:
        """How many rows it holds."""
        return len(self._chains)

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        return self._chains.bytes + sum(side.bytes for side in self._sides)

    @property
    def touched(self) -> int:
        """How many rows were inserted, met and forgotten, each time that one was."""
        return self._touched + self._chains.touched

    def advance(self, inputs: Sequence[Changes], until: int) -> Changes:
        """The pairs whose later row comes before an instant."""
        arrived = [self._arrived(side, changes) for side, changes in zip(self._sides, inputs, strict=True)]
        pairs = list(self._inserted(arrived, until, probe=True))
        if self._chains.capacity > max(SMALL, 4 * (len(self._chains) + sum(map(len, arrived)))):
            self._move(until)
        return together(pairs) if pairs else Changes.none(self._schema)

    def next_change(self) -> int:
        """Pairs say themselves when they end: nothing has to be told."""
        return END_OF_TIME

    def log(self) -> Mapping[str, pa.Table]:
        """The rows that have come on each side, and live."""
        logged = {}
        for side in self._sides:
            if side.arrived:
                logged[side.name] = pa.concat_tables(side.arrived)
                side.arrived = []
        return logged

    def restore(self, logged: Mapping[str, Sequence[pa.Table]], evaluated: int) -> None:
        """Keep the rows again that live."""
        rows = [side.at_rest(logged.get(side.name, ()), evaluated) for side in self._sides]
        self._clear()
        list(self._inserted(rows, evaluated, probe=False))

    def _clear(self) -> None:
        types = [self._node.left.types[left] for left, _ in self._node.keys]
        self._chains = KeyChains(types, self._most_pairs)
        for side in self._sides:
            side.clear()

    def _arrived(self, side: Side, changes: Changes) -> Changes:
        """The rows of a side that can be in pairs, with the columns that are needed, as they are at rest."""
        possible = changes.live > changes.ts
        for key in () if self._node.nulls_equal else side.keys:
            if changes.rows[key].null_count:
                possible &= changes.rows[key].is_valid().to_numpy()
        changes = changes.select(side.names)
        changes = changes if possible.all() else changes.take(np.flatnonzero(possible))
        ends = {EXPIRES: pa.array(changes.exp), SLICE: pa.array(changes.live)}
        names, columns = changes.rows.column_names, changes.rows.columns
        return replace(changes, rows=pa.table(dict(zip(names, columns, strict=True)) | ends))

    def _inserted(self, arrived: Sequence[Changes], until: int, probe: bool) -> Iterator[Changes]:
        """Insert rows; gives the pairs that they make. Afterwards rows that have ended by `until` are
        gone."""
        chains, lefts = self._chains, len(arrived[LEFT])
        sides = list(zip(self._sides, arrived, strict=True))
        codes = np.concatenate([chains.codes(_keys_of(side, rows), len(rows)) for side, rows in sides])
        slots = chains.slots(codes)
        of_side = slots[:lefts], slots[lefts:]
        for (side, changes), own in zip(sides, of_side, strict=True):
            side.batches.add(changes.rows, own)
        instants = np.concatenate([np.stack([one.ts, one.live, one.exp]) for one in arrived], axis=1)
        try:
            for of_slots, of_pairs in chains.meet(instants, codes, slots, lefts, probe):
                found = self._pairs(of_slots, of_pairs)
                if len(found):
                    yield found
        except MeetsTooMany as too_many:
            which = int(too_many.row >= lefts)
            row = arrived[which].rows.slice(too_many.row - lefts * which, 1)
            raise self._refusal(self._sides[which], row) from None
        for place, ((side, changes), own) in enumerate(zip(sides, of_side, strict=True)):
            lives = changes.live > until
            gone = np.concatenate([side.ends.pop(until + 1)[1], own[~lives]])
            side.ends.push(changes.live[lives], own[lives])
            chains.let_go(place, gone, until)
            side.batches.let_go(gone)
            if probe and lives.any():
                side.arrived.append(changes.rows if lives.all() else changes.rows.filter(pa.array(lives)))

    def _pairs(self, of_slots: Array, instants: Array) -> Changes:
        """Of some pairs, those for which the condition holds."""
        if self._node.condition is not None:
            (holds,) = self._evaluate(self._taken(self._read, of_slots), [self._node.condition])
            which = np.asarray(pc.fill_null(holds, False).to_numpy(zero_copy_only=False))
            of_slots, instants = of_slots[:, which], instants[:, which]
        ts, live, exp = instants
        return Changes(ts, live, exp, self._taken(self._schema.names, of_slots))

    def _taken(self, names: Sequence[str], of_slots: Array) -> pa.Table:
        """Columns of both sides for some pairs."""
        columns: dict[str, pa.ChunkedArray] = {}
        for side, slots in zip(self._sides, of_slots, strict=True):
            rows = side.batches.take([name for name in names if name in side.names], slots)
            columns |= dict(zip(rows.column_names, rows.columns, strict=True))
        return pa.table({name: columns[name] for name in names})

    def _move(self, until: int) -> None:
        """Give back room that is no longer needed: the rows that live, moved into new state."""
        rows = [side.at_rest(side.batches.kept(), until) for side in self._sides]
        self._touched += self._chains.touched
        self._clear()
        list(self._inserted(rows, until, probe=False))

    def _refusal(self, side: Side, row: pa.Table) -> QueryFailed:
        """Names the key of the row that meets too many others."""
        values = [f"{key} = {row[key][0].as_py()!r}" for key in side.keys]
        which = f"with {' and '.join(values)}" if values else "as it has no equality"
        return QueryFailed(
            f"{self._node}: more than {self._most_pairs:,} rows for one row, {which}; add an equality that "
            "fewer rows share, make the windows shorter, or raise most_pairs of the engine"
        )


def _keys_of(side: Side, changes: Changes) -> list[pa.Array]:
    """The key columns of some rows of a side."""
    return [one_chunk(changes.rows, key) for key in side.keys]

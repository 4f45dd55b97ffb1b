"""ISTREAM and DSTREAM of a continuous query: what is new at an instant, or gone, net, by value.

The multiset of the rows that are there for the user at an instant is compared with that of the instant
before. A row makes its value one more when it comes, and one less when it expires. One that is taken back
makes it one less at once, and one more when the row would have expired, since that is counted too. What an
instant adds up to is new, or gone. So nothing has to be looked for, and an end that comes with an equal row
is no news.

What is given stands: it never expires.

State: a calendar queue of when rows expire, each with the code of its value, and one row for each value
(`HeldValues`). At rest: rows as they come.

Time: a sort of the rows that come and expire. Space: O(rows that will expire).
Source: Arasu, Babu, Widom 2006, "The CQL continuous query language".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns import END_OF_TIME, SLICE
from windrow.operators.aggregate.record_layout import one_chunk
from windrow.operators.relational.changes import Changes
from windrow.operators.relational.held_values import HeldValues
from windrow.operators.state.calendar_queue import CalendarQueue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Array = np.ndarray[Any, Any]

SIGN = "_windrow_op"
"""The column at rest that says whether a row came or was taken back."""
ROWS = "rows"
"""The table at rest."""


class NetChanges:
    """What is new at each instant, or what is gone."""

    def __init__(self, columns: Mapping[str, pa.DataType], new: bool) -> None:
        """`columns`: those of the rows. `new`: what is new is given, otherwise what is gone."""
        self._new = new
        self._names = list(columns)
        self._values = HeldValues(columns, self._names)
        self._ends = CalendarQueue()
        """The codes of rows that will expire, with all bits inverted where a row took another back."""
        self._arrived: list[pa.Table] = []
        """Those of them that came since the last log, as they are at rest."""

    @property
    def entries(self) -> int:
        """How many rows it holds whose end is to come."""
        return len(self._ends)

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        return self._values.bytes + self._ends.bytes

    def advance(self, inputs: Sequence[Changes], until: int) -> Changes:
        """What is new at each instant before `until`, or gone."""
        (changes,) = inputs
        codes = self._values.take(changes.rows, len(changes))
        ops = np.ones(len(changes), np.int8) if changes.op is None else changes.op
        ends, due = self._ends.pop(until)
        was_there = changes.exp > changes.ts
        is_over = was_there & (changes.exp < until)
        stays = was_there & (changes.exp >= until) & (changes.exp < END_OF_TIME)
        is_back = due < 0
        due = np.where(is_back, ~due, due)
        given, instants, net = _net(
            np.concatenate([codes[was_there], codes[is_over], due]),
            np.concatenate([changes.ts[was_there], changes.exp[is_over], ends]),
            np.concatenate([ops[was_there], -ops[is_over], np.where(is_back, 1, -1)]),
        )
        times = np.maximum(net if self._new else -net, 0)
        rows = self._values.rows(np.repeat(given, times))
        instants = np.repeat(instants, times)
        self._keep(changes.rows, codes, changes.exp, ops, stays)
        self._values.let_go(np.concatenate([codes[~stays], due]))
        forever = np.full(len(instants), END_OF_TIME, np.int64)
        return Changes(instants, forever, forever, rows)

    def next_change(self) -> int:
        """When something may be gone next; nothing is new without a row."""
        return END_OF_TIME if self._new else self._ends.next()

    def log(self) -> Mapping[str, pa.Table]:
        """The rows that have come and will expire."""
        arrived, self._arrived = self._arrived, []
        return {ROWS: pa.concat_tables(arrived)} if arrived else {}

    def restore(self, logged: Mapping[str, Sequence[pa.Table]], evaluated: int) -> None:
        """Go on from the rows that have not expired."""
        for table in logged.get(ROWS, ()):
            rows = table.filter(pc.greater_equal(table[SLICE], evaluated)).combine_chunks()
            codes = self._values.take(rows.select(self._names), len(rows))
            signs = one_chunk(rows, SIGN).to_numpy()
            self._ends.push(one_chunk(rows, SLICE).to_numpy(), np.where(signs < 0, ~codes, codes))

    def _keep(self, rows: pa.Table, codes: Array, exp: Array, ops: Array, stays: Array) -> None:
        """Remember the rows whose end is to come."""
        if not stays.any():
            return
        self._ends.push(exp[stays], np.where(ops < 0, ~codes, codes)[stays])
        kept = rows.filter(pa.array(stays)).append_column(SLICE, pa.array(exp[stays]))
        self._arrived.append(kept.append_column(SIGN, pa.array(ops[stays])))


def _net(codes: Array, instants: Array, signs: Array) -> tuple[Array, Array, Array]:
    """The codes, instants and sums of all that happens to a value at an instant, in the order of instants."""
    order = np.lexsort((codes, instants))
    codes, instants = codes[order], instants[order]
    first = np.ones(len(order), bool)
    first[1:] = (codes[1:] != codes[:-1]) | (instants[1:] != instants[:-1])
    begins = np.flatnonzero(first)
    sums = np.add.reduceat(signs[order].astype(np.int64), begins) if len(begins) else begins
    return codes[begins], instants[begins], sums

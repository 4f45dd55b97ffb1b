"""The beginning of a query that comes while its streams run: when all its windows hold all their rows.

What would have been said before that instant is held back. Then the answer at that instant is said, as rows
that come with it; what is new or gone begins with nothing.

State: what is held back, without the rows that end before; nothing, once the query has begun.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from windrow.columns import BEGINNING, END_OF_TIME, EXPIRES, OP, SLICE
from windrow.operators.relational.changes import Changes, last_of_each, together
from windrow.operators.state.key_codes import KeyCodes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Array = np.ndarray[Any, Any]

LIVE = "_live"


class Opening:
    """Holds back what comes before an instant; `stands`: to say then what is there of it."""

    def __init__(self, opens: int, *, stands: bool) -> None:
        self._opens = opens
        self._stands = stands
        self._held: list[Changes] = []
        self._new: list[Changes] = []

    @property
    def entries(self) -> int:
        """How many changes are held back."""
        return sum(map(len, self._held))

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        return sum(24 * len(held) + int(held.rows.nbytes) for held in self._held)

    def advance(self, inputs: Sequence[Changes], until: int) -> Changes:
        """The changes from the instant on."""
        (changes,) = inputs
        if self._opens == BEGINNING:
            return changes
        place = int(np.searchsorted(changes.ts, self._opens, side="right"))
        before, behind = changes.slice(0, place), changes.slice(place, len(changes))
        before = before.take(np.flatnonzero(before.exp > self._opens))
        if len(before) and self._stands:
            self._held.append(before)
            self._new.append(before)
        if until <= self._opens:
            return behind
        held, self._held, self._new = self._held, [], []
        opens, self._opens = self._opens, BEGINNING
        return together([_standing(together(held), opens), behind]) if held else behind

    def next_change(self) -> int:
        """When the query begins, if there is anything to say then."""
        return self._opens if self._held else END_OF_TIME

    def log(self) -> Mapping[str, pa.Table]:
        """At rest: what has been held back since the last call."""
        new, self._new = self._new, []
        if not new:
            return {}
        changes = together(new)
        op = np.ones(len(changes), np.int8) if changes.op is None else changes.op
        columns = {
            SLICE: np.full(len(changes), self._opens),
            LIVE: changes.live,
            EXPIRES: changes.exp,
            OP: op,
        }
        table = changes.rows
        for name, values in columns.items():
            table = table.append_column(name, pa.array(values))
        return {"held": table}

    def restore(self, logged: Mapping[str, Sequence[pa.Table]], evaluated: int) -> None:
        """Go on from what was held back."""
        if evaluated > self._opens:
            self._opens = BEGINNING
            return
        for table in logged.get("held", ()):
            live, exp, op = (table[name].combine_chunks().to_numpy() for name in (LIVE, EXPIRES, OP))
            rows = table.drop_columns([SLICE, LIVE, EXPIRES, OP]).combine_chunks()
            self._held.append(Changes(np.full(len(rows), self._opens), live, exp, rows, op))


def _standing(changes: Changes, at: int) -> Changes:
    """What is there at an instant, of changes up to it whose rows have not ended."""
    if changes.op is not None:
        codes = _codes(changes)
        net = np.bincount(codes, weights=changes.op).astype(np.int64)
        # Of rows that are alike as many stand as have not been taken back.
        changes = changes.take(np.sort(last_of_each(codes, changes.op > 0, net)))
    return replace(changes, ts=np.full(len(changes), at))


def _codes(changes: Changes) -> Array:
    columns = [
        pa.array(changes.live),
        pa.array(changes.exp),
        *(column.combine_chunks() for column in changes.rows.columns),
    ]
    keys = KeyCodes([column.type for column in columns])
    return keys.take(columns)

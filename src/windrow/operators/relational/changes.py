"""What goes along an edge of a query's tree: rows that come, and when each of them ends.

A row lives from `ts` on, and no longer at `live`: the least expiration of all windows that it has come
through, by which operators keep it. `exp` is when it ends for the user: the least expiration of the external
ones. A row without an end has END_OF_TIME there. Only a continuous GROUP BY takes rows back: a row with the
op -1 ends the row with the same values, `live` and `exp` that was there before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Changes:
    """A batch of changes, in the order of their instants; those of one instant are in no order.

    It is final: whoever gives it away up to an instant will give no other change before that.
    """

    ts: Array
    """When each comes: microseconds, int64."""
    live: Array
    """When operators may forget it, int64."""
    exp: Array
    """When it ends for the user, int64."""
    rows: pa.Table
    """The columns, in one chunk each."""
    op: Array | None = None
    """+1 or -1 each, int8; None: all come."""

    def __len__(self) -> int:
        return len(self.ts)

    def take(self, places: Array) -> Changes:
        """Some of the changes, in the order of their places."""
        return Changes(
            self.ts[places],
            self.live[places],
            self.exp[places],
            self.rows.take(pa.array(places)),
            None if self.op is None else self.op[places],
        )

    def slice(self, begin: int, end: int) -> Changes:
        """The changes from one place to another, without a copy."""
        which = slice(begin, end)
        op = None if self.op is None else self.op[which]
        rows = self.rows.slice(begin, end - begin)
        return Changes(self.ts[which], self.live[which], self.exp[which], rows, op)

    def select(self, columns: Sequence[str]) -> Changes:
        """The changes with these columns only."""
        return replace(self, rows=self.rows.select(list(columns)))

    def in_order(self) -> Changes:
        """The changes by their instants."""
        if np.all(self.ts[:-1] <= self.ts[1:]):
            return self
        return self.take(np.argsort(self.ts, kind="stable"))

    @classmethod
    def none(cls, schema: pa.Schema) -> Changes:
        """No changes, of rows with these columns."""
        empty = np.empty(0, np.int64)
        return cls(empty, empty, empty, schema.empty_table())


def last_of_each(rows: Array, chosen: Array, wanted: Array) -> Array:
    """Of the chosen places the last ones of each row, as many as are wanted of it; rows are numbers, equal
    where the rows are.

    >>> last_of_each(np.array([7, 8, 7, 7]), np.array([True, True, True, False]), np.full(9, 1)).tolist()
    [2, 1]
    """
    places = np.flatnonzero(chosen)
    places = places[np.argsort(rows[places], kind="stable")]
    of = rows[places]
    behind = np.searchsorted(of, of, side="right") - np.arange(len(of))
    return places[behind <= wanted[of]]


def together(some: Sequence[Changes]) -> Changes:
    """Several batches of rows with the same columns as one, in the order of their instants."""
    if len(some) == 1:
        return some[0]
    ops: Array | None = None
    if any(one.op is not None for one in some):
        ops = np.concatenate([np.ones(len(one), np.int8) if one.op is None else one.op for one in some])
    both = Changes(
        np.concatenate([one.ts for one in some]),
        np.concatenate([one.live for one in some]),
        np.concatenate([one.exp for one in some]),
        pa.concat_tables([one.rows for one in some]).combine_chunks(),
        ops,
    )
    return both.in_order()

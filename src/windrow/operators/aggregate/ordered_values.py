"""The values of a query's windows in stream order: rows of slices in, a list an answer out.

Stream order is event time, then epoch, then value. Rows of open slices wait; when a slice closes, they are
put in order and stay as they are until no window holds them.

Time: a sort of the rows that close, and an answer costs what it holds. Space: every value in the window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.ordered import MOST_COLLECTED
from windrow.errors import QueryFailed
from windrow.operators.aggregate.record_layout import one_chunk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.aggregates import Aggregate
    from windrow.aggregates.contents import InOrder
    from windrow.final.steps import Steps
    from windrow.slicing import Window

    Array = np.ndarray[Any, Any]

MOST_IN_ANSWERS = 1 << 24
"""Values in the answers that are made at a time."""


class Rows:
    """Values with the slice, the key and the instant of each."""

    def __init__(self, of_type: pa.DataType) -> None:
        self.starts = np.empty(0, np.int64)
        self.keys = np.empty(0, np.int32)
        self.instants = np.empty(0, np.int64)
        self.values = pa.array([], of_type)

    def append(self, starts: Array, keys: Array, instants: Array, values: pa.Array) -> None:
        """Add rows at the end."""
        self.starts = np.concatenate([self.starts, starts])
        self.keys = np.concatenate([self.keys, keys])
        self.instants = np.concatenate([self.instants, instants])
        self.values = pa.concat_arrays([self.values, values.cast(self.values.type)])

    def take(self, places: Array) -> tuple[Array, Array, Array, pa.Array]:
        """Rows by their places."""
        values = self.values.take(pa.array(places))
        return self.starts[places], self.keys[places], self.instants[places], values

    def keep(self, which: slice) -> None:
        """Forget all others."""
        self.starts, self.keys = self.starts[which].copy(), self.keys[which].copy()
        self.instants, self.values = self.instants[which].copy(), self.values[which]

    @property
    def bytes(self) -> int:
        """How much memory they take."""
        return int(self.starts.nbytes + self.keys.nbytes + self.instants.nbytes + self.values.nbytes)


class OrderedValues:
    """The running state of one `InOrder`."""

    def __init__(self, contents: InOrder, windows: Sequence[Window], aggregates: Sequence[Aggregate]) -> None:
        self._contents = contents
        self._windows = windows
        self._names = " and ".join(map(str, aggregates))
        self._open, self._held = Rows(contents.of_type), Rows(contents.of_type)
        self._fresh = 0

    known = 0
    """Values have no numbers here."""

    @property
    def entries(self) -> int:
        """How many values it holds."""
        return len(self._held.starts) + len(self._open.starts)

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        return self._held.bytes + self._open.bytes

    @property
    def most_answers(self) -> int:
        """How many answers may be made at a time: as many as can be held, however long their lists."""
        longest = int(np.bincount(self._held.keys).max()) if len(self._held.keys) else 1
        return max(MOST_IN_ANSWERS // longest, 1)

    def push(self, starts: Array, keys: Array, table: pa.Table) -> None:
        """Take in the rows of a batch."""
        values = one_chunk(table, self._contents.value_name)
        instants = one_chunk(table, self._contents.instant_name).to_numpy()
        order = _order(instants, values)
        order = order[pc.is_valid(values).to_numpy(False)[order]]
        taken = values.take(pa.array(order))
        self._open.append(starts[order], keys[order], instants[order], taken)

    def close(self, before: int, horizon: int) -> None:
        """Slices that start before an instant are complete; those before the horizon nobody needs."""
        complete = np.flatnonzero(self._open.starts < before)
        complete = complete[np.argsort(self._open.instants[complete], kind="stable")]
        starts = self._open.starts[complete]
        self._fresh = len(starts) - int(np.searchsorted(starts, horizon))
        self._held.append(*self._open.take(complete))
        rest = self._open.take(np.flatnonzero(self._open.starts >= before))
        self._open = Rows(self._contents.of_type)
        self._open.append(*rest)

    def slide(self, steps: Steps) -> list[pa.Array]:
        """For each range a list of values an answer."""
        held = self._held
        count = len(held.starts)
        order = np.argsort(held.keys, kind="stable")
        by_key = held.keys[order].astype(np.int64) * (count + 1) + order
        found = []
        for r, window in enumerate(self._windows):
            ends, keys = steps.answer_ends(r), steps.keys(r).astype(np.int64) * (count + 1)
            low = np.searchsorted(by_key, keys + np.searchsorted(held.starts, ends - window.range))
            high = np.searchsorted(by_key, keys + np.searchsorted(held.starts, ends))
            lengths = high - low
            if np.any(lengths > MOST_COLLECTED):
                raise QueryFailed(
                    f"{self._names} would hold {int(lengths.max()):,} values of one window and key, more "
                    f"than {MOST_COLLECTED:,}; use a shorter RANGE, a WHERE or another aggregate"
                )
            offsets = np.concatenate([[0], np.cumsum(lengths)])
            places = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - low, lengths)
            values = held.values.take(pa.array(order[places]))
            found.append(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values))
        return found

    def forget(self, horizon: int) -> None:
        """Values before an instant are in no window to come."""
        gone = int(np.searchsorted(self._held.starts, horizon))
        if 2 * gone > len(self._held.starts):
            self._held.keep(slice(gone, None))

    def answers(self, aggregate: Aggregate, found: pa.Array) -> pa.Array:
        """The answers of one aggregate, from the lists of a range."""
        return aggregate.lower([found])

    def closed_at_rest(self) -> tuple[Array, Array, dict[str, Any]]:
        """What the last `close` closed: starts, keys and columns."""
        return self._at_rest(self._held, slice(len(self._held.starts) - self._fresh, None))

    def held_at_rest(self) -> tuple[Array, Array, dict[str, Any]]:
        """All that is closed and in a window."""
        return self._at_rest(self._held, slice(None))

    def open_at_rest(self) -> tuple[Array, Array, dict[str, Any]]:
        """What is open."""
        return self._at_rest(self._open, slice(None))

    def restore_closed(self, starts: Array, keys: Array, table: pa.Table) -> None:
        """Take in slices that were closed."""
        instants = one_chunk(table, self._contents.instant_name).to_numpy()
        self._held.append(starts, keys, instants, one_chunk(table, self._contents.value_name))

    def _at_rest(self, rows: Rows, which: slice) -> tuple[Array, Array, dict[str, Any]]:
        names = self._contents.value_name, self._contents.instant_name
        columns = dict(zip(names, (rows.values[which], rows.instants[which]), strict=True))
        return rows.starts[which], rows.keys[which], columns


def _order(instants: Array, values: pa.Array) -> Array:
    """The order of a batch's rows: by instant and, among equal ones, by value where it has an order.

    >>> _order(np.array([2, 1, 2]), pa.array(["b", "z", "a"])).tolist()
    [1, 2, 0]
    """
    order = np.argsort(instants, kind="stable")
    if not np.any(np.diff(instants[order]) == 0):
        return order
    try:
        ranks = pc.rank(values, "ascending", tiebreaker="dense").to_numpy()
    except pa.ArrowNotImplementedError:
        return order
    return np.lexsort((ranks, instants))

"""Rows whose place in the stream is not known yet: until the watermark passes, others may come before.

Stream order is event time, then epoch, then the values of the columns in use. Spark hands over a batch
in that order, so putting a batch behind those before it and sorting by event time alone, stably, is all
that remains.

Cost: a sort by instant of the rows that wait and the new ones. Space: the rows that wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from windrow.aggregates.base import value_name
from windrow.columns import SLICE
from windrow.operators.aggregate.record_layout import one_chunk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.aggregates import Partial


def lifted(partial: Partial, rows: pa.Table) -> list[pa.Array]:
    """What Spark would have made of the partial's expressions, for groups of one row each."""
    return partial.lift(one_chunk(rows, value_name(partial)))


class PendingRows:
    """Rows in stream order, as far as it is known.

    A query that came when the stream had run begins behind all that had come until then: with rows up to
    `begins_after` there were others, which it has not seen.
    """

    def __init__(self, columns: Sequence[str], begins_after: int | None = None) -> None:
        self._begins_after = begins_after
        self._columns = list(dict.fromkeys(columns))
        self._rows: pa.Table | None = None
        self._instants: np.ndarray[Any, Any] = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._instants)

    @property
    def bytes(self) -> int:
        """How much memory they take."""
        return 0 if self._rows is None else int(self._rows.nbytes)

    @property
    def table(self) -> pa.Table | None:
        """The rows; None if there have never been any."""
        return self._rows

    def push(self, rows: pa.Table) -> None:
        """Add the rows of a batch, which are in order among themselves."""
        if self._begins_after is not None:
            rows = rows.filter(pc.greater(rows[SLICE], self._begins_after))
        rows = _in_universal_time(rows.select(self._columns))
        if self._rows is not None:
            rows = pa.concat_tables([self._rows, rows.cast(self._rows.schema)])
        instants = one_chunk(rows, SLICE).to_numpy()
        if np.any(instants[1:] < instants[:-1]):
            order = np.argsort(instants, kind="stable")
            rows, instants = rows.take(pa.array(order)), instants[order]
        self._rows, self._instants = rows.combine_chunks(), instants

    def before(self, instant: int) -> int:
        """How many are before an instant."""
        return int(np.searchsorted(self._instants, instant))

    def take(self, before: int) -> pa.Table | None:
        """Take out the rows before an instant; None if there are none."""
        count = self.before(before)
        if self._rows is None or count == 0:
            return None
        taken = self._rows.slice(0, count)
        self._rows, self._instants = self._rows.slice(count), self._instants[count:]
        return taken


def _in_universal_time(rows: pa.Table) -> pa.Table:
    """Spark's Arrow carries the session's time zone, and the next session may have another."""
    fields = [
        field.with_type(pa.timestamp("us", "UTC"))
        if pat.is_timestamp(field.type) and field.type.tz is not None
        else field
        for field in rows.schema
    ]
    return rows.cast(pa.schema([field.with_nullable(True) for field in fields]))

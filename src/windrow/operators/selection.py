"""The operator of a query without a window: rows go through, each once, with the epoch that brings them.

State: none; nothing at rest, nothing to restore. What was pushed and not yet answered is of an epoch that is
under way, and comes again if that fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.columns import END_OF_TIME, QUERY, SLICE, TIME

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from windrow.operators.aggregate.shared_aggregate import Member


class Selection:
    """Hands on the rows that Spark has selected for one query."""

    entries = 0
    bytes = 0
    groups_known = 0
    horizon = END_OF_TIME

    def __init__(self, query: int, time_type: pa.DataType) -> None:
        """`time_type`: of the event time, which is the time of an answer."""
        self.query = query
        self._time_type = time_type
        self._rows: list[pa.Table] = []

    def push(self, tables: Sequence[pa.Table], port: int = 0) -> None:
        """Take in the rows of a batch."""
        self._rows += [table for table in tables if len(table)]

    def advance(self, until: int) -> Iterator[tuple[int, pa.Table]]:
        """The rows that have come, whatever their event time: nothing that comes later changes them."""
        rows, self._rows = self._rows, []
        for table in rows:
            when = table[SLICE].cast(self._time_type)
            numbers = np.full(len(table), self.query, np.int32)
            answers = table.drop_columns([SLICE]).append_column(TIME, when)
            yield 0, answers.append_column(QUERY, pa.array(numbers))

    def closes(self, until: int) -> bool:
        """No answer waits for time to go on."""
        return False

    def closed_slices(self) -> Sequence[pa.Table]:
        """Nothing is at rest."""
        return ()

    def open_slices(self) -> pa.Table | None:
        """Nothing is at rest."""
        return None

    def set_members(self, members: Sequence[Member]) -> None:
        """Nobody comes or goes: the operator is of one query, and ends with it."""

    def restore(self, closed: Sequence[pa.Table], open_slices: pa.Table | None, evaluated: int) -> None:
        """There is nothing to go on from."""

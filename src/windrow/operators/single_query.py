"""The operator of one query: the state of its window, with the number of the query on every answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.columns import QUERY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from windrow.operators.aggregate.shared_aggregate import Member
    from windrow.operators.base import WindowOperator


class SingleQuery:
    """The running state of one query. Its answers are all of one shape, number 0."""

    def __init__(self, query: int, window: WindowOperator, complete_after: int | None = None) -> None:
        """`complete_after`: when the query came, rows up to this instant had passed without it."""
        self.query = query
        self.window = window
        self._complete_after = complete_after

    @property
    def entries(self) -> int:
        """How many partials and rows it holds."""
        return self.window.entries

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        return self.window.bytes

    @property
    def groups_known(self) -> int:
        """How many groups it knows."""
        return self.window.groups_known

    @property
    def horizon(self) -> int:
        """Closed slices that begin before this are no longer needed."""
        return self.window.horizon

    def closes(self, until: int) -> bool:
        """Whether advancing that far could answer anything."""
        return self.window.closes(until)

    def push(self, tables: Sequence[pa.Table], port: int = 0) -> None:
        """Take in what the passes over a batch have collected, a table each."""
        for table in tables:
            if len(table):
                self.window.push(table)

    def advance(self, until: int) -> Iterator[tuple[int, pa.Table]]:
        """The answers that are final when no row before an instant will come any more."""
        for table in self.window.advance(until):
            number = np.full(len(table), self.query, np.int32)
            yield 0, table.append_column(QUERY, pa.array(number))

    def closed_slices(self) -> Sequence[pa.Table]:
        """At rest: what the last `advance` closed and a window still needs."""
        return (self.window.closed_slices(),)

    def open_slices(self) -> pa.Table | None:
        """At rest: what may still change."""
        return self.window.open_slices()

    def set_members(self, members: Sequence[Member]) -> None:
        """Nobody comes or goes: with other queries, this one would be in an operator of another kind."""

    def restore(self, closed: Sequence[pa.Table], open_slices: pa.Table | None, evaluated: int) -> None:
        """Go on from tables at rest, closed ones in the order in which they were made."""
        self.window.restore(closed, open_slices, evaluated, self._complete_after)

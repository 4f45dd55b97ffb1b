"""The windows of all keys of one query, or of several ranges that end together: slices in, answers out.

Entries are kept in slice order in arrays that grow at one end and are dropped at the other. Each
operation of the query has one matrix of records and one final aggregator; all of them follow the
same steps. Windows are given in ascending order of their ranges.

Time: that of the final aggregators, O(1) an entry and answer. Space: the entries still in the window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from windrow.final.growing_array import GrowingArray
from windrow.final.steps import Liveness

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from windrow.aggregates import Operation
    from windrow.final.base import FinalAggregator
    from windrow.final.steps import Steps
    from windrow.slicing import Window

    Array = np.ndarray[Any, Any]
    Records = dict[Operation, Array]


class Follower(Protocol):
    """Something that has entries of its own, and answers for the same windows and keys."""

    def slide(self, steps: Steps) -> list[Any]:
        """What it found, for each range."""


class KeyedWindows:
    """Closed slices of many keys, and the final aggregators that assemble their windows."""

    def __init__(
        self,
        windows: Sequence[Window],
        operations: Sequence[tuple[Operation, int]],
        algorithms: Mapping[Operation, type[FinalAggregator]],
        followers: Mapping[Any, Follower] | None = None,
    ) -> None:
        self.windows = windows
        self._followers = followers or {}
        self._starts = GrowingArray(np.empty(0, np.int64))
        self._keys = GrowingArray(np.empty(0, np.int32))
        self._records = {
            operation: GrowingArray(np.empty((0, columns), operation.dtype))
            for operation, columns in operations
        }
        self._aggregators = {
            operation: algorithms[operation](operation, columns, len(windows))
            for operation, columns in operations
        }
        self._liveness = Liveness(windows)
        self._base = 0

    @property
    def structure_bytes(self) -> int:
        """How much memory the final aggregators take."""
        return sum(aggregator.bytes for aggregator in self._aggregators.values())

    @property
    def entries(self) -> int:
        """How many entries are held."""
        return len(self._starts.view)

    def append(self, starts: Array, keys: Array, records: Records, key_count: int) -> None:
        """Add closed slices, in slice order; key numbers are below `key_count`."""
        self._starts.append(starts)
        self._keys.append(keys)
        for operation, rows in records.items():
            self._records[operation].append(rows)
        self._liveness.grow(key_count)
        for aggregator in self._aggregators.values():
            aggregator.grow(key_count)

    def evaluate(
        self, after: int, until: int, most_answers: int | None = None
    ) -> Iterator[tuple[Window, Array, Array, dict[Any, Any]]]:
        """Window, its ends, keys and records of the evaluations e with after < e ≤ until.

        What the followers found is among the records, by the name that they were given.
        """
        starts, keys, base = self._starts.view, self._keys.view, self._base
        for steps in self._liveness.evaluate(starts, keys, base, after, until, most_answers):
            records: dict[Any, Any] = {
                operation: aggregator.slide(self._records[operation].view, keys, base, steps)
                for operation, aggregator in self._aggregators.items()
            }
            records |= {name: follower.slide(steps) for name, follower in self._followers.items()}
            for r, window in enumerate(self.windows):
                if len(steps.keys(r)):
                    answers = {operation: by_range[r] for operation, by_range in records.items()}
                    yield window, steps.answer_ends(r), steps.keys(r), answers
        self._drop(self._liveness.evicted - base)

    def held(self) -> tuple[Array, Array, Records]:
        """Starts, keys and records of the entries that are still in the window."""
        return (
            self._starts.view,
            self._keys.view,
            {operation: array.view for operation, array in self._records.items()},
        )

    def rewrite(self, operation: Operation, column: int, rewrite: Any) -> None:
        """Apply a function to one column of every record held, state included."""
        held = [self._records[operation].view[:, column], *self._aggregators[operation].column(column)]
        for values in held:
            values[:] = rewrite(values)

    def _drop(self, rows: int) -> None:
        self._starts.drop(rows)
        self._keys.drop(rows)
        for array in self._records.values():
            array.drop(rows)
        self._base += rows

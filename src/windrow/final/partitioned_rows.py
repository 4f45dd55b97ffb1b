"""The last rows of each key: rows in stream order in, one record an evaluation out.

Rows of one key leave the window when others of the same key come, whatever the other keys do, so the
entries of all keys cannot share one end, as slices do. They are kept key by key, in order.

Time: a stable sort by key of the rows held and the new ones, and a fold of the window at each evaluation.
Space: the last `rows` rows of each key, and a count a key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from windrow.final.specialise import specialise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from windrow.aggregates import Operation
    from windrow.final.base import FinalAggregator

    Array = np.ndarray[Any, Any]
    Records = dict[Operation, Array]

    combine: Any


class PartitionedRows:
    """The windows of rows of many keys, each counted and evaluated by itself."""

    def __init__(
        self,
        rows: int,
        slide: int,
        operations: Sequence[tuple[Operation, int]],
        algorithms: Mapping[Operation, type[FinalAggregator]],
    ) -> None:
        self._rows = rows
        self._slide = slide
        self._keys = np.empty(0, np.int32)
        self._records = {operation: operation.empty(0, columns) for operation, columns in operations}
        self._counts = np.zeros(0, np.int64)

    @property
    def entries(self) -> int:
        """How many rows are held."""
        return len(self._keys)

    def append(self, keys: Array, records: Records, key_count: int) -> tuple[Array, Records]:
        """Take in rows in stream order; key numbers are below `key_count`.

        Returns the places in `keys` at which an evaluation happened, ascending, and one record each.
        """
        self._counts = np.concatenate([self._counts, np.zeros(key_count - len(self._counts), np.int64)])
        held = len(self._keys)
        keys = np.concatenate([self._keys, keys])
        order = np.argsort(keys, kind="stable")
        begins, ends, kept = _schedule(keys[order], order, held, self._counts, self._rows, self._slide)
        in_stream_order = np.argsort(order[ends - 1])
        begins, ends = begins[in_stream_order], ends[in_stream_order]
        answers = {}
        for operation, before in self._records.items():
            entries = np.concatenate([before, records[operation]])[order]
            out = operation.empty(len(ends), entries.shape[1])
            specialise(_fold, operation, entries.shape[1])(entries, begins, ends, out)
            answers[operation] = out
            self._records[operation] = entries[kept]
        self._keys = keys[order][kept]
        return order[ends - 1] - held, answers

    def snapshot(self) -> dict[str, Array]:
        """All that is needed to go on."""
        records = {f"records {operation.name}": rows for operation, rows in self._records.items()}
        return {"keys": self._keys, "counts": self._counts, **records}

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        """Go on from a snapshot."""
        self._keys, self._counts = snapshot["keys"], snapshot["counts"]
        self._records = {operation: snapshot[f"records {operation.name}"] for operation in self._records}

    def rewrite(self, operation: Operation, column: int, rewrite: Callable[[Array], Array]) -> None:
        """Apply a function to one column of every record held."""
        held = self._records[operation]
        held[:, column] = rewrite(held[:, column])


@njit(cache=True)
def _schedule(
    keys: Array, order: Array, held: int, counts: Array, rows: int, slide: int
) -> tuple[Array, Array, Array]:
    """From where to where each evaluation folds, and which entries stay; entries are sorted by key."""
    begins = np.empty(len(keys), np.int64)
    ends = np.empty(len(keys), np.int64)
    kept = np.ones(len(keys), np.bool_)
    evaluations = 0
    first = 0
    for place in range(len(keys)):
        key = keys[place]
        if place and key != keys[place - 1]:
            first = place
        if order[place] >= held:
            counts[key] += 1
            if counts[key] % slide == 0:
                begins[evaluations] = max(first, place + 1 - rows)
                ends[evaluations] = place + 1
                evaluations += 1
        if place - rows >= first:
            kept[place - rows] = False
    return begins[:evaluations], ends[:evaluations], kept


def _fold(entries: Array, begins: Array, ends: Array, out: Array) -> None:
    for answer in range(len(begins)):
        for entry in range(begins[answer], ends[answer]):
            combine(out, answer, entries, entry, out, answer)

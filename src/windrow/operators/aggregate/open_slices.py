"""Slices that may still receive rows: partials of the same slice and key are merged as they come.

Cost: a radix sort by slice and one operation an incoming partial. Space: the open slices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from windrow.final.specialise import specialise
from windrow.machine_code import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.aggregates import Operation

    Array = np.ndarray[Any, Any]
    Records = dict[Operation, Array]

    combine: Any


class OpenSlices:
    """Partials by slice and key, in slice order, one each."""

    def __init__(self, operations: Sequence[tuple[Operation, int]]) -> None:
        self.starts = np.empty(0, np.int64)
        self.keys = np.empty(0, np.int32)
        self.records = {operation: operation.empty(0, columns) for operation, columns in operations}

    def merge(self, starts: Array, keys: Array, records: Records, key_count: int) -> None:
        """Add partials, in any order and with any number of partials for one slice and key."""
        starts = np.concatenate([self.starts, starts])
        keys = np.concatenate([self.keys, keys])
        order = slice_order(starts)
        starts, keys = starts[order], keys[order]
        target = np.empty(len(starts), np.int64)
        distinct = _merge_targets(starts, keys, np.full(key_count, -1, np.int64), target)
        for operation, held in self.records.items():
            rows = np.concatenate([held, records[operation]])[order]
            if distinct < len(starts):
                merged = operation.empty(distinct, rows.shape[1])
                specialise(_merge_records, operation, rows.shape[1])(rows, target, merged)
                rows = merged
            self.records[operation] = rows
        if distinct < len(starts):
            first = np.empty(distinct, np.int64)
            first[target[::-1]] = np.arange(len(target) - 1, -1, -1)
            starts, keys = starts[first], keys[first]
        self.starts, self.keys = starts, keys

    def close(self, before: int) -> tuple[Array, Array, Records]:
        """Take out the slices that start before an instant."""
        end = int(np.searchsorted(self.starts, before))
        closed = (
            self.starts[:end],
            self.keys[:end],
            {operation: rows[:end] for operation, rows in self.records.items()},
        )
        self.starts, self.keys = self.starts[end:], self.keys[end:]
        self.records = {operation: rows[end:] for operation, rows in self.records.items()}
        return closed


def slice_order(starts: Array) -> Array:
    """A stable sort. A batch has few distinct slices, so their ranks fit NumPy's radix sort."""
    encoded = pa.array(starts).dictionary_encode()
    values = encoded.dictionary.to_numpy()
    if len(values) > np.iinfo(np.uint16).max:
        return np.argsort(starts, kind="stable")
    ranks = np.empty(len(values), np.uint16)
    ranks[np.argsort(values)] = np.arange(len(values), dtype=np.uint16)
    return np.argsort(ranks[encoded.indices.to_numpy()], kind="stable")


@compiled
def _merge_targets(starts: Array, keys: Array, latest: Array, target: Array) -> int:
    """Where each partial goes, `latest` holding the last place of each key; returns how many places."""
    distinct = 0
    slice_from = 0
    for row in range(len(starts)):
        if row and starts[row] != starts[row - 1]:
            slice_from = distinct
        key = keys[row]
        if latest[key] < slice_from:
            latest[key] = distinct
            distinct += 1
        target[row] = latest[key]
    return distinct


def _merge_records(rows: Array, target: Array, merged: Array) -> None:
    for row in range(len(target)):
        combine(merged, target[row], rows, row, merged, target[row])

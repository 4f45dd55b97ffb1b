"""Ranks for values that do not fit in 64 bits, so that MIN and MAX of strings run compiled.

The dictionary holds the distinct live values in order; a value's code is its rank. New values shift
the ranks behind them, so `encode` also returns the map from old codes to new ones, which the caller
applies to every code it holds: O(live values) for a batch that brings a new value, nothing otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Codes = np.ndarray[Any, Any]


class OrderedDictionary:
    """The distinct values seen, sorted.

    >>> d = OrderedDictionary(pa.string())
    >>> codes, moved = d.encode(pa.array(["m", "c"]))
    >>> codes.tolist()
    [1, 0]
    >>> codes, moved = d.encode(pa.array(["d", "m"]))
    >>> codes.tolist(), moved.tolist()
    ([1, 2], [0, 2])
    >>> d.decode(np.array([2, 0])).to_pylist()
    ['m', 'c']
    """

    def __init__(self, of_type: pa.DataType) -> None:
        self.values = pa.array([], of_type)

    def encode(self, values: pa.Array) -> tuple[Codes, Codes | None]:
        """Ranks of `values` (-1 for NULL), and where the old ranks went (None if they stayed)."""
        values = values.cast(self.values.type)
        known = self.values
        distinct = pc.drop_null(pc.unique(values))
        fresh = distinct.filter(pc.invert(pc.is_in(distinct, value_set=known)))
        moved = None
        if len(fresh):
            merged = pa.concat_arrays([known, fresh])
            order = pc.sort_indices(merged).to_numpy(zero_copy_only=False)
            rank = np.empty(len(order), np.int64)
            rank[order] = np.arange(len(order))
            moved = rank[: len(known)]
            self.values = merged.take(pa.array(order))
        codes = pc.index_in(values, value_set=self.values)
        return pc.fill_null(codes, -1).to_numpy(zero_copy_only=False).astype(np.int64), moved

    def decode(self, codes: Codes) -> pa.Array:
        """The values with these ranks; a negative rank is NULL."""
        return self.values.take(pa.array(np.maximum(codes, 0), mask=codes < 0))

"""Numbers for the groups of a query, so that state is arrays indexed by group instead of hash tables.

Each batch's key columns are dictionary-encoded by Arrow, and only the batch's distinct keys are looked
up one by one. NULL and NaN are keys like any other, as in Spark's GROUP BY.

Cost: a hash look-up in Arrow a row, and one in Python a distinct key of the batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

Numbers = np.ndarray[Any, Any]


class GroupKeys:
    """The distinct keys seen, each with a number.

    >>> keys = GroupKeys([pa.string()])
    >>> keys.encode([pa.array(["JFK", "LGA", "JFK"])]).tolist()
    [0, 1, 0]
    >>> keys.encode([pa.array(["EWR", "JFK", None])]).tolist()
    [2, 0, 3]
    >>> keys.columns(np.array([3, 2]))[0].to_pylist()
    [None, 'EWR']
    """

    def __init__(self, types: list[pa.DataType]) -> None:
        self._types = types
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._columns = [pa.array([], of_type) for of_type in types]

    def __len__(self) -> int:
        return len(self._numbers)

    def encode(self, columns: list[pa.Array]) -> Numbers:
        """The number of each row's key; new keys are numbered on."""
        if not columns:
            raise ValueError("a query without GROUP BY has the single key 0; ask with `single`")
        codes, distinct = _distinct_rows(columns)
        lookup = list(zip(*(_hashable(column) for column in distinct), strict=True))
        numbers = np.empty(len(lookup), np.int32)
        fresh = []
        for place, key in enumerate(lookup):
            number = self._numbers.get(key)
            if number is None:
                number = self._numbers[key] = len(self._numbers)
                fresh.append(place)
            numbers[place] = number
        if fresh:
            new = pa.array(fresh)
            self._columns = [
                pa.concat_arrays([known, column.take(new).cast(known.type)])
                for known, column in zip(self._columns, distinct, strict=True)
            ]
        return numbers[codes]

    def single(self, rows: int) -> Numbers:
        """The numbers for a query without keys: every row belongs to the same group."""
        self._numbers.setdefault((), 0)
        return np.zeros(rows, np.int32)

    def columns(self, numbers: Numbers) -> list[pa.Array]:
        """The key columns of these numbers."""
        places = pa.array(numbers)
        return [column.take(places) for column in self._columns]


def _distinct_rows(columns: list[pa.Array]) -> tuple[Numbers, list[pa.Array]]:
    """For each row the place of its key among the distinct ones, and those, in order of appearance."""
    encoded = [column.dictionary_encode(null_encoding="encode") for column in columns]
    codes = encoded[0].indices.to_numpy(zero_copy_only=False)
    if len(encoded) == 1:
        return codes, [encoded[0].dictionary]
    mixed = codes.astype(np.int64)
    for column in encoded[1:]:
        # Encoding the running pair again keeps the product of the dictionaries from overflowing.
        pair = mixed * len(column.dictionary) + column.indices.to_numpy(zero_copy_only=False)
        mixed = pa.array(pair).dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    first = np.full(int(mixed.max(initial=-1)) + 1, -1, np.int64)
    first[mixed[::-1]] = np.arange(len(mixed) - 1, -1, -1)
    return mixed, [column.take(pa.array(first)) for column in columns]


def _hashable(column: pa.Array) -> list[Any]:
    if pat.is_temporal(column.type):
        narrow = pat.is_date32(column.type) or pat.is_time32(column.type)
        column = column.view(pa.int32() if narrow else pa.int64())
    values: list[Any] = column.to_pylist()
    if pat.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
        values = ["NaN" if value != value else value for value in values]  # NaN is equal to no NaN
    return values

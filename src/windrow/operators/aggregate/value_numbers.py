"""Numbers for the different values that a query counts, so that counts are arrays.

A value keeps its number; where the order of values matters they also have ranks, which move.

Cost: a hash look-up in Arrow a value, and a hash table of the known values a batch; ranks are sorted anew
when there are new values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from windrow.operators.aggregate.group_keys import GroupKeys

Codes = np.ndarray[Any, Any]


class ValueNumbers:
    """The different values seen, each with a number.

    >>> numbers = ValueNumbers(pa.string())
    >>> numbers.encode(pa.array(["m", "c", "m"])).tolist(), numbers.encode(pa.array(["d"])).tolist()
    ([0, 1, 0], [2])
    >>> numbers.ranks().tolist(), numbers.decode(np.array([2, -1])).to_pylist()
    ([2, 0, 1], ['d', None])
    """

    def __init__(self, of_type: pa.DataType) -> None:
        self._values = pa.array([], of_type)
        self._ranks = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def values(self) -> pa.Array:
        """All values, by number."""
        return self._values

    def encode(self, values: pa.Array) -> Codes:
        """The number of each value; there must be no NULL among them."""
        values = values.cast(self._values.type)
        if pat.is_floating(values.type):
            values = pc.add(values, pa.scalar(0.0, values.type))  # -0.0 is equal to 0.0
        encoded = values.dictionary_encode()
        known = pc.index_in(encoded.dictionary, value_set=self._values)
        fresh = encoded.dictionary.filter(pc.is_null(known))
        numbers = pc.fill_null(known, -1).to_numpy().copy()
        numbers[numbers < 0] = np.arange(len(self._values), len(self._values) + len(fresh))
        self._values = pa.concat_arrays([self._values, fresh])
        return numbers[encoded.indices.to_numpy()]

    def decode(self, codes: Codes) -> pa.Array:
        """The values with these numbers; a negative one is NULL."""
        return self._values.take(pa.array(np.maximum(codes, 0), mask=codes < 0))

    def ranks(self) -> Codes:
        """The place of each value among all of them in order, by number."""
        if len(self._ranks) < len(self._values):
            order = pc.array_sort_indices(self._values).to_numpy()
            self._ranks = np.empty(len(order), np.int64)
            self._ranks[order] = np.arange(len(order))
        return self._ranks


class TupleNumbers(ValueNumbers):
    """Numbers of tuples of values, as of COUNT(DISTINCT a, b); they have no order.

    >>> numbers = TupleNumbers(pa.struct([("a", pa.int32()), ("b", pa.string())]))
    >>> numbers.encode(pa.array([{"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 1, "b": "x"}])).tolist()
    [0, 1, 0]
    >>> numbers.decode(np.array([1])).to_pylist()
    [{'a': 1, 'b': 'y'}]
    """

    def __init__(self, of_type: pa.DataType) -> None:
        super().__init__(of_type)
        self._fields = list(of_type)
        self._keys = GroupKeys([field.type for field in self._fields])

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def values(self) -> pa.Array:
        return self.decode(np.arange(len(self)))

    def encode(self, values: pa.Array) -> Codes:
        return self._keys.encode([part.cast(f.type) for part, f in zip(values.flatten(), self._fields)])

    def decode(self, codes: Codes) -> pa.Array:
        return pa.StructArray.from_arrays(self._keys.columns(codes), fields=self._fields)


def numbers_for(of_type: pa.DataType) -> ValueNumbers:
    """Numbers for values of a type."""
    return TupleNumbers(of_type) if pat.is_struct(of_type) else ValueNumbers(of_type)

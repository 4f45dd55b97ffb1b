"""The arrays of a state at rest, as a table with a row for each: `_name`, and what is in it.

Numbers are the bytes that NumPy writes, which hold no pickle. Python objects are packed one by one, as
records of them are anywhere else at rest: `_objects`, and the `_shape` of the array that they are in.

Homes of format 4 have arrays of objects as a pickle behind NumPy's header. Those are read too, by the reader
that makes plain values and the types of the aggregates at hand, and nothing else.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.own.function import raised
from windrow.aggregates.own.pickled_states import unpickled
from windrow.errors import QueryFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from windrow.aggregates.base import Packing

    Array = np.ndarray[Any, Any]

NAME, NUMBERS, OBJECTS, SHAPE = "_name", "_array", "_objects", "_shape"


def arrays_table(arrays: Mapping[str, Array], packing_of: Callable[[str], Packing]) -> pa.Table:
    """The table of some arrays; `packing_of` tells how the objects of the array of a name are packed.

    >>> table = arrays_table({"rows": np.array([3, 4])}, {}.__getitem__)
    >>> arrays_from(table, {}.__getitem__)
    {'rows': array([3, 4])}
    """
    numbers = {name: _to_bytes(array) for name, array in arrays.items() if not array.dtype.hasobject}
    objects = {
        name: packing_of(name).pack(array.reshape(-1)).to_pylist()
        for name, array in arrays.items()
        if array.dtype.hasobject
    }
    return pa.table(
        {
            NAME: pa.array(list(arrays), pa.string()),
            NUMBERS: pa.array([numbers.get(name) for name in arrays], pa.large_binary()),
            OBJECTS: pa.array([objects.get(name) for name in arrays], pa.list_(pa.large_binary())),
            SHAPE: pa.array([array.shape for array in arrays.values()], pa.list_(pa.int64())),
        }
    )


def arrays_from(table: pa.Table, packing_of: Callable[[str], Packing]) -> dict[str, Array]:
    """The arrays that `arrays_table` wrote down."""
    arrays = {}
    for row in table.to_pylist():
        name = row[NAME]
        try:
            arrays[name] = _array(row, name, packing_of)
        except QueryFailed:
            raise
        except Exception as error:  # bytes that Windrow did not write may be anything
            raise QueryFailed(f"its state cannot be read: {name}: {raised(error)}") from error
    return arrays


def _array(row: dict[str, Any], name: str, packing_of: Callable[[str], Packing]) -> Array:
    if row.get(OBJECTS) is None:
        return _from_bytes(row[NUMBERS], name, packing_of)
    packed = pa.array(row[OBJECTS], pa.large_binary())
    return packing_of(name).unpack(packed).reshape(row[SHAPE])


def _to_bytes(array: Array) -> bytes:
    written = io.BytesIO()
    np.save(written, array, allow_pickle=False)
    return written.getvalue()


def _from_bytes(data: bytes, name: str, packing_of: Callable[[str], Packing]) -> Array:
    file = io.BytesIO(data)
    if np.lib.format.read_magic(file) == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        if dtype.hasobject:  # of format 4
            array: Array = unpickled(file.read(), packing_of(name).types)
            return array.reshape(shape)
    return np.load(io.BytesIO(data), allow_pickle=False)

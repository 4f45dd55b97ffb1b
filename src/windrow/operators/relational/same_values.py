"""Whether values are the same, as they are written: to the bit, and NULL is NULL, and NaN is NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]


def same_rows(one: pa.Table, other: pa.Table) -> Array:
    """Whether all values of each row are those of the row at its place in another table.

    >>> one = pa.table({"x": [1.0, 0.0, None, float("nan")]})
    >>> same_rows(one, pa.table({"x": [1.0, -0.0, None, float("nan")]})).tolist()
    [True, False, True, True]
    """
    same = np.ones(len(one), bool)
    for left, right in zip(one.columns, other.columns, strict=True):
        same &= _same(left.combine_chunks(), right.combine_chunks())
    return same


def _same(left: pa.Array, right: pa.Array) -> Array:
    if isinstance(left, pa.ChunkedArray):
        left, right = pa.concat_arrays(left.chunks), pa.concat_arrays(right.chunks)
    if pat.is_nested(left.type):
        # A list or struct is written alike where it is the same.
        pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
        return np.array([repr(a) == repr(b) for a, b in pairs], bool)
    if pat.is_null(left.type):
        return np.ones(len(left), bool)
    if pat.is_floating(left.type):
        left, right = _bits(left), _bits(right)
    equal = pc.fill_null(pc.equal(left, right), False)
    both_null = pc.and_(left.is_null(), right.is_null())
    return pc.or_(equal, both_null).to_numpy(zero_copy_only=False)


def _bits(column: pa.Array) -> pa.Array:
    """Floats as integers of their bits, all NaN as one."""
    integers = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[column.type.bit_width]
    bits = column.view(integers)
    return pc.if_else(pc.is_nan(column), pa.scalar(-1, integers), bits)

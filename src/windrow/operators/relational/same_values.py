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
    >>> one, other = ([[1.0, None], [], None, [2.0, 3.0]], [[1.0, None], None, None, [2.0, 4.0]])
    >>> same_rows(pa.table({"x": one}), pa.table({"x": other})).tolist()
    [True, False, True, False]
    """
    same = np.ones(len(one), bool)
    for left, right in zip(one.columns, other.columns, strict=True):
        same &= _same(_one_chunk(left), _one_chunk(right))
    return same


def _same(left: pa.Array, right: pa.Array) -> Array:
    if pat.is_null(left.type):
        return np.ones(len(left), bool)
    nulls = _is_null(left), _is_null(right)
    if pat.is_list(left.type) or pat.is_large_list(left.type):
        same = _same_lists(left, right)
    elif pat.is_struct(left.type):
        same = np.ones(len(left), bool)
        for one, other in zip(left.flatten(), right.flatten(), strict=True):
            same &= _same(one, other)
    elif pat.is_nested(left.type):
        pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
        same = np.array([repr(one) == repr(other) for one, other in pairs], bool)
    else:
        if pat.is_floating(left.type):
            left, right = _bits(left), _bits(right)
        same = pc.fill_null(pc.equal(left, right), False).to_numpy(zero_copy_only=False)
    return np.where(nulls[0] | nulls[1], nulls[0] & nulls[1], same)


def _same_lists(left: pa.Array, right: pa.Array) -> Array:
    """Lists of one length are the same if all their values are."""
    length, other = (
        pc.fill_null(pc.list_value_length(one), 0).to_numpy(zero_copy_only=False) for one in (left, right)
    )
    same = np.asarray(length == other)
    some = same & (length > 0)
    alike = pa.array(some)
    values = _same(left.filter(alike).flatten(), right.filter(alike).flatten())
    if len(values):
        ends = np.cumsum(length[some])
        same[some] = np.logical_and.reduceat(values, np.append(0, ends[:-1]))
    return same


def _is_null(column: pa.Array) -> Array:
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False))


def _bits(column: pa.Array) -> pa.Array:
    """Floats as integers of their bits, all NaN as one."""
    integers = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[column.type.bit_width]
    bits = column.view(integers)
    return pc.if_else(pc.is_nan(column), pa.scalar(-1, integers), bits)


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    chunks = column.chunks or [pa.array([], column.type)]
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)

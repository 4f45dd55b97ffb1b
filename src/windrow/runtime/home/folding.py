"""Changes that no longer matter: what came and was taken back, and what has ended by itself.

A row that is taken back has the values of the row that came, bit for bit, and its `_exp`; so both cancel,
wherever they are. Which of several equal rows is taken back makes no difference: the last ones are left.

Cost: a hash of each column, and a sort of the rows, as numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from windrow.columns import EPOCH, EXPIRES, OP, TIME
from windrow.operators.relational.changes import last_of_each

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    Array = np.ndarray[Any, Any]

NOT_OF_THE_ROW = frozenset({OP, TIME, EPOCH})
"""The columns of a change that say what happens to a row, and when, and not which row it is."""


def left_of(changes: pa.Table, *, of_an_instant: bool = False) -> Array:
    """The places of the changes that are left, in their order, when those that cancel have gone; or only
    those that cancel within an instant, where what a row was taken back for is not seen of it.

    >>> changes = {"_op": [1, 1, -1, 1], "_ts": [1, 2, 3, 4], "_exp": [9] * 4, "n": [7, 8, 7, 9]}
    >>> left_of(pa.table(changes)).tolist()
    [1, 3]
    >>> at_once = {"_op": [-1, 1, 1], "_ts": [5, 5, 6], "_exp": [9] * 3, "n": [7, 7, 7]}
    >>> left_of(pa.table(at_once), of_an_instant=True).tolist()
    [2]
    """
    op = changes[OP].to_numpy()
    if (op > 0).all():
        return np.arange(len(op))
    rows = _numbered(changes, NOT_OF_THE_ROW - {TIME} if of_an_instant else NOT_OF_THE_ROW)
    count = int(rows.max()) + 1
    came = np.bincount(rows[op > 0], minlength=count)
    went = np.bincount(rows[op < 0], minlength=count)
    both = np.minimum(came, went)
    return np.sort(
        np.concatenate([last_of_each(rows, op > 0, came - both), last_of_each(rows, op < 0, went - both)])
    )


def alive(changes: pa.Table, at: int) -> pa.ChunkedArray:
    """Whether each change is of a row that has not ended by itself at an instant."""
    return pc.fill_null(pc.greater(changes[EXPIRES].cast(pa.int64()), at), True)


def _numbered(changes: pa.Table, without: AbstractSet[str]) -> Array:
    """A number for each row: those that are equal in all but some columns have the same one, others do
    not."""
    rows = np.zeros(len(changes), np.int64)
    for name in changes.column_names:
        if name not in without:
            codes = _codes(changes[name].combine_chunks())
            rows = _dense(pa.array(rows * (int(codes.max()) + 1) + codes))
    return rows


def _codes(column: pa.Array) -> Array:
    """A number for each value, by its bits."""
    if pat.is_floating(column.type):
        column = column.view(pa.int64() if column.type == pa.float64() else pa.int32())
    elif pat.is_nested(column.type):  # which Arrow does not hash
        column = pa.array([repr(value) for value in column.to_pylist()])
    return _dense(column)


def _dense(column: pa.Array) -> Array:
    codes = column.dictionary_encode(null_encoding="encode").indices
    return np.asarray(codes.to_numpy()).astype(np.int64)

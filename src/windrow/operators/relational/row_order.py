"""An order of rows that follows from the rows alone, so that sums of floats have the same bits in every run.

Rows of one instant and group are ordered by what is folded of them; where that is equal it does not matter.

Cost: nothing where no operation rounds, or no two rows of a group have one instant; else a sort of those that
do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from windrow.aggregates import Operation
    from windrow.operators.aggregate.record_layout import RecordLayout

    Array = np.ndarray[Any, Any]


def order_counts(operation: Operation) -> bool:
    """Whether it shows in which order records are folded."""
    return operation.algebra.rounds or not operation.algebra.commutative


def row_order(
    ts: Array, groups: Array, live: Array, records: Mapping[Operation, Array], layout: RecordLayout
) -> Array | None:
    """The places of rows, whose instants ascend, in that order; None if it is theirs already."""
    deciding = [operation for operation in records if order_counts(operation)]
    if not deciding:
        return None
    same = ts[1:] == ts[:-1]
    if not same.any():
        return None
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    by_group = np.lexsort((groups[tied], ts[tied]))
    places = tied[by_group]
    same = (ts[places[1:]] == ts[places[:-1]]) & (groups[places[1:]] == groups[places[:-1]])
    order = np.arange(len(ts))
    order[tied] = places
    again = np.flatnonzero(np.append(same, False) | np.append(False, same))
    if len(again):
        rows = places[again]
        words = [
            word for operation in deciding for word in _words(operation, records[operation][rows], layout)
        ]
        order[tied[again]] = rows[np.lexsort((*words, live[rows], groups[rows], ts[rows]))]
    return order


def _words(operation: Operation, records: Array, layout: RecordLayout) -> list[Array]:
    """Integers for each column of records, which are equal where the records are."""
    if operation.dtype is not np.object_:
        return list(np.ascontiguousarray(records.T).view(np.int64))
    slots = [slot for of in layout.slots.values() for slot in of if slot.column.operation == operation]
    words = []
    for slot in slots:
        packing = slot.column.packing
        assert packing is not None
        packed = [b"" if one is None else one for one in packing.pack(records[:, slot.place]).to_pylist()]
        words.append(np.unique(np.array(packed, object), return_inverse=True)[1])
    return words

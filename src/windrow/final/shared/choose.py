"""Which structure serves an operation in a tree of windows: its algebra decides, there is one for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.aggregates.own.operation import OwnOperation
from windrow.errors import PlanError
from windrow.final.shared.prefix import Prefix
from windrow.final.shared.searched_deque import SearchedDeque
from windrow.final.shared.time_tree import TimeTree

if TYPE_CHECKING:
    from windrow.aggregates import Operation
    from windrow.final.shared.structure import SharedStructure


def shared_structure(operation: Operation) -> type[SharedStructure]:
    """The structure that serves an operation.

    >>> from windrow.aggregates.operations import ADD_FLOATS, ADD_INTEGERS, GREATEST
    >>> [shared_structure(operation).name for operation in (ADD_INTEGERS, GREATEST, ADD_FLOATS)]
    ['prefix', 'searched_deque', 'time_tree']
    """
    algebra = operation.algebra
    if not algebra.associative:
        raise PlanError(
            f"windows of many queries cannot share {operation.name}: it needs an associative operation"
        )
    # A user's inverse is exact over a window's values; that says nothing of all the values there ever were.
    if algebra.invertible and not isinstance(operation, OwnOperation):
        return Prefix
    return SearchedDeque if algebra.selective else TimeTree

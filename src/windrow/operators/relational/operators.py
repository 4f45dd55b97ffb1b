"""The operator of each node of a query's tree: what is meant, and what runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.logical.tree import Compute, Distinct, Evaluate, Group, Join, Number, Union, Windowed
from windrow.operators.relational.changing_groups import ChangingGroups
from windrow.operators.relational.computed import Computed
from windrow.operators.relational.distinct_rows import DistinctRows
from windrow.operators.relational.evaluated_rows import EvaluatedRows
from windrow.operators.relational.merge_union import MergeUnion
from windrow.operators.relational.numbered import Numbered
from windrow.operators.relational.slot_groups import SlotGroups
from windrow.operators.relational.window_join import WindowJoin
from windrow.operators.relational.windowed_rows import WindowedRows

if TYPE_CHECKING:
    from windrow.logical.tree import Node
    from windrow.operators.relational.base import Around, RelationalOperator


def operator_of(node: Node, around: Around) -> RelationalOperator:
    """The operator of a node that is no leaf."""
    match node:
        case Compute():
            return Computed(node, around.evaluate)
        case Distinct():
            return DistinctRows(node)
        case Evaluate():
            return EvaluatedRows(node)
        case Group(slide=None):
            return ChangingGroups(node)
        case Group():
            return SlotGroups(node)
        case Join():
            return WindowJoin(node, around.evaluate, around.most_pairs)
        case Number():
            return Numbered(node)
        case Union():
            return MergeUnion(node)
        case Windowed():
            return WindowedRows(node)
    raise TypeError(f"no operator for {type(node).__name__}")

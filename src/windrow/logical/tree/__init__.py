"""The tree of a query that slices cannot answer: what each of its operators computes, a node a file.

    Rows ─► Compute ─► Join ─► Distinct ─► Group ─► the answer
    leaves: a port of the operator, a window each

Nodes are values: they say what is computed, and nothing of how. What goes along their edges are rows that
each know when they come and when they end, and every edge says in which order they do (`pattern`).
"""

from windrow.logical.tree.compute import Compute
from windrow.logical.tree.distinct import Distinct
from windrow.logical.tree.evaluate import Evaluate
from windrow.logical.tree.group import Group
from windrow.logical.tree.join import Join
from windrow.logical.tree.node import Column, Node
from windrow.logical.tree.number import Number
from windrow.logical.tree.rows import Rows
from windrow.logical.tree.union import Union
from windrow.logical.tree.windowed import Windowed

__all__ = [
    "Column",
    "Compute",
    "Distinct",
    "Evaluate",
    "Group",
    "Join",
    "Node",
    "Number",
    "Rows",
    "Union",
    "Windowed",
]

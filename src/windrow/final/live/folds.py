"""The records of a forest's nodes, for each operation: what the program that a forest writes down makes of
them.

An operation with an exact inverse keeps a total for each group, to which a record is added when it comes, and
from which its leaf is taken when it goes; any other folds the nodes of the trees again. Nothing is ever taken
out of a sum of floats.

Cost: a combination for each instruction of the program, of which totals need only those that are about
leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.final.live.forest import ANSWER, COMBINE, FIRST, LEAVE, MERGE
from windrow.final.specialise import specialise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from windrow.aggregates import Operation

    Array = np.ndarray[Any, Any]
    Records = dict[Operation, Array]

    WIDTH: int
    combine: Any
    inverse: Any


class LiveFolds:
    """The records of the nodes and totals of all operations of a query, each with its width."""

    def __init__(self, operations: Sequence[tuple[Operation, int]]) -> None:
        self._widths = dict(operations)
        self.nodes: Records = {operation: operation.empty(0, width) for operation, width in operations}
        self._totals: Records = {
            operation: operation.empty(0, width) for operation, width in operations if _has_totals(operation)
        }

    @property
    def needs_trees(self) -> bool:
        """Whether any operation folds the nodes of trees."""
        return len(self._totals) < len(self.nodes)

    @property
    def bytes(self) -> int:
        """How much memory the records take."""
        return sum(array.nbytes for records in (self.nodes, self._totals) for array in records.values())

    def reserve(self, nodes: int, groups: int) -> None:
        """Make room for so many nodes and groups."""
        for records, rows in ((self.nodes, nodes), (self._totals, groups)):
            for operation, held in records.items():
                if rows > len(held):
                    more = operation.empty(rows - len(held), self._widths[operation])
                    records[operation] = np.concatenate([held, more])

    def follow(self, program: Array, records: Records, answers: int) -> Records:
        """Do what a program says with the records that come; returns those of its answers."""
        found = {}
        for operation, width in self._widths.items():
            out = np.empty((answers, width), operation.dtype)
            nodes, coming = self.nodes[operation], records[operation]
            if operation in self._totals:
                kernel = specialise(_follow_with_totals, operation, width)
                kernel(program, coming, nodes, self._totals[operation], out)
            else:
                specialise(_follow_with_trees, operation, width)(program, coming, nodes, out)
            found[operation] = out
        return found

    def rewrite(
        self, operation: Operation, place: int, function: Callable[[Array], Array], held: Array
    ) -> None:
        """Apply a function to one column of the records of the nodes that there are."""
        column = self.nodes[operation][:, place]
        column[held] = function(column[held])


def _has_totals(operation: Operation) -> bool:
    algebra = operation.algebra
    return algebra.invertible and not algebra.nearly_invertible and algebra.commutative


def _follow_with_trees(program: Array, records: Array, nodes: Array, out: Array) -> None:
    for step in range(len(program)):
        kind, a, b, c = program[step, 0], program[step, 1], program[step, 2], program[step, 3]
        if kind == COMBINE:
            combine(nodes, b, nodes, c, nodes, a)
        elif kind == MERGE:
            combine(nodes, b, records, a, nodes, b)
        elif kind == ANSWER:
            for column in range(WIDTH):
                out[a, column] = nodes[b, column]
        elif kind != LEAVE:
            for column in range(WIDTH):
                nodes[b, column] = records[a, column]


def _follow_with_totals(program: Array, records: Array, nodes: Array, totals: Array, out: Array) -> None:
    for step in range(len(program)):
        kind, a, b, c = program[step, 0], program[step, 1], program[step, 2], program[step, 3]
        if kind == COMBINE:
            continue
        if kind == ANSWER:
            for column in range(WIDTH):
                out[a, column] = totals[c, column]
        elif kind == LEAVE:
            inverse(totals, b, nodes, a, totals, b)
        else:
            if kind == MERGE:
                combine(nodes, b, records, a, nodes, b)
            else:
                for column in range(WIDTH):
                    nodes[b, column] = records[a, column]
            if kind == FIRST:
                for column in range(WIDTH):
                    totals[c, column] = records[a, column]
            else:
                combine(totals, c, records, a, totals, c)

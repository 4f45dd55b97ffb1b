"""Expressions over rows, and a condition that they have to meet, computed by Spark over a batch of an edge.

Columns that are only renamed are handed on as they are, and Spark is not asked where there is nothing else.
An expression is computed for the rows only that meet the condition: it may fail on others.

State: none. Time: one question to Spark for a batch with rows, about the columns that are read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns import END_OF_TIME
from windrow.operators.relational.changes import Changes
from windrow.operators.relational.columns_of import read_by, schema_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from windrow.logical.tree import Compute
    from windrow.operators.relational.base import Evaluator

    Array = np.ndarray[Any, Any]


class Computed:
    """Expressions over rows as they run."""

    entries = 0
    bytes = 0

    def __init__(self, node: Compute, evaluate: Evaluator) -> None:
        self._node, self._evaluate = node, evaluate
        self._schema = schema_of(node)
        computed = {column.name: sql for column, sql in node.items if column.name not in node.renamed}
        if node.where is not None:
            computed = {name: f"CASE WHEN {node.where} THEN {sql} END" for name, sql in computed.items()}
        self._computed = list(computed)
        self._asked = [*computed.values(), *([] if node.where is None else [node.where])]
        self._read = read_by(self._asked, [column.name for column in node.of.columns])

    def advance(self, inputs: Sequence[Changes], until: int) -> Changes:
        """The rows that meet the condition, with their new columns."""
        (changes,) = inputs
        if not len(changes):
            return Changes.none(self._schema)
        columns = {name: changes.rows[old] for name, old in self._node.renamed.items()}
        holds: Array | None = None
        if self._node.needs_spark:
            found = self._evaluate(changes.rows.select(self._read), self._asked)
            columns |= dict(zip(self._computed, found, strict=False))
            if self._node.where is not None:
                holds = np.asarray(pc.fill_null(found[-1], False).to_numpy(zero_copy_only=False))
        rows = pa.table({name: columns[name] for name in self._schema.names}).cast(self._schema)
        given = replace(changes, rows=rows)
        return given if holds is None or holds.all() else given.take(np.flatnonzero(holds))

    def next_change(self) -> int:
        """Nothing changes by itself."""
        return END_OF_TIME

    def log(self) -> Mapping[str, pa.Table]:
        """Nothing is at rest."""
        return {}

    def restore(self, logged: Mapping[str, Sequence[pa.Table]], evaluated: int) -> None:
        """There is nothing to go on from."""

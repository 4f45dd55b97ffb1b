"""Numbers rows, so that equal ones can be told apart.

State: the next number; no number is ever given twice. At rest: the next number, whenever rows have come; the
latest counts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.columns import END_OF_TIME, SLICE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from windrow.logical.tree import Number
    from windrow.operators.relational.changes import Changes

NEXT = "next"
"""The table at rest, and its column."""


class Numbered:
    """The numbering of rows as it runs."""

    entries = 0
    bytes = 0

    def __init__(self, node: Number) -> None:
        self._name = node.name
        self._next = self._logged = 0

    def advance(self, inputs: Sequence[Changes], until: int) -> Changes:
        """The rows, each with the next number."""
        (changes,) = inputs
        numbers = pa.array(np.arange(self._next, self._next + len(changes)))
        self._next += len(changes)
        columns = dict(zip(changes.rows.column_names, changes.rows.columns, strict=True))
        return replace(changes, rows=pa.table({**columns, self._name: numbers}))

    def next_change(self) -> int:
        """Nothing changes by itself."""
        return END_OF_TIME

    def log(self) -> Mapping[str, pa.Table]:
        """The next number, if that is another."""
        if self._next == self._logged:
            return {}
        self._logged = self._next
        return {NEXT: pa.table({NEXT: [self._next], SLICE: [END_OF_TIME]})}

    def restore(self, logged: Mapping[str, Sequence[pa.Table]], evaluated: int) -> None:
        """Go on from the latest number."""
        for table in logged.get(NEXT, ())[-1:]:
            self._next = self._logged = table[NEXT][-1].as_py()

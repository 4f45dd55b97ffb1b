"""Numbers rows, so that equal ones can be told apart.

State: the next number. At rest: the next number, whenever rows have come, until all rows that have one have
ended; the latest counts. When it is forgotten, none of the numbers is in use.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.columns import BEGINNING, END_OF_TIME, SLICE

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
        self._needed_until = BEGINNING
        """When the last of the rows that have numbers ends."""

    def advance(self, inputs: Sequence[Changes], until: int) -> Changes:
        """The rows, each with the next number."""
        (changes,) = inputs
        numbers = pa.array(np.arange(self._next, self._next + len(changes)))
        self._next += len(changes)
        self._needed_until = int(changes.live.max(initial=self._needed_until))
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
        return {NEXT: pa.table({NEXT: [self._next], SLICE: [self._needed_until]})}

    def restore(self, logged: Mapping[str, Sequence[pa.Table]], evaluated: int) -> None:
        """Go on from the latest number."""
        for table in logged.get(NEXT, ())[-1:]:
            self._next = self._logged = table[NEXT][-1].as_py()
            self._needed_until = table[SLICE][-1].as_py()

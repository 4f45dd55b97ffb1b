"""The results of a query as a stream, in a window: when they come is theirs, when they end is the window's.

State: none. Time: O(1) a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.columns import END_OF_TIME
from windrow.operators.relational.changes import Changes
from windrow.operators.relational.columns_of import schema_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from windrow.logical.tree import Windowed


class WindowedRows:
    """A `Windowed` as it runs."""

    entries = 0
    bytes = 0

    def __init__(self, node: Windowed) -> None:
        self._node = node
        self._schema = schema_of(node)

    def advance(self, inputs: Sequence[Changes], until: int) -> Changes:
        """The rows, each of which lives as long as the window is."""
        (changes,) = inputs
        ts, rows = changes.ts, changes.rows
        forever = np.full(len(ts), END_OF_TIME, np.int64)
        live = forever if self._node.window is None else ts + self._node.window
        for column, later in self._node.times:
            rows = rows.append_column(column.name, pa.array(ts + later).cast(column.type))
        return Changes(ts, live, forever if self._node.internal else live, rows.cast(self._schema))

    def next_change(self) -> int:
        """Nothing changes by itself."""
        return END_OF_TIME

    def log(self) -> Mapping[str, pa.Table]:
        """Nothing is at rest."""
        return {}

    def restore(self, logged: Mapping[str, Sequence[pa.Table]], evaluated: int) -> None:
        """There is nothing to go on from."""

"""The rows of several inputs in the order of their instants, with duplicates: UNION ALL.

State: none. Time: a sort of instants that are in order already, input by input.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.columns import END_OF_TIME
from windrow.operators.relational.changes import together
from windrow.operators.relational.columns_of import schema_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from windrow.logical.tree import Union
    from windrow.operators.relational.changes import Changes


class MergeUnion:
    """A merge-union as it runs."""

    entries = 0
    bytes = 0

    def __init__(self, node: Union) -> None:
        self._schema = schema_of(node)

    def advance(self, inputs: Sequence[Changes], until: int) -> Changes:
        """The rows of all inputs."""
        return together([replace(one, rows=one.rows.cast(self._schema)) for one in inputs])

    def next_change(self) -> int:
        """Nothing changes by itself."""
        return END_OF_TIME

    def log(self) -> Mapping[str, pa.Table]:
        """Nothing is at rest."""
        return {}

    def restore(self, logged: Mapping[str, Sequence[pa.Table]], evaluated: int) -> None:
        """There is nothing to go on from."""

"""The columns on an edge of a tree: as a schema, and those of them that expressions read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.columns import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from windrow.logical.tree import Node


def schema_of(node: Node) -> pa.Schema:
    """The columns of a node's rows."""
    return pa.schema([(column.name, column.type) for column in node.columns])


def read_by(expressions: Iterable[str], names: Sequence[str]) -> list[str]:
    """Those of some columns that Spark SQL may read: whose name stands in it. A text, or a longer name, that
    has it inside makes one too many, which costs a little; a table without columns has no rows, so there is
    one at least.

    >>> read_by(["`a b` > 3"], ["a b", "b", "c"])
    ['a b', 'b']
    """
    text = "\n".join(expressions).lower()
    return [name for name in names if quoted(name)[1:-1].lower() in text] or list(names[:1])

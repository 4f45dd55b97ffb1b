"""Several tables of one state, at rest in one: each row says which of them it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Mapping

PART = "_part"
"""The column that says so; tables that are themselves of several parts need another."""


def together(parts: Mapping[str, pa.Table | None], label: str = PART) -> pa.Table:
    """One table of all of them; a column that a part has not is NULL in its rows.

    >>> both = together({"a": pa.table({"x": [1, 2]}), "b": pa.table({"x": [3], "y": ["z"]})})
    >>> both.column_names, part(both, "b").to_pylist()
    (['x', '_part', 'y'], [{'x': 3, '_part': 'b', 'y': 'z'}])
    """
    labelled = [
        table.append_column(label, pa.repeat(pa.scalar(name), len(table)))
        for name, table in parts.items()
        if table is not None
    ]
    return pa.concat_tables(labelled, promote_options="default")


def part(table: pa.Table, name: str, label: str = PART) -> pa.Table:
    """The rows of one of them."""
    return table.filter(pc.equal(table[label], name)).combine_chunks()

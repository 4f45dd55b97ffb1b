"""Several tables of one state at rest: in one, whose rows say which of them they belong to, or each by
itself, under a name that goes with it as metadata of its schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Mapping

PART = "_part"
"""The column that says so; tables that are themselves of several parts need another."""


NAME = b"windrow_part"
"""The entry in the metadata of a table that says which part of a state it is."""


def named(table: pa.Table, name: str) -> pa.Table:
    """A table that says which part of a state it is.

    >>> name_of(named(pa.table({"x": [1]}), "left").schema), name_of(pa.schema([]))
    ('left', '')
    """
    return table.replace_schema_metadata({**(table.schema.metadata or {}), NAME: name})


def name_of(schema: pa.Schema) -> str:
    """The part of a state that a table with this schema is; empty if it does not say."""
    return (schema.metadata or {}).get(NAME, b"").decode()


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

"""Arrow schemas as the catalog keeps them: Arrow's own bytes."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa
import pyarrow.ipc

from windrow.runtime.home.declarations import declared_kind
from windrow.runtime.home.records import schema_id


def schema_bytes(schema: pa.Schema) -> bytes:
    """A schema as it is stored."""
    return bytes(schema.serialize().to_pybytes())


@lru_cache(10_000)  # thousands of queries have few schemas, and reading one takes 10 µs
def read_schema(stored: bytes) -> pa.Schema:
    """A schema from its bytes."""
    return pa.ipc.read_schema(pa.py_buffer(stored))


@lru_cache(10_000)  # the name of a schema object takes longer to find than that of its bytes
def stored_schema_id(stored: bytes) -> str:
    """The name of a result schema, from its bytes."""
    return schema_id(read_schema(stored))


@lru_cache(10_000)
def stored_answers_can_end(stored: bytes) -> bool:
    """Whether a result schema, from its bytes, is of changes of an answer from which something goes again."""
    kind = declared_kind(read_schema(stored))
    return kind is not None and kind.can_end

"""Arrow's types as Spark SQL writes them, for casts that say what Spark would do by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.types as pat
from sqlglot import exp

from windrow.columns import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLAIN = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    pa.binary(): "BINARY",
    pa.date32(): "DATE",
}


def sql_type(of_type: pa.DataType) -> str | None:
    """A type as Spark SQL; None where there is no name for it.

    >>> sql_type(pa.list_(pa.decimal128(10, 2))), sql_type(pa.timestamp("us", "UTC")), sql_type(pa.null())
    ('ARRAY<DECIMAL(10, 2)>', 'TIMESTAMP', None)
    """
    if pat.is_decimal(of_type):
        return f"DECIMAL({of_type.precision}, {of_type.scale})"
    if pat.is_timestamp(of_type):
        return "TIMESTAMP" if of_type.tz else "TIMESTAMP_NTZ"
    if pat.is_nested(of_type):
        inner = list(_inner(of_type))
        names = [sql_type(one) for _, one in inner]
        if None in names:
            return None
        if pat.is_struct(of_type):
            fields = (f"{quoted(name)}: {sql}" for (name, _), sql in zip(inner, names, strict=True))
            return f"STRUCT<{', '.join(fields)}>"
        return f"{'MAP' if pat.is_map(of_type) else 'ARRAY'}<{', '.join(map(str, names))}>"
    return _PLAIN.get(of_type)


def has_map(of_type: pa.DataType) -> bool:
    """Whether there is a map in values of a type: such values cannot be compared."""
    return bool(pat.is_map(of_type)) or (
        bool(pat.is_nested(of_type)) and any(has_map(one) for _, one in _inner(of_type))
    )


def cast(meant: exp.Expr, of_type: pa.DataType) -> exp.Expr:
    """An expression as one of a type that `sql_type` can write."""
    to = exp.DataType.build(sql_type(of_type) or "", dialect="spark")
    return exp.Cast(this=meant.copy(), to=to)


def _inner(of_type: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    if pat.is_map(of_type):
        yield from (("key", of_type.key_type), ("value", of_type.item_type))
    elif pat.is_struct(of_type):
        yield from ((one.name, one.type) for one in (of_type.field(i) for i in range(of_type.num_fields)))
    else:
        yield "element", of_type.value_type

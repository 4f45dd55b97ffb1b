"""Spark SQL types as Arrow's, without Spark: those that results usually have."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.expressions import DType

PLAIN = {
    DType.DOUBLE: pa.float64(), DType.FLOAT: pa.float32(),
    DType.BIGINT: pa.int64(), DType.INT: pa.int32(), DType.SMALLINT: pa.int16(), DType.TINYINT: pa.int8(),
    DType.BOOLEAN: pa.bool_(), DType.TEXT: pa.string(), DType.BINARY: pa.binary(), DType.DATE: pa.date32(),
    DType.TIMESTAMPTZ: pa.timestamp("us", "UTC"), DType.TIMESTAMPNTZ: pa.timestamp("us"),
}  # fmt: skip
"""By sqlglot's names: Spark's TIMESTAMP is an instant, which sqlglot calls TIMESTAMPTZ."""


def arrow_type(sql: str) -> pa.DataType | None:
    """The Arrow type of a Spark SQL type; None for one that is not known here.

    >>> arrow_type("array<decimal(10, 2)>"), arrow_type("MAP<STRING, INT>"), arrow_type("GEOMETRY")
    (ListType(list<item: decimal128(10, 2)>), MapType(map<string, int32>), None)
    """
    try:
        return _arrow(exp.DataType.build(sql, dialect="spark"))
    except (
        SqlglotError,
        ValueError,
    ):  # the latter: DECIMAL(a), DECIMAL(99)
        return None


def _arrow(written: exp.Expr) -> pa.DataType | None:
    kind, parts = written.this, written.expressions
    if kind == DType.DECIMAL:
        sizes = [int(part.name) for part in parts]
        precision, scale = (*sizes, 0)[:2] if sizes else (10, 0)
        return pa.decimal128(precision, scale)
    if kind in (DType.ARRAY, DType.MAP):
        inner = [_arrow(part) for part in parts]
        if None in inner or len(inner) != 1 + (kind == DType.MAP):
            return None
        return pa.map_(*inner) if kind == DType.MAP else pa.list_(*inner)
    return PLAIN.get(kind)

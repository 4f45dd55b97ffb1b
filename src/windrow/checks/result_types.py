"""Spark SQL types as Arrow's, without Spark: those that results usually have."""

from __future__ import annotations

import re

import pyarrow as pa

PLAIN = {
    "DOUBLE": pa.float64(), "FLOAT": pa.float32(), "REAL": pa.float32(),
    "BIGINT": pa.int64(), "LONG": pa.int64(), "INT": pa.int32(), "INTEGER": pa.int32(),
    "SMALLINT": pa.int16(), "SHORT": pa.int16(), "TINYINT": pa.int8(), "BYTE": pa.int8(),
    "BOOLEAN": pa.bool_(), "STRING": pa.string(), "BINARY": pa.binary(), "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"), "TIMESTAMP_NTZ": pa.timestamp("us"),
}  # fmt: skip


def arrow_type(sql: str) -> pa.DataType | None:
    """The Arrow type of a Spark SQL type; None for one that is not known here.

    >>> arrow_type("array<decimal(10, 2)>"), arrow_type("MAP<STRING, INT>"), arrow_type("GEOMETRY")
    (ListType(list<item: decimal128(10, 2)>), MapType(map<string, int32>), None)
    """
    text = sql.strip().upper()
    if text in PLAIN:
        return PLAIN[text]
    decimal = re.fullmatch(r"(?:DECIMAL|DEC|NUMERIC)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?", text)
    if decimal:
        return pa.decimal128(int(decimal[1] or 10), int(decimal[2] or 0))
    array = re.fullmatch(r"ARRAY\s*<(.*)>", text)
    if array:
        inner = arrow_type(array[1])
        return None if inner is None else pa.list_(inner)
    pair = re.fullmatch(r"MAP\s*<\s*(\w+)\s*,(.*)>", text)
    if pair:
        key, value = arrow_type(pair[1]), arrow_type(pair[2])
        return None if key is None or value is None else pa.map_(key, value)
    return None

"""Arrow types as JSON values, exactly: what Spark's types become in Arrow, nested ones included.

    BIGINT                  "int64"
    DECIMAL(10, 2)          ["decimal", 10, 2]
    TIMESTAMP               ["timestamp", "us", "UTC"]
    ARRAY<INT>              ["list", ["element", "int32", true]]

A field is its name, its type, whether it may be NULL and, where it has any, its metadata. Arrow's own bytes
(`pa.Schema.serialize`) would do as well, but are ten times as long, and nobody can read them in a home.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.types as pat

PLAIN = {
    str(of_type): of_type
    for of_type in (
        pa.null(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(),
        pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.date32(),
    )
}  # fmt: skip
"""The types that have no parameters, by name."""


def type_to_json(of_type: pa.DataType) -> Any:
    """A type as a JSON value; a ValueError for one that would not be read back as it is.

    >>> type_to_json(pa.list_(pa.field("element", pa.timestamp("us", "UTC"), nullable=False)))
    ['list', ['element', ['timestamp', 'us', 'UTC'], False]]
    """
    written = _written(of_type)
    if not type_from_json(written).equals(of_type, check_metadata=True):
        raise ValueError(f"there is no exact record of type {of_type}")
    return written


def type_from_json(written: Any) -> pa.DataType:
    """The type that `type_to_json` has written; ValueError, TypeError or KeyError for anything else.

    >>> type_from_json(["map", ["key", "string", False], ["value", ["decimal", 10, 2], True]])
    MapType(map<string, decimal128(10, 2)>)
    """
    if isinstance(written, str):
        return PLAIN[written]
    kind, *given = written
    if kind == "decimal":
        return pa.decimal128(*given)
    if kind == "timestamp":
        return pa.timestamp(*given)
    if kind == "duration":
        return pa.duration(*given)
    if kind == "time":
        return pa.time64(*given)
    if kind == "list":
        return pa.list_(*map(_field, given))
    if kind == "struct":
        return pa.struct(list(map(_field, given)))
    if kind == "map":
        return pa.map_(*map(_field, given))
    raise ValueError(f"{kind!r} is no type")


def _written(of_type: pa.DataType) -> Any:
    if str(of_type) in PLAIN:
        return str(of_type)
    if pat.is_decimal128(of_type):
        return ["decimal", of_type.precision, of_type.scale]
    if pat.is_timestamp(of_type):
        return ["timestamp", of_type.unit, of_type.tz]
    if pat.is_duration(of_type):
        return ["duration", of_type.unit]
    if pat.is_time64(of_type):
        return ["time", of_type.unit]
    if pat.is_list(of_type):
        return ["list", _written_field(of_type.value_field)]
    if pat.is_struct(of_type):
        return ["struct", *(_written_field(of_type.field(i)) for i in range(of_type.num_fields))]
    if pat.is_map(of_type):
        return ["map", _written_field(of_type.key_field), _written_field(of_type.item_field)]
    raise ValueError(f"there is no record of type {of_type}")


def _written_field(field: pa.Field) -> list[Any]:
    written = [field.name, _written(field.type), field.nullable]
    if field.metadata:
        written.append({key.decode(): value.decode() for key, value in field.metadata.items()})
    return written


def _field(written: Any) -> pa.Field:
    name, of_type, nullable, *metadata = written
    return pa.field(name, type_from_json(of_type), nullable, *metadata)

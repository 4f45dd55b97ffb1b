"""The types of results, as Arrow has them; what is not known is no error."""

from __future__ import annotations

import pyarrow as pa
import pytest

from windrow.checks.result_types import arrow_type


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Long", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("TIMESTAMP_NTZ", pa.timestamp("us")),
        ("DECIMAL", pa.decimal128(10, 0)),
        ("numeric( 5 )", pa.decimal128(5, 0)),
        ("MAP<STRING, ARRAY<DECIMAL(10, 2)>>", pa.map_(pa.string(), pa.list_(pa.decimal128(10, 2)))),
        (
            "MAP<ARRAY<INT>, MAP<INT, STRING>>",
            pa.map_(pa.list_(pa.int32()), pa.map_(pa.int32(), pa.string())),
        ),
        *(
            (unknown, None)
            for unknown in (
                "",
                "'",
                "STRNG",
                "ARRAY",
                "MAP<INT>",
                "DECIMAL(a)",
                "DECIMAL(99)",
                "ARRAY<GEOMETRY>",
            )
        ),
    ],
)
def test_types_as_arrow_has_them(written, expected):
    assert arrow_type(written) == expected

"""The headers of CSV files are those that Spark's reader skips, whatever the options are."""

from __future__ import annotations

import bz2
import gzip
from typing import TYPE_CHECKING

import pytest

from windrow.errors import SourceError
from windrow.runtime.spark.headers import HeaderLines

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

FILES: list[tuple[str, bytes, dict[str, str]]] = [
    ("plain.csv", b"ts,v\n1,2\n", {}),
    ("no end.csv", b"ts,v", {}),
    ("windows.csv", b"ts,v\r\n1,2\r\n", {}),
    ("mac.csv", b"ts,v\r1,2\r", {}),
    ("blank.csv", b"\n  \nts,v\n1,2\n", {}),
    ("bom.csv", b"\xef\xbb\xbfts,v\n1,2\n", {}),
    ("bom comment.csv", b"\xef\xbb\xbf# ts,v\nts,v\n1,2\n", {"comment": "#"}),
    ("quoted.csv", b'"t,s","v ""x"""\n1,2\n', {"escape": '"'}),
    ("backslash.csv", b'"t\\"s",v\n1,2\n', {}),
    ("apostrophe.csv", b"'t,s',v\n1,2\n", {"QUOTE": "'"}),
    ("tab.csv", b"ts\tv,w\n1\t2\n", {"sep": "\\t"}),
    ("long.csv", b"ts||v|w\n1||2\n", {"Delimiter": "||"}),
    ("comment.csv", b"# ts,v\n\n#\nts,v\n1,2\n", {"comment": "#"}),
    ("spaces.csv", b"ts , v\n1,2\n", {}),
    (
        "trimmed.csv",
        b"ts , v\n1,2\n",
        {"ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true"},
    ),
    ("latin.csv", "tä,ö\n1,2\n".encode("latin-1"), {"encoding": "ISO-8859-1"}),
    ("lines.csv", b"ts,v;1,2;", {"lineSep": ";"}),
    ("wide.csv", ",".join(f"column{i}" for i in range(9_000)).encode() + b"\n" + b"1," * 8_999 + b"1\n", {}),
    ("several.csv", b'ts,"v\nw"\n1,2\n', {"multiLine": "true"}),
    ("several bom.csv", b"\xef\xbb\xbfts,v\r\n1,2\r\n", {"multiLine": "true"}),
    ("packed.csv.gz", gzip.compress(b"ts,v\n1,2\n"), {}),
    ("packed.csv.bz2", bz2.compress(b"ts,v\n1,2\n"), {}),
    ("packed lines.csv.gz", gzip.compress(b'ts,"v\nw"\n1,2\n'), {"multiLine": "true"}),
    ("empty names.csv", b",v,\n1,2,3\n", {}),
]


@pytest.mark.parametrize(("name", "content", "options"), FILES, ids=[name for name, *_ in FILES])
def test_a_header_is_what_spark_takes_for_the_names_of_columns(
    spark: SparkSession, tmp_path: Path, name: str, content: bytes, options: dict[str, str]
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    header = HeaderLines(spark, options | {"header": "true"}).header(f"file://{path}")
    native = spark.read.options(**options, header="true").csv(f"file://{path}").columns
    assert header is not None
    # Spark gives a column without a name a name.
    assert [name or f"_c{place}" for place, name in enumerate(header.names)] == native


def test_options_that_spark_refuses_are_refused_in_words(spark: SparkSession) -> None:
    with pytest.raises(SourceError, match=r"CSV cannot be read with these options: .*charset.*klingon"):
        HeaderLines(spark, {"header": "true", "encoding": "klingon"})


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# nothing\n"])
@pytest.mark.parametrize("lines", ["true", "false"])
def test_a_file_with_nothing_in_it_has_no_header(
    spark: SparkSession, tmp_path: Path, content: bytes, lines: str
) -> None:
    path = tmp_path / "empty.csv"
    path.write_bytes(content)
    assert HeaderLines(spark, {"multiLine": lines, "comment": "#"}).header(f"file://{path}") is None

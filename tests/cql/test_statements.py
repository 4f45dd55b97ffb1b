"""What each form of statement says."""

from __future__ import annotations

from typing import Any

import pytest
from sqlglot import exp

from windrow.cql import CreateStream, CreateTable, Query, Statement, parse
from windrow.cql.durations import HOUR, MINUTE, SECOND

# The statements of the design, as they would stand in a file.
FILE = """
-- Flights from New York.
CREATE STREAM flights FROM PARQUET 'flights/' TIMESTAMP ts DELAY 10 MINUTES;
CREATE STREAM readings (ts TIMESTAMP, sensor STRING, value DOUBLE) FROM CSV 'in/' OPTIONS (header 'true')
  TIMESTAMP ts DELAY 30 SECONDS SKEW 1 HOUR;
CREATE TABLE airlines FROM CSV 'airlines.csv' OPTIONS (header 'true');
CREATE QUERY delays AS
  SELECT origin, AVG(dep_delay) AS delay FROM flights [RANGE 6 HOURS SLIDE 5 MINUTES] GROUP BY origin;
/* and one without a name */
SELECT COUNT(*) FROM readings [RANGE 1 MINUTE SLIDE 1 SECOND]
"""


def only(text: str) -> Any:
    (statement,) = parse(text)
    return statement


def test_a_file_of_statements() -> None:
    flights, readings, airlines, delays, count = parse(FILE)
    assert isinstance(flights, CreateStream)
    assert (flights.name, flights.columns, flights.format, flights.path) == (
        "flights",
        None,
        "parquet",
        "flights/",
    )
    assert (flights.options, flights.timestamp, flights.delay, flights.skew) == ({}, "ts", 10 * MINUTE, None)

    assert isinstance(readings, CreateStream)
    assert readings.columns == (("ts", "TIMESTAMP"), ("sensor", "STRING"), ("value", "DOUBLE"))
    assert (readings.format, readings.options) == ("csv", {"header": "true"})
    assert (readings.delay, readings.skew) == (30 * SECOND, HOUR)

    assert isinstance(airlines, CreateTable)
    assert (airlines.name, airlines.columns, airlines.format) == ("airlines", None, "csv")
    assert (airlines.path, airlines.options) == ("airlines.csv", {"header": "true"})

    assert isinstance(delays, Query)
    assert delays.name == "delays"
    assert (
        delays.select.sql(dialect="spark")
        == "SELECT origin, AVG(dep_delay) AS delay FROM flights GROUP BY origin"
    )
    assert delays.select_sql == (
        "SELECT origin, AVG(dep_delay) AS delay FROM flights [RANGE 6 HOURS SLIDE 5 MINUTES] GROUP BY origin"
    )

    assert isinstance(count, Query)
    assert (count.name, count.name_span) == (None, (0, 0))
    assert count.select_sql == FILE[count.start : count.end] == FILE.strip().splitlines()[-1]


def test_every_statement_knows_its_place() -> None:
    flights, readings, airlines, delays, _ = parse(FILE)

    def shown(statement: Statement, piece: str) -> str:
        start, end = getattr(statement, piece)
        return FILE[start:end]

    assert all(statement.text == FILE for statement in (flights, readings, airlines, delays))
    assert FILE[flights.start : flights.end].startswith("CREATE STREAM flights")
    assert FILE[flights.start : flights.end].endswith("DELAY 10 MINUTES")
    assert shown(flights, "name_span") == "flights"
    assert shown(flights, "path_span") == "'flights/'"
    assert shown(flights, "timestamp_span") == "ts"
    assert isinstance(readings, CreateStream)
    assert [FILE[start:end] for start, end in readings.column_spans] == [
        "ts TIMESTAMP",
        "sensor STRING",
        "value DOUBLE",
    ]
    assert shown(airlines, "name_span") == "airlines"
    assert shown(airlines, "path_span") == "'airlines.csv'"
    assert shown(delays, "name_span") == "delays"
    assert FILE[delays.start : delays.end].startswith("CREATE QUERY delays AS\n")


@pytest.mark.parametrize("text", ["", " \n", ";", ";;\n;", "-- nothing", "/* nothing */ ; -- at all\n;"])
def test_nothing_is_no_statement(text: str) -> None:
    assert parse(text) == []


def test_keywords_in_any_case_and_clauses_in_any_order() -> None:
    stream = only("create Stream s from Parquet 'x' skew 1 hour delay 2 hours timestamp t options (a 'b')")
    assert (stream.timestamp, stream.delay, stream.skew, stream.options) == ("t", 2 * HOUR, HOUR, {"a": "b"})


def test_comments_may_stand_anywhere() -> None:
    stream = only("CREATE /* a */ STREAM s -- b\n FROM PARQUET 'x' TIMESTAMP ts DELAY 1 /* c */ HOUR -- d")
    assert stream.delay == HOUR


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("flights", "flights"),
        ("Flights", "Flights"),
        ("`my flights`", "my flights"),
        ("`a``b`", "a`b"),
        ("range", "range"),
        ("timestamp", "timestamp"),
        ("2013_flights", "2013_flights"),
        ("vlüge", "vlüge"),
    ],
)
def test_names_are_sparks(written: str, name: str) -> None:
    stream = only(f"CREATE STREAM {written} ({written} TIMESTAMP) FROM JSON 'x' TIMESTAMP {written}")
    assert (stream.name, stream.timestamp, stream.columns) == (name, name, ((name, "TIMESTAMP"),))
    assert only(f"CREATE QUERY {written} AS SELECT 1").name == name


@pytest.mark.parametrize(
    ("written", "path"),
    [("'a b'", "a b"), ('"a"', "a"), (r"'it\'s'", "it's"), (r"r'a\b'", r"a\b"), ("'a;b--c'", "a;b--c")],
)
def test_paths_are_sparks_strings(written: str, path: str) -> None:
    assert only(f"CREATE TABLE t FROM JSON {written}").path == path


def test_options_as_spark_writes_them() -> None:
    options = """header true, sep = ';', 'quote' '"', maxColumns 10, a.b.c 'd', `e f` 'g'"""
    table = only(f"CREATE TABLE t FROM CSV 'x' OPTIONS ({options})")
    assert table.options == {
        "header": "true",
        "sep": ";",
        "quote": '"',
        "maxColumns": "10",
        "a.b.c": "d",
        "e f": "g",
    }


@pytest.mark.parametrize(
    ("written", "spark"),
    [
        ("string", "STRING"),
        ("Timestamp_NTZ", "TIMESTAMP_NTZ"),
        ("long", "LONG"),
        ("decimal", "DECIMAL"),
        ("decimal(10)", "DECIMAL(10, 0)"),
        ("decimal(10,2)", "DECIMAL(10, 2)"),
        ("varchar(5)", "VARCHAR(5)"),
        ("array<int>", "ARRAY<INT>"),
        ("array<array<array<int>>>", "ARRAY<ARRAY<ARRAY<INT>>>"),
        ("map<string,array<double>>", "MAP<STRING, ARRAY<DOUBLE>>"),
        ("struct<>", "STRUCT<>"),
        ("struct<a:int,`b c`:struct<d string>>", "STRUCT<a: INT, `b c`: STRUCT<d: STRING>>"),
    ],
)
def test_types_are_sparks(written: str, spark: str) -> None:
    assert only(f"CREATE TABLE t (c {written}, d INT) FROM JSON 'x'").columns == (("c", spark), ("d", "INT"))


@pytest.mark.parametrize(
    ("cql", "spark"),
    [
        ("SELECT 1", "SELECT 1"),
        ("SELECT DISTINCT a FROM f [RANGE 1 H SLIDE 1 H]", "SELECT DISTINCT a FROM f"),
        ("SELECT a[0] FROM f [RANGE 1 H SLIDE 1 H]", "SELECT a[0] FROM f"),
        ("SELECT g.a FROM f [RANGE 1 H SLIDE 1 H] g", "SELECT g.a FROM f AS g"),
        (
            "SELECT * FROM f [RANGE 1 H SLIDE 1 H] JOIN g [RANGE 2 H SLIDE 1 H] b ON x = y JOIN t USING (z)",
            "SELECT * FROM f JOIN g AS b ON x = y JOIN t USING (z)",
        ),
        (
            "SELECT * FROM f [RANGE 1 H SLIDE 1 H], g [RANGE 2 H SLIDE 1 H] WHERE f.x = g.x",
            "SELECT * FROM f CROSS JOIN g WHERE f.x = g.x",
        ),
        (
            "SELECT * FROM (SELECT a FROM f [RANGE 1 H SLIDE 1 H]) "
            "WHERE NOT EXISTS (SELECT 1 FROM g [RANGE 2 H SLIDE 1 H])",
            "SELECT * FROM (SELECT a FROM f) WHERE NOT EXISTS(SELECT 1 FROM g)",
        ),
        ("WITH x AS (SELECT 1 AS a) SELECT a FROM x", "WITH x AS (SELECT 1 AS a) SELECT a FROM x"),
        (
            "SELECT SUM(a) OVER (PARTITION BY b) FROM f LIMIT 5",
            "SELECT SUM(a) OVER (PARTITION BY b) FROM f LIMIT 5",
        ),
        ("SELECT istream, emit FROM f", "SELECT istream, emit FROM f"),
        ('SELECT `a b`, "c" FROM `f g` [RANGE 1 H SLIDE 1 H]', "SELECT `a b`, 'c' FROM `f g`"),
        ("SELECT a FROM db.f [RANGE 1 H SLIDE 1 H]", "SELECT a FROM db.f"),
    ],
)
def test_a_query_without_its_windows_is_spark_sql(cql: str, spark: str) -> None:
    assert only(cql).select.sql(dialect="spark") == spark


@pytest.mark.parametrize(
    "text",
    [
        "SELECT /*+ FINAL(two_stacks) */ a FROM f",
        "SELECT\n/* a remark */\n/*+ FINAL(two_stacks) */ a FROM f",
        "SELECT 1; SELECT /*+ FINAL(two_stacks), SLICING(pairs) */ a FROM f",
    ],
)
def test_hints_are_kept(text: str) -> None:
    hint = parse(text)[-1].select.args["hint"].expressions[0]  # type: ignore[union-attr]
    assert isinstance(hint, exp.Anonymous)
    assert (hint.name, [argument.name for argument in hint.expressions]) == ("FINAL", ["two_stacks"])

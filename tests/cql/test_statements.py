"""What each form of statement says."""

from __future__ import annotations

from typing import Any

import pytest
from sqlglot import exp

from windrow.cql import CreateStream, CreateTable, Query, Statement, parse
from windrow.cql.durations import DAY, HOUR, MINUTE, SECOND
from windrow.errors import StatementError

# The statements of the design, as they would stand in a file.
FILE = """
-- Flights from New York.
CREATE STREAM flights FROM PARQUET 'flights/' TIMESTAMP ts DELAY 10 MINUTES;
CREATE STREAM readings (ts TIMESTAMP, sensor STRING, value DOUBLE) FROM CSV 'in/' OPTIONS (header 'true')
  TIMESTAMP ts DELAY 30 SECONDS SKEW 1 HOUR IDLE TIMEOUT 5 MINUTES RETAIN 7 DAYS MAX DEAD 100;
CREATE TABLE airlines FROM CSV 'airlines.csv' OPTIONS (header 'true');
CREATE QUERY delays RETAIN 30 DAYS AS
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
    assert (flights.idle_timeout, flights.retain, flights.max_dead) == (None, None, None)

    assert isinstance(readings, CreateStream)
    assert readings.columns == (("ts", "TIMESTAMP"), ("sensor", "STRING"), ("value", "DOUBLE"))
    assert (readings.format, readings.options) == ("csv", {"header": "true"})
    assert (readings.delay, readings.skew) == (30 * SECOND, HOUR)
    assert (readings.idle_timeout, readings.retain, readings.max_dead) == (5 * MINUTE, 7 * DAY, 100)

    assert isinstance(airlines, CreateTable)
    assert (airlines.name, airlines.columns, airlines.format) == ("airlines", None, "csv")
    assert (airlines.path, airlines.options) == ("airlines.csv", {"header": "true"})

    assert isinstance(delays, Query)
    assert (delays.name, delays.retain) == ("delays", 30 * DAY)
    assert (
        delays.select.sql(dialect="spark")
        == "SELECT origin, AVG(dep_delay) AS delay FROM flights GROUP BY origin"
    )
    assert delays.select_sql == (
        "SELECT origin, AVG(dep_delay) AS delay FROM flights [RANGE 6 HOURS SLIDE 5 MINUTES] GROUP BY origin"
    )

    assert isinstance(count, Query)
    assert (count.name, count.name_span, count.retain) == (None, (0, 0), None)
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
    assert FILE[delays.start : delays.end].startswith("CREATE QUERY delays RETAIN 30 DAYS AS\n")


@pytest.mark.parametrize("text", ["", " \n", ";", ";;\n;", "-- nothing", "/* nothing */ ; -- at all\n;"])
def test_nothing_is_no_statement(text: str) -> None:
    assert parse(text) == []


def test_keywords_in_any_case_and_clauses_in_any_order() -> None:
    clauses = ["skew 1 hour", "Max dead 7", "delay 2 hours", "retain 1 day 2 hours", "timestamp t"]
    clauses += ["options (a 'b')", "Idle timeout 5 s"]
    for first in range(len(clauses)):
        stream = only(" ".join(["create Stream s from Parquet 'x'", *clauses[first:], *clauses[:first]]))
        assert (stream.timestamp, stream.delay, stream.skew) == ("t", 2 * HOUR, HOUR)
        assert (stream.idle_timeout, stream.retain, stream.max_dead) == (5 * SECOND, 26 * HOUR, 7)
        assert stream.options == {"a": "b"}
    assert only("create query q retain 90 minutes as select 1").retain == 90 * MINUTE


@pytest.mark.parametrize("written", ["0", "007", str(2**63 - 1)])
def test_the_bound_on_dead_letters_is_a_whole_number(written: str) -> None:
    assert only(f"CREATE STREAM s FROM PARQUET 'x' TIMESTAMP ts MAX DEAD {written}").max_dead == int(written)


def test_a_number_too_long_for_python_is_refused() -> None:
    with pytest.raises(StatementError, match="at most"):
        parse(f"CREATE STREAM s FROM PARQUET 'x' TIMESTAMP ts MAX DEAD {'9' * 5000}")


def test_the_select_of_a_query_does_not_hold_its_retain() -> None:
    query = only("CREATE QUERY q RETAIN /* a month */ 30 DAYS AS\n  SELECT retain FROM f -- all of it")
    assert (query.retain, query.select_sql) == (30 * DAY, "SELECT retain FROM f")
    assert only("CREATE QUERY q AS SELECT 1").retain is None


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
        ("idle", "idle"),
        ("timeout", "timeout"),
        ("retain", "retain"),
        ("max", "max"),
        ("dead", "dead"),
        ("2013_flights", "2013_flights"),
        ("vlüge", "vlüge"),
    ],
)
def test_names_are_sparks(written: str, name: str) -> None:
    stream = only(f"CREATE STREAM {written} ({written} TIMESTAMP) FROM JSON 'x' TIMESTAMP {written}")
    assert (stream.name, stream.timestamp, stream.columns) == (name, name, ((name, "TIMESTAMP"),))
    assert only(f"CREATE QUERY {written} AS SELECT 1").name == name
    assert only(f"CREATE QUERY {written} RETAIN 1 DAY AS SELECT 1").name == name


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
        ("SELECT idle, timeout, max, dead FROM f", "SELECT idle, timeout, max, dead FROM f"),
        (
            "SELECT MAX(retain) AS retain, 30 FROM f retain",
            "SELECT MAX(retain) AS retain, 30 FROM f AS retain",
        ),
        ('SELECT `a b`, "c" FROM `f g` [RANGE 1 H SLIDE 1 H]', "SELECT `a b`, 'c' FROM `f g`"),
        ("SELECT a FROM db.f [RANGE 1 H SLIDE 1 H]", "SELECT a FROM db.f"),
    ],
)
def test_a_query_without_its_windows_is_spark_sql(cql: str, spark: str) -> None:
    assert only(cql).select.sql(dialect="spark") == spark


@pytest.mark.parametrize(
    ("cql", "spark"),
    [
        ("SELECT a FROM f [NOW] UNION SELECT b FROM g", "SELECT a FROM f UNION SELECT b FROM g"),
        ("SELECT a UNION ALL SELECT b UNION DISTINCT SELECT c", "SELECT a UNION ALL SELECT b UNION SELECT c"),
        ("SELECT a INTERSECT SELECT b", "SELECT a INTERSECT SELECT b"),
        # INTERSECT binds more closely, as in Spark.
        ("SELECT a UNION SELECT b INTERSECT SELECT c", "SELECT a UNION (SELECT b INTERSECT SELECT c)"),
        ("SELECT a INTERSECT SELECT b UNION SELECT c", "SELECT a INTERSECT SELECT b UNION SELECT c"),
        ("(SELECT a FROM f [NOW])", "SELECT a FROM f"),
        ("((SELECT a) UNION (SELECT b))", "(SELECT a) UNION (SELECT b)"),
        ("WITH x AS (SELECT 1 AS a) (SELECT a FROM x)", "WITH x AS (SELECT 1 AS a) SELECT a FROM x"),
        (
            "WITH x AS (SELECT 1 AS a), y AS (SELECT a FROM x) SELECT a FROM y UNION SELECT 2",
            "WITH x AS (SELECT 1 AS a), y AS (SELECT a FROM x) SELECT a FROM y UNION SELECT 2",
        ),
        (
            "SELECT * FROM f [NOW] LEFT SEMI JOIN g [NOW] ON f.x = g.x",
            "SELECT * FROM f LEFT SEMI JOIN g ON f.x = g.x",
        ),
        (
            "SELECT * FROM f [NOW] WHERE x IN (SELECT x FROM g [NOW]) AND EXISTS (SELECT 1 FROM h [NOW])",
            "SELECT * FROM f WHERE x IN (SELECT x FROM g) AND EXISTS(SELECT 1 FROM h)",
        ),
    ],
)
def test_queries_of_several_selects(cql: str, spark: str) -> None:
    bare = only(cql)
    named = only(f"CREATE QUERY q RETAIN 1 DAY AS\n  {cql} -- and no more")
    assert bare.select.sql(dialect="spark") == spark
    assert named.select == bare.select == only(named.select_sql).select
    assert (named.name, named.select_sql) == ("q", cql)


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

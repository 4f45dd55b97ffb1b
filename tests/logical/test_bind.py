"""Statements that cannot be bound: each gets its own message, its place, and a way out."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import functions as F

import windrow

W = "[RANGE 1 HOUR SLIDE 5 MINUTES]"

# statement (W is a window), what is wrong, the text that is underlined, the hint
REFUSED = [
    ("SELECT AVG(dep_dela) FROM flights W", "unknown column 'dep_dela'", "dep_dela", "did you mean dep_delay?"),
    ("SELECT AVG(zzz) FROM flights W", "unknown column 'zzz'", "zzz", "the columns are ts, origin, dep_delay"),
    ("SELECT AVG(f.delay) FROM flights W f", "'f' has no column 'delay'", "f.delay", "did you mean dep_delay?"),
    ("SELECT MAX(g.ts) FROM flights W f", "unknown relation or column 'g'", "g.ts", ""),
    ("SELECT COUNT(*) FROM flihts W", "unknown stream or table 'flihts'", "flihts", "did you mean flights?"),
    ("SELECT COUNT(*) FROM flights", "stream 'flights' needs a window", "flights", "write flights [RANGE"),
    ("SELECT origin FROM flights GROUP BY origin", "stream 'flights' needs a window", "flights", "write flights [RANGE"),
    ("SELECT ts, AVG(dep_delay) + 1 FROM flights", "stream 'flights' needs a window", "flights", "write flights [RANGE"),
    ("SELECT dep_dela FROM flights", "unknown column 'dep_dela'", "dep_dela", "did you mean dep_delay?"),
    ("SELECT ts, dep_delay AS ts FROM flights", "two result columns are called 'ts'", "ts", "alias"),
    ("SELECT *, 1 AS origin FROM flights", "two result columns are called 'origin'", "*", "alias"),
    ("SELECT ts AS _ts FROM flights", "the name '_ts' is Windrow's own", "ts AS _ts", "another alias"),
    ("SELECT * EXCEPT (ts) FROM flights", "* EXCEPT is not supported yet", "* EXCEPT (ts", "name the columns"),
    ("SELECT g.* FROM flights f", "unknown relation 'g'", "g.*", "there are f"),
    ("SELECT /*+ FINAL(daba) */ ts FROM flights", "FINAL has no meaning without a window", "FINAL", ""),
    ("SELECT ts FROM flights WHERE MAX(dep_delay) > 1", "MAX is an aggregate and cannot stand in WHERE", "MAX(dep_delay)", ""),
    ("SELECT rand() AS r FROM flights", "rand() changes by itself", "rand()", ""),
    ("SELECT dep_delay + origin > 1 AS x FROM flights WHERE dep_delay", "filter expression", "dep_delay", ""),
    ("SELECT *, COUNT(*) FROM flights W", "SELECT * has no meaning in an aggregate query", "*", ""),
    ("SELECT AVGG(dep_delay) FROM flights W", "unknown function 'AVGG'", "AVGG", "did you mean avg?"),
    ("SELECT COUNT(*) FROM airlines W", "'airlines' is a table, and a table has no window", W, ""),
    ("SELECT COUNT(*) FROM airlines", "'airlines' is a table; a continuous query", "airlines", "put the stream"),
    ("SELECT origin, COUNT(*) FROM flights W", "'origin' is neither grouped nor aggregated", "origin", "GROUP BY"),
    ("SELECT COUNT(*) FROM flights W WHERE SUM(dep_delay) > 3", "SUM is an aggregate and cannot stand in WHERE",
     "SUM(dep_delay)", "HAVING"),
    ("SELECT COUNT(*) FROM flights W GROUP BY MAX(origin)", "MAX is an aggregate and cannot stand in GROUP BY",
     "MAX(origin)", ""),
    ("SELECT COUNT(*) AS n, SUM(dep_delay) AS n FROM flights W", "two result columns are called 'n'",
     "COUNT(*) AS n", "alias"),
    ("SELECT COUNT(*) AS window_end FROM flights W", "two result columns are called 'window_end'",
     "COUNT(*) AS window_end", "alias"),
    ("SELECT VAR_POP(DISTINCT dep_delay) FROM flights W", "DISTINCT has no meaning in VAR_POP", "dep_delay", ""),
    ("SELECT MEDIAN(dep_delay) FROM flights [PARTITION BY origin ROWS 5 SLIDE 1] GROUP BY origin",
     "MEDIAN is not supported yet with PARTITION BY … ROWS",
     "MEDIAN(dep_delay)", "use a RANGE"),
    ("SELECT REGR_SLOPE(dep_delay, 1) FROM flights W", "REGR_SLOPE over a window is not supported yet",
     "REGR_SLOPE", ""),
    ("SELECT SUM(MAX(dep_delay)) FROM flights W", "an aggregate inside SUM", "SUM(MAX(dep_delay))", ""),
    ("SELECT SUM(ts) FROM flights W", "SUM(flights.ts): cannot add", "SUM(ts)", ""),
    ("SELECT SUM(dep_delay > 1) FROM flights W", "requires the \"NUMERIC\"", "SUM(dep_delay > 1)", ""),
    ("SELECT MAX(array(1, 2)) FROM flights W", "cannot be compared over windows", "MAX(array(1, 2))", ""),
    ("SELECT FIRST(array(1, 2)) FROM flights W", "FIRST(array(1, 2)): values of type list", "FIRST(array(1, 2))", ""),
    ("SELECT MAX_BY(map(1, 2), dep_delay) FROM flights W", "cannot be compared over windows",
     "MAX_BY(map(1, 2), dep_delay)", ""),
    ("SELECT MIN_BY(dep_delay, map(1, 2)) FROM flights W", "does not support ordering on type",
     "MIN_BY(dep_delay, map(1, 2))", ""),
    ("SELECT MAX_BY(dep_delay) FROM flights W", "MAX_BY over a window takes 2 arguments", "MAX_BY(dep_delay)", ""),
    ("SELECT MAX(dep_delay, 1) FROM flights W", "MAX over a window takes one argument", "MAX(dep_delay, 1)", ""),
    ("SELECT COVAR_POP(dep_delay, ts) FROM flights W", "requires the \"DOUBLE\" type", "COVAR_POP(dep_delay, ts)", ""),
    ("SELECT SKEWNESS(dep_delay > 1) FROM flights W", "requires the \"DOUBLE\" type", "SKEWNESS(dep_delay > 1)", ""),
    ("SELECT PRODUCT(origin) FROM flights W", "PRODUCT(flights.origin): cannot multiply values of type string",
     "PRODUCT(origin)", ""),
    ("SELECT PRODUCT(dep_delay) FILTER (WHERE dep_delay) FROM flights W", "expected a FILTER expression of the BOOLEAN type",
     "PRODUCT(dep_delay) FILTER (WHERE dep_delay)", ""),
    ("SELECT GEOMETRIC_MEAN(dep_delay > 1) FROM flights W", "cannot multiply values of type bool",
     "GEOMETRIC_MEAN(dep_delay > 1)", ""),
    ("SELECT SUM_OF_SQUARES(origin) FROM flights W", "cannot square values of type string",
     "SUM_OF_SQUARES(origin)", ""),
    ("SELECT RANGE(origin) FROM flights W", "requires the input type", "RANGE(origin)", ""),
    ("SELECT BIT_XOR(dep_delay) FROM flights W", "requires the \"INTEGRAL\" type", "BIT_XOR(dep_delay)", ""),
    ("SELECT BOOL_AND(dep_delay) FROM flights W", "requires the \"BOOLEAN\" type", "BOOL_AND(dep_delay)", ""),
    ("SELECT ANY(origin) FROM flights W", "values of type string are not booleans", "ANY(origin)", ""),
    ("SELECT COUNT_IF(origin) FROM flights W", "values of type string are not booleans", "COUNT_IF(origin)", ""),
    ("SELECT MAX_BY(origin, dep_delay) IGNORE NULLS FROM flights W", "MAX_BY ignores NULLs in any case",
     "MAX_BY(origin, dep_delay)", "leave IGNORE NULLS out"),
    ("SELECT /*+ FINAL(slick_deque_non_inv) */ LAST(origin) FROM flights W",
     "slick_deque_non_inv cannot compute LAST(flights.origin): it needs an operation that returns one",
     "slick_deque_non_inv", ""),
    ("SELECT COUNT(*) FROM flights W WHERE dep_delay > rand()", "rand() changes by itself", "rand()", ""),
    ("SELECT COUNT(*), now() FROM flights W", "changes by itself", "now()", ""),
    *[(f"SELECT MAX({call}) FROM flights W", f"{name}() calls any code of the JVM's", underlined, "register a function")
      for name, call, underlined in [
        ("reflect", "reflect('java.lang.System', 'nanoTime')", "reflect('java.lang.System', 'nanoTime')"),
        ("java_method", "JAVA_METHOD('java.lang.System', 'exit', 1)", "JAVA_METHOD('java.lang.System', 'exit', 1)"),
        ("try_reflect", "1 + `try_reflect`('a', 'b')", "`try_reflect`('a', 'b')"),
        ("reflect", "builtin.reflect('a', 'b')", "reflect('a', 'b')"),
    ]],
    ("SELECT COUNT(*) FROM flights W WHERE version() = origin", "version() changes by itself", "version()", ""),
    ("SELECT MAX(current_path()) FROM flights W", "current_path() changes by itself", "current_path()", ""),
    ("SELECT COUNT(*) FROM flights W WHERE dep_delay > unix_timestamp()", "current_timestamp() changes by itself",
     "unix_timestamp()", ""),
    ("SELECT COUNT(*) FROM flights W WHERE ts > moment()", "current_timestamp() changes by itself", "ts > moment()", ""),
    ("SELECT SUM(at_random(dep_delay)) FROM flights W", "at_random() changes by itself", "SUM(at_random(dep_delay))", ""),
    *[(f"SELECT COUNT(*) FROM flights W WHERE {condition}", f"'{date}' is a {kind} here, which changes by itself",
       f"'{date}'", "write the date or the time out")
      for condition, date, kind in [
        ("ts > TIMESTAMP 'now'", "now", "timestamp"),
        ("DATE(ts) = DATE 'today'", "today", "date"),
        ("ts > CAST('Yesterday' AS TIMESTAMP)", "Yesterday", "timestamp"),
        ("ts > 'tomorrow'::timestamp", "tomorrow", "timestamp"),
        ("ts > TRY_CAST(' now ' AS TIMESTAMP_NTZ)", " now ", "timestamp_ntz"),
        ("ts > to_timestamp('now')", "now", "timestamp"),
        ("ts > try_to_timestamp('now')", "now", "timestamp"),
        ("DATE(ts) > to_date('today')", "today", "date"),
        ("DATE(ts) > date('today')", "today", "date"),
        ("ts > 'yesterday'", "yesterday", "timestamp"),
        ("NOT (ts <=> 'TODAY Europe/Berlin')", "TODAY Europe/Berlin", "timestamp"),
        ("ts BETWEEN '2000-01-01' AND 'today+01:00'", "today+01:00", "timestamp"),
        ("ts IN ('2000-01-01', 'today')", "today", "timestamp"),
        ("CASE WHEN dep_delay > 1 THEN ts ELSE 'now' END IS NULL", "now", "timestamp"),
        ("coalesce(ts, 'now') > ts", "now", "timestamp"),
        ("datediff(ts, 'today') < 7", "today", "date"),
        ("origin = 'today' AND year('now') = 2000", "now", "date"),
        ("size(transform(array(ts), x -> x > 'today')) = 1", "today", "timestamp"),
    ]],
    ("SELECT COUNT(*) FROM flights W WHERE ts > concat('to', 'day')", "'today' is a timestamp here",
     "ts > concat('to', 'day')", "write"),
    ("SELECT COUNT(*) FROM flights W JOIN airlines a ON a.name = 'x' AND ts > 'today'", "'today' is a timestamp here",
     "'today'", "write"),
    ("SELECT COUNT(*) FROM flights W GROUP BY ts > 'today'", "'today' is a timestamp here", "'today'", "write"),
    ("SELECT SUM(IF(ts > 'today', 1, 0)) FROM flights W", "'today' is a timestamp here", "'today'", "write"),
    ("SELECT SUM(1) FILTER (WHERE ts > 'today') FROM flights W", "'today' is a timestamp here", "'today'", "write"),
    ("SELECT TOP_K(origin, 2) FILTER (WHERE ts > 'today') FROM flights W", "'today' is a timestamp here", "'today'",
     "write"),
    ("SELECT TOP_K(origin, 2) FILTER (WHERE dep_delay) FROM flights W", "FILTER expression of the BOOLEAN type",
     "TOP_K(origin, 2) FILTER (WHERE dep_delay)", ""),
    ("SELECT MAX(ts) > 'today' AS fresh FROM flights W", "'today' is a timestamp here", "'today'", "write"),
    ("SELECT window_end FROM flights W GROUP BY origin HAVING MAX(ts) > 'today'", "'today' is a timestamp here",
     "'today'", "write"),
    ("SELECT COUNT(*) FROM flights W HAVING window_end > 'today'", "'today' is a timestamp here", "'today'", "write"),
    ("SELECT MAX(origin) FROM flights [PARTITION BY ts > 'today' ROWS 5 SLIDE 1] GROUP BY ts > 'today'",
     "'today' is a timestamp here", "'today'", "write"),
    ("SELECT COUNT(*) FROM flights W LIMIT 3", "LIMIT has no meaning", "3", ""),
    ("SELECT COUNT(*) FROM flights W ORDER BY 1", "ORDER BY has no meaning", "1", ""),
    ("SELECT DISTINCT MAX(origin) FROM flights [ROWS 5 SLIDE 1]", "DISTINCT is supported over windows of time only",
     "DISTINCT", ""),
    ("SELECT DISTINCT origin FROM flights", "DISTINCT is supported over windows of time only", "DISTINCT", ""),
    ("SELECT ISTREAM origin FROM flights", "ISTREAM needs a window of time", "ISTREAM", "leave ISTREAM out"),
    ("SELECT DSTREAM MAX(origin) FROM flights [ROWS 5 SLIDE 1]", "DSTREAM needs a window of time", "DSTREAM", ""),
    ("SELECT COUNT(*) OVER () FROM flights W", "OVER is not supported on streams", "COUNT(*) OVER ()", ""),
    ("SELECT COUNT(*) FROM flights W JOIN airlines W ON true", "'airlines' is a table, and a table has no window",
     W, ""),
    ("SELECT COUNT(*) FROM flights W RIGHT JOIN airlines a ON true", "RIGHT JOIN is not supported yet", "airlines",
     "LEFT JOIN"),
    ("SELECT carrier, COUNT(*) FROM flights W JOIN airlines ON true GROUP BY carrier",
     "column 'carrier' is in flights and in airlines", "carrier", "write flights.carrier or airlines.carrier"),
    ("SELECT COUNT(*) FROM flights W JOIN airlines flights ON true", "two relations are called 'flights'",
     "airlines", "alias"),
    ("SELECT /*+ FINAL(subtract_on_evict) */ MAX(dep_delay) FROM flights W",
     "subtract_on_evict cannot compute MAX(flights.dep_delay): it needs an inverse", "subtract_on_evict", ""),
    ("SELECT /*+ FINAL(slick_deck) */ MAX(dep_delay) FROM flights W", "did you mean slick_deque_inv?",
     "slick_deck", ""),
    ("SELECT /*+ FINAL(slick_deque_inv) */ MAX(dep_delay) FROM flights W",
     "slick_deque_inv cannot compute MAX(flights.dep_delay): it needs an inverse", "slick_deque_inv", ""),
    ("SELECT /*+ FINAL(slick_deque_non_inv) */ SUM(dep_delay) FROM flights W",
     "slick_deque_non_inv cannot compute SUM(flights.dep_delay): it needs an operation that returns one",
     "slick_deque_non_inv", ""),
    ("SELECT /*+ FINAL(blocked_two_stacks) */ origin, SUM(dep_delay) "
     "FROM flights [PARTITION BY origin ROWS 9 SLIDE 1] GROUP BY origin",
     "blocked_two_stacks cannot compute SUM(flights.dep_delay): it moves the windows of all keys together",
     "blocked_two_stacks", ""),
    ("SELECT /*+ BROADCAST(x) */ COUNT(*) FROM flights W", "unknown hint BROADCAST", "BROADCAST(x)", "FINAL"),
    ("SELECT COUNT(*) FROM flights W WHERE origin", "is not a boolean", "origin", ""),
    ("SELECT COUNT(*) FROM flights W HAVING MAX(origin)", "is not a boolean", "MAX(origin)", ""),
    ("SELECT COUNT(*) AS _query FROM flights W", "the name '_query' is Windrow's own", "COUNT(*) AS _query", "alias"),
    ("SELECT COUNT(*) AS _Epoch FROM flights W", "the name '_Epoch' is Windrow's own", "COUNT(*) AS _Epoch", "alias"),
    ("SELECT origin AS _OP, COUNT(*) FROM flights W GROUP BY 1", "the name '_OP' is Windrow's own", "origin AS _OP",
     "alias"),
    ("SELECT MAX(ts) AS `_ts` FROM flights W", "the name '_ts' is Windrow's own", "MAX(ts) AS `_ts`", "alias"),
    ("SELECT MAX(ts) AS _exp FROM flights [ROWS 5 SLIDE 1]", "the name '_exp' is Windrow's own", "MAX(ts) AS _exp",
     "alias"),
    ("SELECT COUNT(*) AS _late_by FROM flights W", "the name '_late_by' is Windrow's own", "COUNT(*) AS _late_by",
     "alias"),
    ("SELECT window_start, COUNT(*) FROM results W GROUP BY window_start",
     "'window_start' is a column of the stream, and the name of the window's own", "window_start", "AS with another"),
    ("SELECT COUNT(*) FROM flights W f JOIN airlines flights ON true", "two relations are called 'flights'",
     "airlines", "alias"),
    ("SELECT 1 AS one FROM flights [ROWS 5 SLIDE 1]", "the query neither groups nor aggregates", "1 AS one", ""),
    ("SELECT COUNT(*) FROM flights W GROUP BY 2", "the SELECT list has no item 2", "2", ""),
    ("SELECT COUNT(*) FROM flights W GROUP BY ROLLUP(origin)", "GROUP BY ROLLUP is not supported yet", "origin", ""),
    ("SELECT COUNT(*) FROM flights W GROUP BY array(origin)", "cannot be grouped yet", "array(origin)", ""),
    ("SELECT COUNT(*) FROM flights W WHERE origin IN (SELECT name FROM airlines)",
     "'airlines' is a table, and nothing here is a stream", "airlines", "JOIN the table"),
    ("WITH x AS (SELECT 1) SELECT COUNT(*) FROM flights W", "'x' is used nowhere", "x", "take it away"),
    ("SELECT SUM(dep_delay) FILTER (WHERE MAX(dep_delay) = 1) FROM flights W", "an aggregate inside SUM",
     "SUM(dep_delay)", ""),
    ("SELECT SUM(dep_delay) IGNORE NULLS FROM flights W", "SUM ignores NULLs in any case", "SUM(dep_delay)",
     "leave IGNORE NULLS out"),
    ("SELECT dep_delay + COUNT(*) FROM flights W", "'dep_delay' is neither grouped nor aggregated", "dep_delay", ""),
    ("SELECT COUNT(*) AS n, ROUND(MAX(ts), 2) AS r FROM flights W", "requires the \"NUMERIC\"",
     "ROUND(MAX(ts), 2) AS r", ""),
    ("SELECT COUNT(*) FROM flights [ROWS 5 SLIDE 1] JOIN airlines ON true",
     "joins behind a window of ROWS are not supported yet", "airlines", "RANGE"),
    ("SELECT COUNT(*) FROM flights [PARTITION BY origin ROWS 5 SLIDE 1]", "GROUP BY must name the same",
     "[PARTITION BY origin ROWS 5 SLIDE 1]", "write GROUP BY origin"),
    ("SELECT COUNT(*) FROM flights [PARTITION BY origin ROWS 5 SLIDE 1] GROUP BY carrier, origin",
     "GROUP BY must name the same", "carrier, origin", "write GROUP BY origin"),
    ("SELECT COUNT(*) FROM flights [PARTITION BY origi ROWS 5 SLIDE 1] GROUP BY origin",
     "unknown column 'origi'", "origi", "did you mean origin?"),
    ("SELECT COUNT(*) FROM flights [PARTITION BY MAX(origin) ROWS 5 SLIDE 1] GROUP BY origin",
     "an aggregate cannot stand in PARTITION BY", "MAX(origin)", ""),
    ("SELECT COUNT(*) FROM flights [PARTITION BY uper(origin) ROWS 5 SLIDE 1] GROUP BY origin",
     "unknown function 'uper'", "uper", "did you mean upper?"),
    ("SELECT COUNT(*) FROM flights [PARTITION BY rand() ROWS 5 SLIDE 1] GROUP BY origin",
     "rand() changes by itself", "rand()", ""),
    ("SELECT COUNT(*) AS window_row FROM flights [ROWS 5 SLIDE 1]", "two result columns are called 'window_row'",
     "COUNT(*) AS window_row", "alias"),
    ("SELECT COUNT(*), window_row FROM flights W", "unknown column 'window_row'", "window_row", ""),
    ("SELECT COUNT(*) FROM airlines [ROWS 5 SLIDE 1]", "'airlines' is a table, and a table has no window",
     "[ROWS 5 SLIDE 1]", ""),
]  # fmt: skip


@pytest.fixture(scope="module")
def engine(spark):
    flights = spark.createDataFrame(
        [], "ts TIMESTAMP, origin STRING, dep_delay DOUBLE, carrier STRING, `odd name` INT"
    )
    spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION moment() RETURNS TIMESTAMP RETURN current_timestamp()")
    spark.udf.register("at_random", F.udf(lambda x: x, "double").asNondeterministic())
    with windrow.Engine(spark=spark) as engine:
        engine.stream("flights", flights, timestamp="ts")
        results = spark.createDataFrame([], "window_start TIMESTAMP, n BIGINT")
        engine.stream("results", results, timestamp="window_start")
        engine.table("airlines", spark.createDataFrame([], "carrier STRING, name STRING"))
        yield engine
    for function in ("moment", "at_random"):
        spark.sql(f"DROP TEMPORARY FUNCTION {function}")


@pytest.mark.parametrize(
    ("statement", "problem", "underlined", "hint"), REFUSED, ids=[r[0][:60] for r in REFUSED]
)
def test_refusals_say_what_where_and_what_to_do(engine, statement, problem, underlined, hint):
    with pytest.raises(windrow.StatementError) as caught:
        engine.query("q", re.sub(r"\bW\b", W, statement))
    error = caught.value
    assert problem.lower() in str(error).lower()
    assert error.text[error.start : error.end] == underlined
    assert hint in error.hint
    assert "q" not in engine.queries


@pytest.mark.parametrize(
    "statement",
    [
        f"SELECT f.origin AS o, ROUND(AVG(dep_delay), 2) AS r FROM flights {W} AS f WHERE dep_delay > 0 GROUP BY ORIGIN",
        f"SELECT date_trunc('HOUR', ts) AS h, upper(origin), COUNT(*) FROM flights {W} GROUP BY h, upper(origin)",
        f"SELECT a.name, COUNT(1) FROM flights {W} f LEFT JOIN airlines a ON f.carrier = a.carrier GROUP BY 1",
        f"SELECT COUNT(*) AS n FROM flights {W}, airlines WHERE flights.carrier = airlines.carrier",
        f"SELECT window_end AS e, COUNT(*) AS n, window_start FROM flights {W} HAVING window_end > TIMESTAMP '2000-01-01'",
        f"SELECT origin FROM flights {W} GROUP BY origin",
        f"SELECT COUNT(*) AS n FROM flights {W} WHERE origin = 'today' AND ts > 'epoch' AND origin IN ('now', 'yesterday')",
        f"SELECT MAX('now') AS today, MAX(TRY_CAST('nowhere' AS DATE)) AS d FROM flights {W} WHERE ts > DATE 'epoch'",
        f"SELECT MAX(unix_timestamp(ts)) AS s, MAX(convert_timezone('Asia/Tokyo', ts)) AS t FROM flights {W}",
        f"SELECT COUNT(*) AS epoch, MAX(ts) AS ts, MAX(origin) AS _file FROM flights {W}",
        f"SELECT origin AS o, COUNT(*) AS n FROM flights {W} GROUP BY o HAVING n + 1 > 3 AND o <> 'x'",
        f"SELECT SUM(`odd name`) AS `odd sum` FROM flights {W}",
        f"SELECT MAX(aggregate(transform(array(1, 2), x -> x + 1), 0, (a, b) -> a + b)) AS m FROM flights {W}",
        f"SELECT SUM(TRY_CAST(origin AS INT)) AS t, SUM(CAST(dep_delay AS INT)) AS c FROM flights {W}",
        "SELECT window_row AS r, MAX(origin) AS m FROM flights [ROWS 5 SLIDE 3] HAVING window_row > 10",
        "SELECT carrier, Origin, COUNT(*) FROM flights [PARTITION BY origin, f.carrier ROWS 5 SLIDE 3] f GROUP BY 1, 2",
        "SELECT upper(origin) AS o FROM flights [PARTITION BY UPPER(origin) ROWS 5 SLIDE 3] GROUP BY o",
    ],
)
def test_spark_sql_that_is_accepted(engine, statement):
    engine.query("accepted", statement)
    assert "aggregate" in engine.explain()
    engine.drop("accepted")


def test_try_cast_stays_a_try_cast(engine):
    """sqlglot reads CAST and TRY_CAST of Spark alike; the statement that Spark runs must not."""
    engine.query(
        "casts",
        f"SELECT SUM(TRY_CAST(origin AS INT)) AS t, MIN(CAST(dep_delay AS INT)) AS c FROM flights {W}",
    )
    sql = engine.explain(sql=True)
    engine.drop("casts")
    assert "sum(TRY_CAST(`flights`.`origin` AS INT))" in sql
    assert "min(CAST(`flights`.`dep_delay` AS INT))" in sql


def test_queries_with_other_aliases_share_a_pass(engine):
    engine.query("a", f"SELECT origin, SUM(dep_delay) AS s FROM flights {W} GROUP BY origin")
    engine.query("b", f"SELECT f.Origin AS o, AVG(f.dep_delay) AS s FROM flights {W} AS f GROUP BY f.ORIGIN")
    plan = engine.explain()
    engine.drop("a")
    engine.drop("b")
    assert "pass 1 of 1 over flights (in the JVM), shared by 2 queries" in plan
    assert plan.count("lift sum(CAST(dep_delay AS DOUBLE)), count(dep_delay) by origin") == 1


def test_the_plan_of_windows_of_rows(engine):
    engine.query("rows", "SELECT MAX(dep_delay) AS m FROM flights [ROWS 100 SLIDE 10] WHERE origin = 'JFK'")
    engine.query(
        "keys", "SELECT origin, COUNT(*) AS n FROM flights [PARTITION BY origin ROWS 9 SLIDE 2] GROUP BY 1"
    )
    # Which algorithm it is depends on what was measured.
    plan = re.sub(r"final: \w+ for (\w+) \(\d+ ns a slide.*\)", r"final: … for \1", engine.explain())
    engine.drop("rows")
    engine.drop("keys")
    assert (
        plan
        == """\
stream flights: 2 queries, 2 passes over each batch
  2 queries with a state of their own (windows of rows): rows, keys
pass 1 of 2 over flights (in the JVM)
  sort rows by event time, then by origin, dep_delay
  collect dep_delay of each row
  query rows
    └ aggregate MAX(dep_delay) over [ROWS 100 SLIDE 10]
      └ select origin = 'JFK'
        └ number rows in stream order
          └ scan flights: ts, origin, dep_delay
    slices: panes, 10 a window, cut every 10 rows
    final: … for add_integers
    final: … for greatest
pass 2 of 2 over flights (in the JVM)
  sort rows by event time, then by origin
  collect origin of each row
  query keys
    └ aggregate COUNT(*) by origin over [PARTITION BY origin ROWS 9 SLIDE 2]
      └ number rows by origin in stream order
        └ scan flights: ts, origin
    slices: cutty, 5 a window, cut every 2 rows + 1 row of each key
    final: … for add_integers
costs: as shipped; `windrow calibrate HOME` measures this machine"""
    )

"""Windows of rows: DuckDB and pandas recompute them, in batch, in any micro-batches and across restarts."""

from __future__ import annotations

import itertools
import math
import random
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import windrow
from tests.harness.micro_batches import feeding
from tests.oracle import same
from tests.streams import Files

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    {
        "ts": pa.timestamp("us", "UTC"),
        "k": pa.string(),
        "i": pa.int32(),
        "d": pa.float64(),
        "m": pa.decimal128(7, 2),
        "s": pa.string(),
    }
)
AGGREGATES = {
    "n": "COUNT(*)", "some": "COUNT(d)", "sum_i": "SUM(i)", "sum_d": "SUM(d)", "sum_m": "SUM(m)",
    "avg_i": "AVG(i)", "avg_d": "AVG(d)", "min_i": "MIN(i)", "max_i": "MAX(i)", "min_d": "MIN(d)",
    "max_d": "MAX(d)", "min_s": "MIN(s)", "max_s": "MAX(s)", "dev": "STDDEV(i)",
}  # fmt: skip
SIZES = list(itertools.product([1, 2, 7, 100], [1, 3, 10]))
WHERE = "i > -40 OR s = 'é'"
KINDS = {
    "all": ("", ""),
    "groups": ("", "k"),
    "keys": ("PARTITION BY k ", "k"),
}


def data(rng, rows, span):
    """Rows with ties, NULLs, NaN and infinities, half of which WHERE refuses."""

    def maybe(value):
        return rng.choice([None, value, value, value])

    return [
        {
            "ts": EPOCH + timedelta(seconds=rng.randrange(-span, span)),
            "k": maybe(rng.choice("abcdé")),
            "i": maybe(rng.randrange(-90, 10)),
            "d": maybe(rng.choice([rng.uniform(-9, 9), 1.0, float("nan"), float("inf"), -0.0])),
            "m": maybe(pa.scalar(rng.randrange(-999, 999)).cast(pa.decimal128(21, 2)).as_py()),
            "s": maybe(rng.choice(["", "a", "é", "Z", "😀"])),
        }
        for _ in range(rows)
    ]


def statement(kind, rows, slide, where):
    partition, group = KINDS[kind]
    items = ", ".join(
        [*([group] if group else []), *(f"{sql} AS {name}" for name, sql in AGGREGATES.items())]
    )
    condition = f" WHERE {where}" if where else ""
    grouped = f" GROUP BY {group}" if group else ""
    return f"SELECT {items} FROM events [{partition}ROWS {rows} SLIDE {slide}]{condition}{grouped}"


def recomputed(batches, kind, rows, slide, where):
    """DuckDB's answer, from the definition: number the rows, take the last ones at every m-th."""
    table = pa.Table.from_pylist(
        [{**row, "batch": number} for number, batch in enumerate(batches) for row in batch],
        schema=SCHEMA.append(pa.field("batch", pa.int32())),
    )
    partition, group = KINDS[kind]
    stream = table.set_column(0, "ts", table["ts"].cast(pa.int64()))  # noqa: F841, DuckDB finds it by name
    own = "AND r.k IS NOT DISTINCT FROM e.k" if partition else ""
    in_use = ([group] if group else []) + ["i", "d", "m", "s"]
    ties = ", ".join(f"{column} NULLS FIRST" for column in in_use)
    aggregates = ", ".join(f"{sql} AS {name}" for name, sql in AGGREGATES.items())
    found = duckdb.sql(f"""
        WITH numbered AS (
            SELECT *, row_number() OVER ({partition} ORDER BY ts, batch, {ties}) AS number FROM stream),
        windows AS (
            SELECT e.number AS window_row, min(r.ts) AS window_start, e.ts AS window_end, e.k
            FROM numbered e JOIN numbered r ON r.number BETWEEN e.number - {rows - 1} AND e.number {own}
            WHERE e.number % {slide} = 0 GROUP BY ALL),
        held AS (
            SELECT e.window_row, window_start, window_end, r.* EXCLUDE (ts, batch, number)
            FROM windows e JOIN numbered r
            ON r.number BETWEEN e.window_row - {rows - 1} AND e.window_row {own})
        SELECT window_row, {group or "NULL AS k"}, window_start, window_end, {aggregates} FROM held
        WHERE {where or "true"} GROUP BY window_row, window_start, window_end {", k" if group else ""}
    """)
    return {row[:2]: row[2:] for row in found.fetchall()}


def by_place(tables):
    got = {}
    for table in tables:
        times = [table[name].cast(pa.int64()).to_pylist() for name in ("window_start", "window_end")]
        answers = zip(*times, *(table[name].to_pylist() for name in AGGREGATES), strict=True)
        keys = table["k"].to_pylist() if "k" in table.column_names else [None] * len(table)
        for place, answer in zip(
            zip(table["window_row"].to_pylist(), keys, strict=True), answers, strict=True
        ):
            assert place not in got, "a window was answered twice"
            got[place] = answer
    return got


def assert_same(got, expected, what):
    assert got.keys() == expected.keys(), what
    for place in got:
        for name, a, b in zip(
            ["window_start", "window_end", *AGGREGATES], got[place], expected[place], strict=True
        ):
            alike = math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-7) if type(a) is type(b) is float else a == b
            assert alike or (a != a and b != b), f"{name} of {what} at {place}: {a!r}, DuckDB says {b!r}"


def frame(spark, rows):
    return spark.createDataFrame(pa.Table.from_pylist(rows, SCHEMA))


def collecting(engine, kinds=KINDS, sizes=SIZES, wheres=("", WHERE)):
    """Every query with a sink: what it has been given, by query."""
    given = {}
    for kind, (rows, slide), where in itertools.product(kinds, sizes, wheres):
        tables = given[kind, rows, slide, where] = []
        name = f"{kind}_{rows}_{slide}{'_where' if where else ''}"
        engine.query(
            name, statement(kind, rows, slide, where), sink=lambda epoch, table, to=tables: to.append(table)
        )
    return given


def test_a_bounded_run_equals_duckdb(spark):
    rows = data(random.Random(7), 700, 120)
    with windrow.Engine() as engine:
        engine.stream("events", frame(spark, rows), timestamp="ts")
        given = collecting(engine)
        assert "pass 1 of 6 over events (in the JVM), shared by 12 queries" in engine.explain()
        engine.run()
        compared = 0
        for what, tables in given.items():
            got = by_place(tables)
            assert_same(got, recomputed([rows], *what), what)
            compared += len(got)
        assert compared > 20_000
        assert engine.results("keys_7_3").columns[:4] == ["window_start", "window_end", "window_row", "k"]
        assert engine.results("keys_7_3").count() == len(by_place(given["keys", 7, 3, ""]))


def test_the_rows_of_each_key_as_pandas_has_them(spark):
    rng = random.Random(11)
    rows = pd.DataFrame(
        {"seconds": range(500), "k": rng.choices("abc", k=500), "v": rng.choices(range(99), k=500)}
    )
    df = spark.createDataFrame(rows).selectExpr("timestamp_seconds(seconds) AS ts", "k", "v")
    with windrow.Engine() as engine:
        engine.stream("events", df, timestamp="ts")
        engine.query(
            "q",
            "SELECT k, SUM(v) AS v, MAX(v) AS most FROM events [PARTITION BY k ROWS 7 SLIDE 3] GROUP BY k",
        )
        engine.run()
        got = engine.results("q").toPandas().sort_values(["k", "window_row"])
    rolling = rows.groupby("k")["v"].rolling(7, min_periods=1)
    expected = rolling.agg(["sum", "max"]).groupby("k").nth(slice(2, None, 3)).reset_index()
    assert got["v"].tolist() == expected["sum"].tolist()
    assert got["most"].tolist() == expected["max"].tolist()
    assert got["k"].tolist() == expected["k"].tolist()
    assert (got["window_end"] - pd.Timestamp(0)).dt.total_seconds().tolist() == expected["level_1"].tolist()


def test_values_and_types_are_those_of_sparks_own_over(spark):
    """Where rows have distinct event times, Spark has such windows too; not on a stream, and not sliding."""
    aggregates = AGGREGATES | {
        "var": "VARIANCE(d)",
        "devp": "STDDEV_POP(d)",
        "avg_m": "AVG(m)",
        "last": "MAX(ts)",
    }
    rows = [
        {**row, "ts": EPOCH + timedelta(seconds=i)} for i, row in enumerate(data(random.Random(3), 300, 9))
    ]
    df = frame(spark, rows)
    listed = ", ".join(f"{sql} AS {name}" for name, sql in aggregates.items())
    with windrow.Engine() as engine:
        engine.stream("events", df, timestamp="ts")
        engine.query("q", f"SELECT {listed} FROM events [ROWS 7 SLIDE 3]")
        engine.run()
        got = engine.results("q").orderBy("window_row")
        frames = "OVER (ORDER BY ts ROWS BETWEEN 6 PRECEDING AND CURRENT ROW)"
        over = [f"{sql} {frames} AS {name}" for name, sql in aggregates.items()]
        ends = [
            f"MIN(ts) {frames} AS window_start",
            "ts AS window_end",
            "row_number() OVER (ORDER BY ts) AS window_row",
        ]
        expected = df.selectExpr(*ends, *over).where("window_row % 3 = 0").orderBy("window_row")
        expected = expected.withColumn("window_row", expected.window_row.cast("bigint"))
        assert [(f.name, f.dataType) for f in got.schema] == [(f.name, f.dataType) for f in expected.schema]
        answers = list(zip(got.collect(), expected.collect(), strict=True))
    assert len(answers) == 100
    for row, right in answers:
        for name in row.asDict():
            assert same(row[name], right[name], 1e4), (
                f"{name} at {row.window_row}: {row[name]}, Spark: {right[name]}"
            )


@pytest.mark.parametrize(("seed", "delay", "restarts"), [(1, 40, True), (2, 0, False)])
def test_any_micro_batches_and_restarts_equal_duckdb_over_rows_that_were_not_late(
    spark, tmp_path, seed, delay, restarts
):
    """Out of order within the delay, late beyond it; silences move the watermark with the clock."""
    rng = random.Random(seed)
    batches = [data(rng, 60, 30) for _ in range(5)]
    for number, batch in enumerate(batches):
        for row in batch:
            row["ts"] += timedelta(seconds=35 * number)
    silences = [None, 3, None, 30, None]
    sizes = [(1, 1), (7, 3), (100, 10), (2, 10)]
    now, answers = [0.0], {}
    with ExitStack() as held:
        for number, (batch, silence) in enumerate(zip(batches, silences, strict=True)):
            if number == 0 or restarts:
                held.close()
                engine = windrow.Engine(tmp_path / "home", spark=spark)
                engine.stream(
                    "events",
                    frame(spark, []),
                    timestamp="ts",
                    delay=f"{delay} seconds",
                    idle_timeout="2 seconds",
                )
                given = collecting(engine, sizes=sizes, wheres=[WHERE])
                feed = held.enter_context(feeding(engine, "events", clock=lambda: now[0]))
            feed.batch(frame(spark, batch), number)
            if silence is not None:
                now[0] += silence
                feed.beat()
            if number == 4:
                feed.seal()
            if number == 4 or restarts:
                for what, tables in given.items():
                    answers.setdefault(what, []).extend(tables)
    in_time, late = split_late(batches, silences, timedelta(seconds=delay))
    assert engine.progress("events").late == late
    assert (late > 0) == (delay < 60)
    for what, tables in answers.items():
        assert_same(by_place(tables), recomputed(in_time, *what), what)


def split_late(batches, silences, delay):
    """The definition: late is below the watermark that the batches and silences before have left."""
    kept, late, latest, watermark = [], 0, None, None
    for batch, silence in zip(batches, silences, strict=True):
        good = [row for row in batch if watermark is None or row["ts"] >= watermark]
        late += len(batch) - len(good)
        kept.append(good)
        latest = max([row["ts"] for row in good] + ([latest] if latest else []))
        watermark = max([latest - delay] + ([watermark] if watermark else []))
        if silence is not None and silence >= 2:
            watermark = max(watermark, latest + timedelta(seconds=silence) - delay)
    return kept, late


QUERIES = {
    "rows": "SELECT k, SUM(v) AS total, MAX(x) AS x FROM events [ROWS 70 SLIDE 30] WHERE k > 0 GROUP BY k",
    "keys": "SELECT k, SUM(v) AS total, COUNT(*) AS n FROM events [PARTITION BY k ROWS 20 SLIDE 7] GROUP BY k",
    "time": "SELECT COUNT(*) AS n, MIN(x) AS x, SUM(v) AS total FROM events [RANGE 5 SECONDS SLIDE 2 SECONDS]",
}


def test_a_stream_of_files_that_is_stopped_and_started_equals_one_that_never_was(spark, tmp_path):
    """Also over the same stream: a window of time, and a query that comes when the stream has run."""

    def engine_on(home, files):
        engine = windrow.Engine(home, spark=spark)
        engine.stream(
            "events", files.path, timestamp="ts", delay="4 seconds", options={"maxFilesPerTrigger": "1"}
        )
        for name, sql in QUERIES.items():
            engine.query(name, sql)
        return engine

    files = Files(spark, tmp_path / "in")
    for first in (0, 10):  # the second begins with rows that are late
        files.add(first, first + 17)
        engine_on(tmp_path / "stopped", files).run(seal=False)
    later = windrow.Engine(tmp_path / "stopped", spark=spark)
    later.query("later", "SELECT COUNT(*) AS n FROM events [ROWS 1000 SLIDE 10]")
    files.add(40, 50)
    later.run(seal=True)
    straight = engine_on(tmp_path / "straight", files)
    straight.run(seal=True)
    for name in QUERIES:
        once, again = (sorted(engine.results(name).collect()) for engine in (straight, later))
        assert once == again, name
        assert len(once) > 5
        if name == "rows":  # every row that was not late has been counted
            progress = straight.progress("events")
            assert progress.late > 0
            assert max(row.window_row for row in once) == (progress.rows - progress.late) // 30 * 30
    late_comer = later.results("later").orderBy("window_row").collect()
    assert [row.n for row in late_comer] == [10 * (i + 1) for i in range(10)]
    assert later.results("later").columns == ["window_start", "window_end", "window_row", "n"]


def test_having_expressions_timestamps_without_zone_and_float_keys(spark):
    df = spark.range(40).selectExpr(
        "TIMESTAMP_NTZ '2024-03-10 01:59:50' + make_interval(0,0,0,0,0,0,id) AS ts",
        "id",
        "map('a', id % 3) AS tags",
    )
    sql = """SELECT window_row + 1 AS next, ROUND(AVG(id), 1) AS mean, MAX(tags['a']) AS most
        FROM events [ROWS 4 SLIDE 2] HAVING COUNT(*) > 3"""
    key = "CAST(IF(id % 4 = 0, 'NaN', IF(id % 4 = 1, '-0.0', '0.0')) AS DOUBLE)"
    with windrow.Engine() as engine:
        engine.stream("events", df, timestamp="ts")
        engine.query("q", sql)
        engine.query(
            "floats", f"SELECT {key} AS k FROM events [PARTITION BY {key} ROWS 4 SLIDE 10] GROUP BY {key}"
        )
        assert "sort rows by event time, then by id\n" in engine.explain()
        engine.run()
        rows = engine.results("q").orderBy("next").collect()
        floats = engine.results("floats").orderBy("window_end").collect()
    assert [(str(row.k), row.window_row) for row in floats] == [
        ("0.0", 10),
        ("0.0", 20),
        ("nan", 10),
        ("0.0", 30),
    ]
    assert [(row.next, row.mean, row.most) for row in rows] == [(i + 1, i - 2.5, 2) for i in range(4, 41, 2)]
    assert rows[0].window_end - rows[0].window_start == timedelta(seconds=3)
    assert rows[0].window_start == datetime(2024, 3, 10, 1, 59, 50)


def test_values_are_not_computed_for_rows_that_where_refuses(spark):
    """A division by zero behind WHERE fails nothing, as in Spark; nor does one in a row without a time."""
    df = spark.range(20).selectExpr(
        "IF(id = 5, NULL, timestamp_seconds(id)) AS ts", "IF(id % 5 = 0, 0, id) AS v", "id % 2 AS k"
    )
    with windrow.Engine() as engine:
        engine.stream("events", df, timestamp="ts")
        for name, window in (("rows", "ROWS 4 SLIDE 4"), ("keys", "PARTITION BY k ROWS 4 SLIDE 3")):
            engine.query(name, f"SELECT k, SUM(60 DIV v) AS x FROM events [{window}] WHERE v <> 0 GROUP BY k")
        engine.query("failing", "SELECT SUM(1 DIV v) AS x FROM events [ROWS 4 SLIDE 4] WHERE 1 DIV v >= 0")
        with pytest.raises(windrow.QueryFailed, match="failing: Division by zero"):
            engine.run()
        assert engine.progress("events").dead == 1
        assert engine.results("rows").count() == 8
        assert engine.results("keys").count() == 6

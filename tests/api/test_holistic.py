"""DISTINCT, medians, quantiles, modes, the commonest, lists: as Spark or DuckDB recompute them per window."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from contextlib import ExitStack
from datetime import timedelta

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.pandas.types import from_arrow_schema

import windrow
from tests.api.test_same_answers import EPOCH, SCHEMA, frame, rows, split_late, statement, windows
from tests.examples import examples
from tests.harness.micro_batches import feeding
from tests.oracle import assert_same_answers, native, same, weights
from windrow.operators.aggregate import ordered_values
from windrow.slicing import Window

SECOND = 1_000_000
# What Spark's own window() computes, on a batch; sets have no order there.
EXACT = {
    "rows": "COUNT(*)",
    **{f"different_{c}": f"COUNT(DISTINCT {c})" for c in ("i", "l", "d", "f", "m", "s", "day", "t", "b")},
    "pairs": "COUNT(DISTINCT n, s)",
    "sum_i": "SUM(DISTINCT n)", "sum_m": "SUM(DISTINCT m)", "sum_d": "SUM(DISTINCT d)",
    "avg_i": "AVG(DISTINCT i)", "avg_m": "AVG(DISTINCT m)", "least": "MIN(DISTINCT s)",
    "median_i": "MEDIAN(i)", "median_d": "MEDIAN(d)", "low": "PERCENTILE(l, 0.1)",
    "median_m": "MEDIAN(m)", "first": "PERCENTILE(d, 0)", "last": "PERCENTILE(d, 1)",
    "many": "PERCENTILE(i, ARRAY(0.25, 0.5, 0.9))",
    "some": "COUNT(DISTINCT s) FILTER (WHERE i > 0)", "half": "MEDIAN(i) FILTER (WHERE b)",
}  # fmt: skip
TOLERANCES = {
    "sum_d": "_abs_d", "avg_i": "_abs_i", "median_i": "_most_i", "median_d": "_most_d", "low": "_most_l",
    "median_m": "_most_m", "many": "_most_i", "first": "_most_d", "last": "_most_d", "half": "_most_i",
}  # fmt: skip
# What DuckDB recomputes for each window: Spark has no order here, or not the function.
LISTED = {
    "list_i": "COLLECT_LIST(i)", "list_s": "ARRAY_AGG(s)", "text": "STRING_AGG(s, ' | ')",
    "plain": "LISTAGG(s)", "set_s": "COLLECT_SET(s)", "mode_s": "MODE(s)", "mode_i": "MODE(n)",
    "top_s": "TOP_K(s, 2)", "top_d": "TOP_K(d, 3)", "few": "COLLECT_LIST(n) FILTER (WHERE b)",
}  # fmt: skip
RECOMPUTE = """
    SELECT e, {keys}
           list(i ORDER BY ts, i) FILTER (i IS NOT NULL) AS list_i,
           list(s ORDER BY ts, s) FILTER (s IS NOT NULL) AS list_s,
           string_agg(s, ' | ' ORDER BY ts, s) AS text, string_agg(s, '' ORDER BY ts, s) AS plain,
           list(DISTINCT s ORDER BY s) FILTER (s IS NOT NULL) AS set_s,
           list(s) FILTER (s IS NOT NULL) AS bag_s, list(n) FILTER (n IS NOT NULL) AS bag_n,
           list(d) FILTER (d IS NOT NULL) AS bag_d,
           list(n ORDER BY ts, n) FILTER (n IS NOT NULL AND b) AS few
    FROM (SELECT DISTINCT unnest(ends) AS e FROM data)
    JOIN (SELECT *, epoch_us(ts) AS us FROM data) ON us >= e - {range} AND us < e
    GROUP BY ALL"""


def most(column):
    """The greatest finite magnitude: what lies between two values may differ by 1e-9 of it."""
    size = f"abs(CAST({column} AS DOUBLE))"
    return {f"_most_{column}": f"max({size}) FILTER (WHERE {size} < double('infinity'))"}


def spark_answers(df, window, keys, aggs):
    extra = {TOLERANCES[name] for name in aggs if name in TOLERANCES}
    calls = {name: sql for c in "ildm" for name, sql in (most(c) | weights(c)).items() if name in extra}
    return native(df, window, keys, {name: EXACT[name] for name in aggs} | calls)


def assert_as_spark(results, df, window, keys, aggs):
    tolerances = {name: TOLERANCES[name] for name in aggs if name in TOLERANCES}
    assert_same_answers(results, spark_answers(df, window, keys, aggs), keys, tolerances)


def some_of(aggs):
    return st.lists(st.sampled_from(sorted(aggs)), min_size=2, max_size=5, unique=True)


def ends_of(instant, window):
    """The evaluations that a row is part of."""
    us = (instant - EPOCH) // timedelta(microseconds=1)
    first = us + window.slide - (us - window.offset) % window.slide
    return list(range(first, us + window.range + 1, window.slide))


def commonest(values, k):
    """The k commonest, the least of equals first; NaN is one value, above all."""
    counts = Counter("NaN" if v != v else v + 0.0 if isinstance(v, float) else v for v in values or [])
    order = sorted(counts, key=lambda v: (-counts[v], v == "NaN", 0 if v == "NaN" else v))
    return [(math.nan if v == "NaN" else v, counts[v]) for v in order[:k]]


def duckdb_answers(data, window, keys):
    table = pa.Table.from_pylist(data, SCHEMA)
    ends = pa.array([ends_of(row["ts"], window) for row in data], pa.list_(pa.int64()))
    table = table.append_column("ends", ends)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("data", table)
        select = RECOMPUTE.format(keys="".join(f"{key}, " for key in keys), range=window.range)
        found = connection.sql(select).to_arrow_table().to_pylist()
    answers = {}
    for row in found:
        expected = {name: row[name] for name in ("text", "plain")}
        expected |= {name: row[name] or [] for name in ("list_i", "list_s", "set_s", "few")}
        expected |= {"top_s": commonest(row["bag_s"], 2), "top_d": commonest(row["bag_d"], 3)}
        for name, bag in (("mode_s", "bag_s"), ("mode_i", "bag_n")):
            expected[name] = next((value for value, _ in commonest(row[bag], 1)), None)
        answers[(row["e"], *(row[key] for key in keys))] = expected
    return answers


def assert_as_recomputed(results, expected, keys):
    got = results.collect()
    assert len(got) == len(expected)
    for row in got:
        end = (row["window_end"].astimezone(EPOCH.tzinfo) - EPOCH) // timedelta(microseconds=1)
        wanted = expected[(end, *(row[key] for key in keys))]
        for name, value in wanted.items():
            if name not in row:
                continue
            mine = row[name]
            if name.startswith("top"):
                mine = [(item["item"], item["count"]) for item in mine]
                assert [n for _, n in mine] == [n for _, n in value], name
                assert all(same(a, b, 0) for (a, _), (b, _) in zip(mine, value, strict=True)), name
            else:
                assert mine == value, name


@pytest.mark.usefixtures("interpreted")
@settings(settings.get_profile("spark"), max_examples=examples(4))
@given(
    data=rows(),
    window=windows(),
    keys=st.sampled_from([[], ["k"], ["k", "n"]]),
    exact=some_of(EXACT),
    listed=some_of(LISTED),
)
def test_a_bounded_run_gives_what_spark_and_duckdb_recompute(spark, data, window, keys, exact, listed):
    df = frame(spark, data).cache()
    with windrow.Engine() as engine:
        engine.stream("events", df, timestamp="ts")
        engine.query("exact", statement(window, keys, {name: EXACT[name] for name in exact}))
        engine.query("listed", statement(window, keys, {name: LISTED[name] for name in listed}))
        engine.run()
        assert_as_spark(engine.results("exact"), df, window, keys, exact)
        assert_as_recomputed(engine.results("listed"), duckdb_answers(data, window, keys), keys)
    df.unpersist()


@pytest.mark.usefixtures("interpreted")
@settings(settings.get_profile("spark"), max_examples=examples(4))
@given(
    data=rows(),
    window=windows(),
    keys=st.sampled_from([[], ["k"]]),
    exact=some_of(EXACT),
    listed=some_of(LISTED),
    cuts=st.lists(st.integers(0, 60), max_size=4),
    delay=st.sampled_from([0, 3, 1_000]),
    restarts=st.booleans(),
)
def test_any_micro_batches_give_the_same(
    spark, tmp_path_factory, data, window, keys, exact, listed, cuts, delay, restarts
):
    # One instant each: among equal ones the earlier batch comes first, and the oracle knows no batches.
    for number, row in enumerate(data):
        row["ts"] += timedelta(microseconds=number)
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    batches = [data[a:b] for a, b in itertools.pairwise(edges)]
    in_time, _ = split_late(batches, [None] * len(batches), timedelta(seconds=delay))
    home = tmp_path_factory.mktemp("home")
    with ExitStack() as held:
        for number, batch in enumerate(batches):
            if number == 0 or restarts:
                held.close()
                engine = windrow.Engine(home, spark=spark)
                engine.stream("events", frame(spark, []), timestamp="ts", delay=f"{delay} seconds")
                engine.query("exact", statement(window, keys, {name: EXACT[name] for name in exact}))
                engine.query("listed", statement(window, keys, {name: LISTED[name] for name in listed}))
                feed = held.enter_context(feeding(engine, "events"))
            feed.batch(frame(spark, batch), number)
        feed.seal()
    df = frame(spark, in_time)
    assert_as_spark(engine.results("exact"), df, window, keys, exact)
    assert_as_recomputed(engine.results("listed"), duckdb_answers(in_time, window, keys), keys)


@pytest.mark.parametrize(
    "values", [[-math.inf, 1.0], [1.0, math.inf], [-math.inf, math.inf], [-math.inf] * 2]
)
def test_medians_between_infinities_are_those_of_spark(spark, values):
    df = spark.createDataFrame([(v,) for v in values], "d DOUBLE").selectExpr(
        "timestamp_seconds(1) AS ts", "d"
    )
    with windrow.Engine() as engine:
        engine.stream("events", df, timestamp="ts")
        engine.query("q", "SELECT MEDIAN(d) AS m FROM events [RANGE 10 SECONDS SLIDE 10 SECONDS]")
        engine.run()
        assert same(engine.results("q").collect()[0].m, df.selectExpr("median(d) AS m").collect()[0].m, 0)


def test_all_of_them_at_once(spark):
    df = spark.range(400).selectExpr(
        "timestamp_millis(id * 317 - 60000) AS ts", "CAST(id % 3 AS STRING) AS k", "CAST(id % 3 AS INT) AS n",
        "IF(id % 7 = 0, NULL, CAST(id * 37 % 11 AS INT)) AS i", "id * 13 % 17 AS l",
        "IF(id % 29 = 0, double('NaN'), CAST(id * 7 % 13 AS DOUBLE) / 2) AS d", "CAST(id % 5 AS FLOAT) AS f",
        "CAST(id % 9 / 4 AS DECIMAL(12, 2)) AS m", "IF(id % 5 = 0, NULL, chr(65 + id * 3 % 7)) AS s",
        "date_add(DATE'1969-12-30', CAST(id % 4 AS INT)) AS day", "timestamp_seconds(id % 6) AS t", "id % 2 = 0 AS b",
    )  # fmt: skip
    data = [row.asDict() | {"ts": row.ts.replace(tzinfo=EPOCH.tzinfo)} for row in df.collect()]
    window = Window(20 * SECOND, 3 * SECOND, SECOND)
    with windrow.Engine() as engine:
        engine.stream("events", df, timestamp="ts")
        engine.query("exact", statement(window, ["k"], EXACT))
        engine.query("listed", statement(window, ["k"], LISTED))
        engine.run()
        assert_as_spark(engine.results("exact"), df, window, ["k"], list(EXACT))
        assert_as_recomputed(engine.results("listed"), duckdb_answers(data, window, ["k"]), ["k"])


@pytest.mark.usefixtures("interpreted")
@settings(settings.get_profile("spark"), max_examples=examples(2))
@given(data=rows(), window=windows().filter(lambda w: w.slide <= w.range), keys=st.sampled_from([[], ["k"]]))
def test_sliding_gives_the_same(spark, data, window, keys):
    window = Window.starting_at(window.range, window.slide, 0)
    df = frame(spark, data)
    aggs = {
        "rows": ("count", "*"),
        "different": ("count", "DISTINCT s"),
        "middle": ("median", "d"),
        "total": ("sum", "i"),
    }
    got = windrow.sliding(
        df, "ts", keys=keys, windows=[(f"{window.range} us", f"{window.slide} us")], aggs=aggs
    )
    calls = {"rows": "COUNT(*)", "different": "COUNT(DISTINCT s)", "middle": "MEDIAN(d)", "total": "SUM(i)"}
    expected = native(df, window, keys, calls | most("d"))
    assert_same_answers(got, expected, keys, {"middle": "_most_d"})


@pytest.mark.usefixtures("interpreted")
@settings(settings.get_profile("spark"), max_examples=examples(2))
@given(data=rows(), size=st.integers(1, 12), slide=st.integers(1, 5))
def test_windows_of_rows_give_the_same(spark, data, size, slide):
    for number, row in enumerate(data):
        row["ts"] += timedelta(microseconds=number)
    with windrow.Engine() as engine:
        engine.stream("events", frame(spark, data), timestamp="ts")
        aggs = (
            "COUNT(DISTINCT s) AS c, MEDIAN(i) AS m, COLLECT_LIST(i) AS l, MODE(s) AS mode, SUM(n) AS total"
        )
        engine.query("q", f"SELECT {aggs} FROM events [ROWS {size} SLIDE {slide}]")
        engine.run()
        got = {row["window_row"]: row for row in engine.results("q").collect()}
    ordered = sorted(data, key=lambda row: row["ts"])
    assert sorted(got) == list(range(slide, len(data) + 1, slide))
    for number, row in got.items():
        held = ordered[max(number - size, 0) : number]
        ints = [r["i"] for r in held if r["i"] is not None]
        assert row["l"] == ints
        assert row["c"] == len({r["s"] for r in held} - {None})
        assert row["mode"] == next(
            (v for v, _ in commonest([r["s"] for r in held if r["s"] is not None], 1)), None
        )
        half = sorted(ints)
        middle = (half[(len(half) - 1) // 2] + half[len(half) // 2]) / 2 if half else None
        assert row["m"] == middle


@pytest.mark.usefixtures("interpreted")
@settings(settings.get_profile("spark"), max_examples=examples(2))
@given(data=rows(), k=st.integers(1, 3), keys=st.sampled_from([[], ["k"]]), per_window=st.integers(1, 6))
def test_frequent_items_are_those_of_algorithm_6(spark, data, k, keys, per_window):
    """Golab 2006, §6.2: what is reported occurs more than delta times, and what no slice has listed does not."""
    slide = 7 * SECOND
    window = Window(per_window * slide, slide)
    with windrow.Engine() as engine:
        engine.stream("events", frame(spark, data), timestamp="ts")
        engine.query("q", statement(window, keys, {"f": f"FREQUENT_ITEMS(s, {k})"}))
        engine.run()
        got = engine.results("q").collect()
    slices = {}
    for row in data:
        start = (row["ts"] - EPOCH) // timedelta(microseconds=1) // slide
        if row["s"] is not None:
            slices.setdefault((start, *(row[key] for key in keys)), Counter())[row["s"]] += 1
    for row in got:
        end = (row["window_end"].astimezone(EPOCH.tzinfo) - EPOCH) // timedelta(microseconds=1) // slide
        held = [
            slices.get((start, *(row[key] for key in keys)), Counter())
            for start in range(end - per_window, end)
        ]
        lists = [commonest(list(counts.elements()), k) for counts in held]
        delta = sum(listed[k - 1][1] for listed in lists if len(listed) == k)
        totals = Counter()
        for listed in lists:
            totals.update(dict(listed))
        over = {item: count for item, count in totals.items() if count > delta}
        assert row["f"]["delta"] == delta
        assert {item["item"]: item["count"] for item in row["f"]["items"]} == over
        assert [item["count"] for item in row["f"]["items"]] == sorted(over.values(), reverse=True)
        true = sum(held, Counter())
        assert all(true[item] >= count > delta for item, count in over.items())
        assert all(true[item] <= delta for item in true if item not in totals)


def test_lists_have_a_bound_and_the_other_queries_go_on(spark, monkeypatch):
    monkeypatch.setattr(ordered_values, "MOST_COLLECTED", 5)
    df = spark.range(60).selectExpr("timestamp_seconds(id) AS ts", "id")
    with windrow.Engine() as engine:
        engine.stream("events", df, timestamp="ts")
        engine.query("short", "SELECT COLLECT_LIST(id) AS ids FROM events [RANGE 5 SECONDS SLIDE 5 SECONDS]")
        engine.query("long", "SELECT COLLECT_LIST(id) AS ids FROM events [RANGE 6 SECONDS SLIDE 6 SECONDS]")
        with pytest.raises(
            windrow.QueryFailed, match=r"COLLECT_LIST.*6 values of one window and key, more than 5"
        ):
            engine.run()
        assert [len(row.ids) for row in engine.results("short").collect()] == [5] * 12


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("TOP_K(s, 0)", "the k of TOP_K has to be a whole number greater than zero, written out, not 0"),
        ("TOP_K(s, -1)", "the k of TOP_K has to be a whole number greater than zero, written out, not -1"),
        ("TOP_K(s, 2.5)", "not 2.5"),
        ("TOP_K(s, i)", "the k of TOP_K has to be a whole number greater than zero, written out, not i"),
        ("TOP_K(s)", "TOP_K needs k: a whole number greater than zero"),
        ("FREQUENT_ITEMS(s, 0)", "the k of FREQUENT_ITEMS has to be"),
        ("PERCENTILE(i, 1.5)", "the p of PERCENTILE has to be a number from 0 to 1, or an array of them"),
        ("PERCENTILE(i, -0.1)", "not -0.1"),
        ("PERCENTILE(i, ARRAY(0.5, 2))", "not ARRAY(0.5, 2)"),
        ("PERCENTILE(i, 'half')", "not 'half'"),
        ("PERCENTILE(i, 0.5, 0.5)", "PERCENTILE takes at most 2 arguments, not 3"),
        ("COLLECT_LIST(i, s)", "argument"),
        ("COUNT(DISTINCT ARRAY(i))", "values of type list<element: int32> cannot be counted one by one"),
        ("COUNT(DISTINCT MAP(i, s))", "MAP"),
        ("MODE(STRUCT(i, s))", "cannot be counted one by one"),
        ("SUM(DISTINCT day)", "DATE"),
        ("MEDIAN(s)", "there is nothing between two values of type string"),
        ("STRING_AGG(i, ',')", "CAST"),
        ("STRING_AGG(s, 3)", "the separator of LISTAGG has to be a text"),
        ("COLLECT_LIST(DISTINCT s)", "DISTINCT has no meaning in COLLECT_LIST"),
    ],
)
def test_bad_input_is_refused_with_a_reason(spark, call, problem):
    with windrow.Engine() as engine:
        engine.stream("events", spark.createDataFrame([], from_arrow_schema(SCHEMA)), timestamp="ts")
        with pytest.raises(windrow.StatementError) as caught:
            engine.query("q", f"SELECT {call} AS x FROM events [RANGE 1 HOUR SLIDE 1 MINUTE]")
    assert problem in str(caught.value)
    assert "^" in str(caught.value)

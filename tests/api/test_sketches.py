"""APPROX_COUNT_DISTINCT and APPROX_PERCENTILE from statement to answer, in batch, streams and sliding()."""

from __future__ import annotations

import math
import re

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from tests.api.test_same_answers import SECOND, frame, rows, statement, windows
from tests.examples import examples
from tests.oracle import assert_same_answers, native
from tests.streams import Files, events
from windrow.slicing import Window

COUNTED = ["k", "i", "d", "f", "m", "s", "day", "t", "b"]
SHARES = {"i": "0.5", "l": "0", "d": "0.25", "f": "1", "m": "0.9", "day": "0.5", "t": "0.3"}
# A sketch of an rsd of 0.02 holds more values than there are here before it estimates any.
MINE = {f"n_{x}": f"APPROX_COUNT_DISTINCT({x}, 0.02)" for x in COUNTED}
# Not COUNT(DISTINCT …), of which many take Spark long; adding zero makes one of 0.0 and -0.0.
THEIRS = {
    f"n_{x}": f"CAST(size(collect_set(CAST({x}{' + 0D' * (x in 'df')} AS STRING))) AS BIGINT)"
    for x in COUNTED
}
PERCENTILES = {f"p_{x}": f"APPROX_PERCENTILE({x}, {share})" for x, share in SHARES.items()}
PERCENTILES["some"] = "PERCENTILE_APPROX(i, array(0.1, 0.5, 1))"
PERCENTILES["filtered"] = "APPROX_PERCENTILE(d, 0.5) FILTER (WHERE i > 0)"
# Where there may be a NaN, Spark's exact function judges: its approximate one loses its order there.
WITH_NAN = {
    "p_d": "percentile_disc(0.25) WITHIN GROUP (ORDER BY d)",
    "filtered": "percentile_disc(0.5) WITHIN GROUP (ORDER BY d) FILTER (WHERE i > 0)",
}


@pytest.mark.usefixtures("interpreted")
@settings(settings.get_profile("spark"), max_examples=examples(2))
@given(data=rows(), window=windows(), keys=st.sampled_from([[], ["n"]]))
def test_few_values_give_the_exact_answers_of_spark(spark, data, window, keys):
    df = frame(spark, data).cache()
    with windrow.Engine() as engine:
        engine.stream("events", df, timestamp="ts")
        engine.query("q", statement(window, keys, MINE | PERCENTILES))
        engine.run()
        expected = native(df, window, keys, THEIRS | PERCENTILES | WITH_NAN)
        compared = assert_same_answers(engine.results("q"), expected, keys)
    df.unpersist()
    assert compared >= (window.slide <= window.range)


@pytest.fixture(scope="module")
def many(spark):
    """60,000 rows in 600 s, with up to 9,000 distinct values in a window, NULLs among them."""
    rng = np.random.default_rng(11)
    count = 60_000
    seconds = np.sort(rng.integers(0, 600, count))
    values = rng.integers(0, 1 + 40 * seconds)
    return pa.table(
        {
            "ts": pa.array(seconds * SECOND).cast(pa.timestamp("us", "UTC")),
            "v": pa.array(values, mask=rng.random(count) < 0.05),
            "x": rng.normal(seconds, 50),
        }
    )


def answers(engine, name):
    return engine.results(name).toArrow().sort_by("window_end").to_pylist()


def test_the_errors_of_many_windows_are_within_bounds(spark, many):
    """Each of 219 windows against DuckDB's exact counts and ranks."""
    with windrow.Engine() as engine:
        engine.stream("events", spark.createDataFrame(many), timestamp="ts")
        engine.query(
            "q",
            "SELECT APPROX_COUNT_DISTINCT(v) AS n, APPROX_PERCENTILE(x, array(0.05, 0.5, 0.99)) AS p "
            "FROM events [RANGE 60 SECONDS SLIDE 3 SECONDS]",
        )
        engine.run()
        found = answers(engine, "q")
    assert len(found) == 219
    far, wrong = 0, 0
    exact = duckdb.execute("SELECT epoch(ts)::INT AS s, v, x FROM many").fetchnumpy()
    for row in found:
        inside = (exact["s"] >= row["window_start"].timestamp()) & (
            exact["s"] < row["window_end"].timestamp()
        )
        distinct = len(np.unique(exact["v"][inside].compressed()))
        far += abs(row["n"] / distinct - 1) > 3 * 1.04 / math.sqrt(2**9)
        ordered = np.sort(exact["x"][inside])
        for share, value in zip((0.05, 0.5, 0.99), row["p"], strict=True):
            wrong += abs(np.searchsorted(ordered, value, side="right") / len(ordered) - share) > 1 / 75
    assert far <= 3
    assert wrong <= 0.01 * 3 * len(found)


def test_a_distinct_count_does_not_depend_on_batches_restarts_or_who_computes_it(spark, tmp_path):
    """Stopped and started again in the middle of windows: to the last digit, as in one go."""
    sql = (
        "SELECT k, APPROX_COUNT_DISTINCT(v, 0.1) AS n, APPROX_PERCENTILE(v, 0.5) AS p "
        "FROM events [RANGE 300 SECONDS SLIDE 20 SECONDS] GROUP BY k"
    )
    files = Files(spark, tmp_path / "in")
    for first, last in ((0, 333), (333, 500)):
        files.add(first, last)
        engine = windrow.Engine(tmp_path / "home", spark=spark)
        engine.stream("events", files.path, timestamp="ts", format="parquet")
        engine.query("q", sql)
        engine.run(seal=last == 500)
    restarted = engine.results("q")
    df = events(spark, 0, 500)
    with windrow.Engine() as once:
        once.stream("events", df, timestamp="ts")
        once.query("q", sql)
        once.run()
        assert assert_same_answers(restarted.drop("p"), once.results("q"), ["k"]) > 150
    slid = windrow.sliding(
        df,
        "ts",
        keys=["k"],
        windows=[("300 seconds", "20 seconds")],
        aggs={"n": ("approx_count_distinct", "v, 0.1")},
    )
    assert_same_answers(slid, restarted, ["k"])
    # the middle of values that are everywhere from -1 to 1
    assert all(abs(row.p) < 0.15 for row in restarted.collect() if row.n > 500)


def test_windows_of_rows_hash_as_spark_does(spark):
    """Rows are lifted in Python and slices in the JVM; one row a second makes their windows the same."""
    df = spark.range(700).selectExpr(
        "timestamp_seconds(id) AS ts", "CAST(id * id % 501 AS STRING) AS s", "id * 7 % 100 AS x"
    )
    items = "APPROX_COUNT_DISTINCT(s, 0.1) AS n, APPROX_PERCENTILE(x, 0.5) AS p"
    with windrow.Engine() as engine:
        engine.stream("events", df, timestamp="ts")
        engine.query("rows", f"SELECT {items} FROM events [ROWS 300 SLIDE 50]")
        engine.query("range", f"SELECT {items} FROM events [RANGE 300 SECONDS SLIDE 50 SECONDS]")
        engine.run()
        by_rows, by_range = answers(engine, "rows"), answers(engine, "range")
    assert [row["n"] for row in by_rows] == [row["n"] for row in by_range[: len(by_rows)]]
    assert all(abs(row["p"] - 49) <= 4 for row in by_rows[5:])


def test_nothing_nan_and_empty_strings(spark):
    nan = float("nan")
    data = [(0, None, None, None), (10, "", 5.0, 2**63 - 1), (10, "", nan, None), (20, None, nan, -(2**63))]
    df = spark.createDataFrame(data, "at INT, s STRING, d DOUBLE, l BIGINT")
    df = df.selectExpr("timestamp_seconds(at) AS ts", "*")
    sql = (
        "SELECT APPROX_COUNT_DISTINCT(s) AS n, APPROX_PERCENTILE(d, 0.5) AS p, APPROX_PERCENTILE(l, 0.5) AS l, "
        "APPROX_PERCENTILE(d, array(0, 1)) AS both, APPROX_COUNT_DISTINCT(array(d)) AS a "
        "FROM events [RANGE 10 SECONDS SLIDE 10 SECONDS]"
    )
    with windrow.Engine() as engine:
        engine.stream("events", df, timestamp="ts")
        engine.query("q", sql)
        engine.run()
        found = [list(row.values())[2:] for row in answers(engine, "q")]
    assert found[0] == [0, None, None, None, 1]  # array(NULL) is a value
    assert found[1][:3] == [1, 5.0, 2**63 - 1]
    assert found[1][3][0] == 5.0
    assert math.isnan(found[1][3][1])
    assert found[2][0] == 0
    assert math.isnan(found[2][1])
    assert found[2][2] == -(2**63)


@pytest.mark.parametrize("partitions", [1, 2, 5])
def test_nan_is_the_greatest_in_however_many_partitions(spark, partitions):
    """As in Spark's percentile_disc, which sorts; its approx_percentile says inf after NaN in two."""
    shares = (0, 0.25, 0.5, 0.6, 0.75, 0.8, 0.9, 1)
    data = [(at, float(value)) for at, value in enumerate(["0", "inf", "270674.1", "nan", "inf"])]
    df = spark.createDataFrame(spark.sparkContext.parallelize(data, partitions), "at INT, d DOUBLE")
    df = df.selectExpr("timestamp_seconds(at) AS ts", "d")
    exact = {f"p{i}": f"percentile_disc({p}) WITHIN GROUP (ORDER BY d)" for i, p in enumerate(shares)}
    mine = {f"p{i}": f"APPROX_PERCENTILE(d, {p})" for i, p in enumerate(shares)}
    window = Window(100 * SECOND, 10 * SECOND)
    with windrow.Engine(spark=spark) as engine:
        engine.stream("events", df, timestamp="ts")
        engine.query("q", statement(window, [], mine))
        engine.run()
        assert assert_same_answers(engine.results("q"), native(df, window, [], exact), []) == 10


def test_sliding_over_several_windows(spark):
    df = spark.createDataFrame([(1, 5), (2, 6), (25, 7)], "at INT, v INT")
    df = df.selectExpr("timestamp_seconds(at) AS ts", "v")
    slid = windrow.sliding(
        df,
        "ts",
        windows=[("10 seconds", "10 seconds"), ("20 seconds", "10 seconds")],
        aggs={"n": ("approx_count_distinct", "v"), "p": ("approx_percentile", "v, 0.5")},
        wide=True,
    )
    found = [tuple(row)[1:] for row in slid.orderBy("window_end").collect()]
    assert found == [(2, 5, 2, 5), (0, None, 2, 5), (1, 7, 1, 7), (0, None, 1, 7)]


W = "[RANGE 1 HOUR SLIDE 5 MINUTES]"
REFUSED = [
    ("APPROX_COUNT_DISTINCT(v, 0)", "the rsd of APPROX_COUNT_DISTINCT has to be a number from 0.00072 to 0.39, written out, not 0", "0", ""),
    ("APPROX_COUNT_DISTINCT(v, 2)", "rsd of APPROX_COUNT_DISTINCT has to be", "2", ""),
    ("APPROX_COUNT_DISTINCT(v, v)", "rsd of APPROX_COUNT_DISTINCT has to be", "v", ""),
    ("APPROX_COUNT_DISTINCT(v, 0.1, 3)", "takes at most 2 arguments, not 3", "APPROX_COUNT_DISTINCT", ""),
    ("APPROX_COUNT_DISTINCT(DISTINCT v)", "DISTINCT has no meaning in APPROX_COUNT_DISTINCT", "v", ""),
    ("APPROX_COUNT_DISTINCT(map(v, 1))", "Spark hashes no maps", "APPROX_COUNT_DISTINCT(map(v, 1))", ""),
    ("APPROX_PERCENTILE(v, 1.5)", "the percentage of APPROX_PERCENTILE has to be a number from 0 to 1 or an array of such, written out, not 1.5", "1.5", ""),
    ("APPROX_PERCENTILE(v, 'x')", "percentage of APPROX_PERCENTILE has to be", "'x'", ""),
    ("APPROX_PERCENTILE(v, array(0.5, 2))", "percentage of APPROX_PERCENTILE has to be", "array(0.5, 2)", ""),
    ("APPROX_PERCENTILE(v, array())", "percentage of APPROX_PERCENTILE has to be", "array()", ""),
    ("APPROX_PERCENTILE(v)", "APPROX_PERCENTILE needs percentage", "APPROX_PERCENTILE(v)", ""),
    ("PERCENTILE_APPROX(v, 0.5, 0)", "the accuracy of APPROX_PERCENTILE has to be a whole number from 1 to 20000", "0", ""),
    ("APPROX_PERCENTILE(v, 0.5, 1e9)", "accuracy of APPROX_PERCENTILE has to be", "1e9", ""),
    ("APPROX_PERCENTILE(v > 1, 0.5)", "requires", "APPROX_PERCENTILE(v > 1, 0.5)", ""),
    ("APPROX_PERCENTILE(CAST(ts AS TIMESTAMP_NTZ), 0.5)", "not supported yet; use numbers, dates or timestamps", None, ""),
    ("/*+ FINAL(subtract_on_evict) */ APPROX_COUNT_DISTINCT(v)", "subtract_on_evict cannot compute APPROX_COUNT_DISTINCT(events.v, 0.05): it needs an inverse", "subtract_on_evict", ""),
    ("/*+ FINAL(slick_deque_non_inv) */ APPROX_PERCENTILE(v, 0.5)", "slick_deque_non_inv cannot compute", "slick_deque_non_inv", ""),
]  # fmt: skip


@pytest.fixture(scope="module")
def engine(spark):
    with windrow.Engine(spark=spark) as engine:
        engine.stream("events", spark.createDataFrame([], "ts TIMESTAMP, v INT, k INT"), timestamp="ts")
        yield engine


@pytest.mark.parametrize(("item", "problem", "underlined", "hint"), REFUSED, ids=[r[0] for r in REFUSED])
def test_refusals_say_what_and_where(engine, item, problem, underlined, hint):
    with pytest.raises(windrow.StatementError) as caught:
        engine.query("q", f"SELECT {item} AS a FROM events {W}")
    error = caught.value
    assert problem in str(error)
    assert underlined is None or error.text[error.start : error.end] == underlined
    assert hint in error.hint


def test_each_keys_own_rows(spark):
    """Few values, of which sketches know all."""
    data = [(i, i % 3, (i * i) % 11) for i in range(80)]
    df = spark.createDataFrame(data, "s INT, k INT, v INT").selectExpr("timestamp_seconds(s) AS ts", "k", "v")
    calls = "APPROX_COUNT_DISTINCT(v) AS n, APPROX_PERCENTILE(v, 0.5) AS half"
    with windrow.Engine(spark=spark) as engine:
        engine.stream("events", df, timestamp="ts")
        engine.query("q", f"SELECT k, {calls} FROM events [PARTITION BY k ROWS 9 SLIDE 2] GROUP BY k")
        engine.run()
        got = {(row.k, row.window_row): (row.n, row.half) for row in engine.results("q").collect()}
    expected = {}
    for key in range(3):
        own = [v for _, k, v in data if k == key]
        for end in range(2, len(own) + 1, 2):
            held = sorted(own[max(end - 9, 0) : end])
            expected[key, end] = len(set(held)), held[(len(held) + 1) // 2 - 1]
    assert got == expected


def test_explain_says_how(engine):
    engine.query("q", f"SELECT APPROX_COUNT_DISTINCT(v) AS n, APPROX_PERCENTILE(v, 0.5) AS p FROM events {W}")
    plan = engine.explain()
    engine.drop("q")
    assert "aggregate APPROX_COUNT_DISTINCT(v, 0.05), APPROX_PERCENTILE(v, 0.5, 75) over" in plan
    assert "hll_sketch_agg(CASE WHEN (v) IS NOT NULL THEN xxhash64(v) END, 9)" in plan
    assert "kll_sketch_agg_double(CAST(v AS DOUBLE), 200)" in plan
    assert re.search(r"final: blocked_two_stacks for union_hll \(.*measured for moments\)", plan)
    assert re.search(r"final: blocked_two_stacks for merge_kll \(.*measured for moments\)", plan)


def test_percentiles_of_one_argument_share_a_sketch(engine):
    engine.query(
        "a", f"SELECT APPROX_PERCENTILE(v, 0.5) AS p, PERCENTILE_APPROX(v, 0.9) AS q FROM events {W}"
    )
    plan = engine.explain()
    engine.drop("a")
    (lifted,) = [line for line in plan.splitlines() if line.startswith("  lift")]
    assert lifted.count("kll_sketch_agg_double") == 1

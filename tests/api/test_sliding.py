"""The drop-in: several windows at once, wide rows, streams, and what it refuses."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

import windrow
from tests.oracle import assert_same_answers, native
from windrow.slicing import Window

SECOND = 1_000_000
AGGS = {"most": ("max", "v"), "n": ("count", "*"), "some": ("count", "v")}
NATIVE = {"most": "MAX(v)", "n": "COUNT(*)", "some": "COUNT(v)"}


@pytest.fixture
def df(spark):
    return spark.range(-200, 800).selectExpr(
        "timestamp_millis(id * 250) AS ts",
        "CASE id % 4 WHEN 0 THEN NULL ELSE id % 4 END AS k",
        "nullif(id % 37, 5) AS v",
    )


def test_several_windows_in_one_pass(spark, df):
    got = windrow.sliding(
        df, "ts", keys=["k"], windows=[("20 seconds", "5 seconds"), ("1 minute", "15 seconds")], aggs=AGGS
    )
    assert got.columns == ["window_start", "window_end", "window_range", "k", "most", "n", "some"]
    for label, window in (
        ("20 seconds", Window(20 * SECOND, 5 * SECOND)),
        ("1 minute", Window(60 * SECOND, 15 * SECOND)),
    ):
        mine = got.where(F.col("window_range") == label).drop("window_range")
        assert assert_same_answers(mine, native(df, window, ["k"], NATIVE), ["k"]) > 50


def test_wide_rows_have_a_column_per_aggregate_and_range(spark, df):
    gappy = df.where("ts < timestamp_seconds(20) OR ts > timestamp_seconds(100)")
    got = windrow.sliding(
        gappy,
        "ts",
        keys=["k"],
        windows=[("10 seconds", "5 seconds"), ("1 minute", "5 seconds")],
        aggs=AGGS,
        wide=True,
    )
    assert got.columns == [
        "window_end", "k", "most_10_seconds", "n_10_seconds", "some_10_seconds",
        "most_1_minute", "n_1_minute", "some_1_minute",
    ]  # fmt: skip
    short = native(gappy, Window(10 * SECOND, 5 * SECOND), ["k"], NATIVE).drop("window_start")
    long = native(gappy, Window(60 * SECOND, 5 * SECOND), ["k"], NATIVE).drop("window_start")
    for name in NATIVE:
        short = short.withColumnRenamed(name, f"{name}_10_seconds")
        long = long.withColumnRenamed(name, f"{name}_1_minute")
    both = (short["window_end"] == long["window_end"]) & short["k"].eqNullSafe(long["k"])
    joined = long.join(short.drop(), both, "left").select(
        long["window_end"], long["k"], "most_10_seconds", F.coalesce("n_10_seconds", F.lit(0)),
        F.coalesce("some_10_seconds", F.lit(0)), "most_1_minute", "n_1_minute", "some_1_minute",
    )  # fmt: skip
    mine = sorted(map(str, got.collect()))
    theirs = sorted(str(got_row) for got_row in joined.toDF(*got.columns).collect())
    assert mine == theirs
    assert got.where("n_10_seconds = 0").count() > 0


def test_columns_may_have_any_name(spark, df):
    odd = df.withColumnRenamed("k", "a-b").withColumnRenamed("v", "order")
    got = windrow.sliding(
        odd,
        "ts",
        keys=["a-b"],
        windows=[("20 seconds", "5 seconds")],
        aggs={"x`y": ("MAX", "order"), "n": ("count", "*")},
    )
    expected = native(df, Window(20 * SECOND, 5 * SECOND), ["k"], {"most": "MAX(v)", "n": "COUNT(*)"})
    mine = got.toDF("window_start", "window_end", "k", "most", "n")
    assert assert_same_answers(mine, expected, ["k"]) > 50


def test_two_streams_in_one_session(spark, df, tmp_path):
    df.write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(df.schema).parquet(str(tmp_path / "in"))
    both = [windrow.sliding(stream, "ts", windows=[("20 seconds", "5 seconds")], aggs=AGGS) for _ in range(2)]
    with both[0].start(tmp_path / "one") as one, both[1].start(tmp_path / "two") as two:
        one.process_available()
        two.process_available()
        two.wait(0.1)
    assert sorted(both[0].results().collect()) == sorted(both[1].results().collect())


def test_it_is_lazy_and_reads_only_what_it_needs(spark, df):
    broken = df.withColumn("bad", F.expr("1 / (k - k)"))
    got = windrow.sliding(broken, "ts", windows=[("20 seconds", "5 seconds")], aggs={"n": ("count", "*")})
    assert got.count() > 0


def test_a_stream_is_started_with_a_home(spark, df, tmp_path):
    df.repartition(3).write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(df.schema).parquet(str(tmp_path / "in"))
    epochs = []
    sliding = windrow.sliding(
        stream,
        "ts",
        keys=["k"],
        windows=[("20 seconds", "5 seconds"), ("7 seconds", "2 seconds")],
        aggs=AGGS,
        delay="1 hour",
    )
    with pytest.raises(windrow.WindrowError, match=r"start\(\) it first"):
        sliding.results()
    with sliding.start(tmp_path / "home", sink=lambda epoch, _: epochs.append(epoch)) as live:
        live.process_available()
    sliding.run(tmp_path / "home", sink=lambda epoch, _: epochs.append(epoch), seal=True)
    assert epochs
    for label, window in (
        ("20 seconds", Window(20 * SECOND, 5 * SECOND)),
        ("7 seconds", Window.starting_at(7 * SECOND, 2 * SECOND)),
    ):
        mine = sliding.results().where(F.col("window_range") == label).drop("window_range")
        assert_same_answers(mine, native(df, window, ["k"], NATIVE), ["k"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"windows": []}, "name at least one window"),
        ({"aggs": {"n": F.lit}}, r"must be a \(function, column\) pair"),
        ({"aggs": [1]}, "aggs maps result columns to pairs"),
        ({"timestamp": 3}, "the event-time column is given by its name"),
        ({"windows": [(3600, 60)]}, "a duration is text such as"),
        ({"windows": ["1 hour"]}, r"a window is a \(range, slide\) pair"),
        ({"windows": [("1 hour", "2 hours")]}, "the slide is longer than the range"),
        ({"windows": [("0 seconds", "0 seconds")]}, "longer than zero"),
        ({"windows": [("1 hour", "1 hour")] * 2}, "named twice"),
        ({"windows": [("1 hour", "5 mintes")]}, "did you mean MINUTES"),
        ({"aggs": {}}, "name at least one aggregate"),
        ({"aggs": {"x": ("maxx", "v")}}, r"unknown aggregate 'maxx'; did you mean max\?"),
        ({"aggs": {"x": "max"}}, r"must be a \(function, column\) pair"),
        ({"aggs": {"x": ("max", "w")}}, "unknown column 'w'"),
        ({"aggs": {"n": (len, "*")}}, r"must be a \(function, column\) pair"),
        ({"keys": ["kk"]}, "unknown column 'kk'"),
        ({"keys": "k"}, r"keys is a list of columns or expressions, such as \['origin'\], not 'k'"),
        (
            {
                "windows": [("1 hour", "1 minute"), ("2 hours", "1 minute")],
                "aggs": {"window_range": ("max", "v")},
            },
            "two result columns would be called 'window_range'",
        ),
        (
            {"keys": ["ts > 'today'"]},
            "'today' is a timestamp here, which changes by itself.*; write the date",
        ),
        ({"aggs": {"m": ("max", "reflect('a', 'b')")}}, r"reflect\(\) calls any code of the JVM's"),
        ({"aggs": {"_Epoch": ("count", "*")}}, "the name '_Epoch' is Windrow's own; use another alias"),
        ({"timestamp": "tss"}, r"there is no column 'tss'; did you mean ts\?"),
        ({"timestamp": "k"}, "event time must be a TIMESTAMP"),
        (
            {"windows": [("1 hour", "1 hour"), ("1 hour", "1 minute")], "wide": True},
            "windows that end together",
        ),
    ],
)
def test_bad_arguments(df, change, message):
    arguments = {"timestamp": "ts", "windows": [("1 hour", "1 minute")], "aggs": AGGS} | change
    with pytest.raises(windrow.WindrowError, match=message):
        windrow.sliding(df, arguments.pop("timestamp"), **arguments)

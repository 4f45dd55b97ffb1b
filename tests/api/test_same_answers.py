"""The contract: over random streams, Windrow gives the rows of Spark's own window()."""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

import windrow
from tests.examples import examples
from tests.harness.micro_batches import feeding
from tests.oracle import assert_same_answers, native, weights
from windrow.aggregates.operations import ADD_FLOATS
from windrow.final import FINAL_AGGREGATORS
from windrow.runtime.spark.analysis import arrow_schema
from windrow.slicing import Window

SECOND = 1_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    {
        "ts": pa.timestamp("us", "UTC"),
        "k": pa.string(),
        "n": pa.int32(),
        "i": pa.int32(),
        "l": pa.int64(),
        "d": pa.float64(),
        "f": pa.float32(),
        "m": pa.decimal128(12, 2),
        "s": pa.string(),
        "day": pa.date32(),
        "t": pa.timestamp("us", "UTC"),
        "b": pa.bool_(),
    }
)
AGGREGATES = {
    "rows": "COUNT(*)",
    "some": "COUNT(d)",
    "sum_i": "SUM(i)", "sum_l": "SUM(l)", "sum_d": "SUM(d)", "sum_f": "SUM(f)", "sum_m": "SUM(m)",
    "avg_i": "AVG(i)", "avg_l": "AVG(l)", "avg_d": "AVG(d)", "avg_m": "AVG(m)",
    "min_l": "MIN(l)", "max_l": "MAX(l)", "min_d": "MIN(d)", "max_d": "MAX(d)", "min_f": "MIN(f)",
    "min_m": "MIN(m)", "max_m": "MAX(m)", "min_s": "MIN(s)", "max_s": "MAX(s)",
    "min_day": "MIN(day)", "max_t": "MAX(t)", "max_b": "MAX(b)",
    "var": "VAR_POP(i)", "vars": "VARIANCE(d)", "dev": "STDDEV(i)", "devp": "STDDEV_POP(d)",
}  # fmt: skip
TOLERANCES = {
    "sum_d": "_abs_d", "sum_f": "_abs_f", "avg_i": "_abs_i", "avg_l": "_abs_l", "avg_d": "_abs_d",
    "var": "_squares_i", "vars": "_squares_d", "dev": "_squares_i", "devp": "_squares_d",
}  # fmt: skip

# Not so small that squares vanish: what a variance may differ by is measured by them.
floats = st.one_of(
    st.floats(-1e6, 1e6).map(lambda x: x if abs(x) >= 1e-3 else 0.0),
    st.sampled_from([float("nan"), float("inf"), float("-inf"), -0.0, 0.0]),
)
# Small enough for any sum of a test to fit, so that Spark's outcome does not depend on the order.
longs = st.integers(-(1 << 55), 1 << 55)


def optional(values):
    return st.one_of(st.none(), values)


@st.composite
def rows(draw, max_size=60):
    span = draw(st.sampled_from([5, 60, 400]))
    around = draw(st.sampled_from([0, -1_000_000, 1_700_000_000]))
    keys = draw(st.sampled_from([1, 3, 1_000]))
    instants = st.integers(-span * 10, span * 10).map(
        lambda tenths: EPOCH + timedelta(seconds=around) + timedelta(milliseconds=100 * tenths)
    )
    row = st.fixed_dictionaries(
        {
            "ts": instants,
            "k": optional(st.integers(0, keys).map(str)),
            "n": optional(st.integers(0, 2)),
            "i": optional(st.integers(-(2**31), 2**31 - 1)),
            "l": optional(longs),
            "d": optional(floats),
            "f": optional(st.floats(-1e6, 1e6, width=32)),
            "m": optional(st.decimals(-(10**9), 10**9, places=2)),
            "s": optional(st.text("abcé😀Z", max_size=3)),
            "day": optional(st.dates(date(1900, 1, 1), date(2100, 1, 1))),
            "t": optional(instants),
            "b": optional(st.booleans()),
        }
    )
    return draw(st.lists(row, min_size=1, max_size=max_size))


@st.composite
def windows(draw):
    slide = draw(st.sampled_from([1, 2, 3, 7, 10, 60])) * SECOND
    kind = draw(st.sampled_from(["multiple", "other", "short"]))
    if kind == "multiple":
        length = slide * draw(st.integers(1, 12))
    elif kind == "other":
        length = slide * draw(st.integers(1, 5)) + draw(st.integers(1, slide - 1))
    else:
        length = draw(st.integers(1, slide))
    return Window(length, slide, draw(st.sampled_from([0, 0, SECOND, 1_300_000, slide - 1])))


def frame(spark, data):
    return spark.createDataFrame(pa.Table.from_pylist(data, SCHEMA))


def statement(window, keys, aggs=AGGREGATES):
    items = [*keys, *(f"{expression} AS {name}" for name, expression in aggs.items())]
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    return (
        f"SELECT {', '.join(items)} FROM events "
        f"[RANGE {window.range} US SLIDE {window.slide} US OFFSET {window.offset} US]{group}"
    )


def spark_answers(df, window, keys):
    extra = weights("i") | weights("l") | weights("d") | weights("f")
    return native(df, window, keys, AGGREGATES | extra)


@pytest.mark.usefixtures("interpreted")
@settings(settings.get_profile("spark"), max_examples=examples(4))
@given(data=rows(), window=windows(), keys=st.sampled_from([[], ["k"], ["k", "n"], ["d"]]))
def test_a_bounded_run_gives_the_answers_of_spark(spark, data, window, keys):
    df = frame(spark, data).cache()
    with windrow.Engine() as engine:
        engine.stream("events", df, timestamp="ts")
        engine.query("q", statement(window, keys))
        engine.run()
        compared = assert_same_answers(engine.results("q"), spark_answers(df, window, keys), keys, TOLERANCES)
    df.unpersist()
    assert compared >= (window.slide <= window.range)


@pytest.mark.usefixtures("interpreted")
@settings(settings.get_profile("spark"), max_examples=examples(4))
@given(
    data=rows(),
    window=windows(),
    keys=st.sampled_from([[], ["k"], ["n", "k"]]),
    cuts=st.lists(st.integers(0, 60), max_size=4),
    silences=st.lists(st.sampled_from([None, 0, 1, 2, 5, 3_000]), min_size=5, max_size=5),
    delay=st.sampled_from([0, 3, 1_000]),
    restarts=st.booleans(),
)
def test_any_micro_batches_and_heartbeats_give_the_batch_answer_over_rows_that_were_not_late(
    spark, tmp_path_factory, data, window, keys, cuts, silences, delay, restarts
):
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    batches = [data[a:b] for a, b in itertools.pairwise(edges)]
    in_time, late = split_late(batches, silences, timedelta(seconds=delay))
    home, now = tmp_path_factory.mktemp("home"), [0.0]
    with ExitStack() as held:
        for number, (batch, silence) in enumerate(zip(batches, silences, strict=False)):
            if number == 0 or restarts:
                held.close()
                engine = engine_over(spark, home, window, keys, delay)
                feed = held.enter_context(feeding(engine, "events", clock=lambda: now[0]))
            for again in (False, True):
                assert (feed.batch(frame(spark, batch), number) is None) == again
            if silence is not None:
                now[0] += silence
                feed.beat()
        feed.seal()
    df = frame(spark, in_time)
    assert_same_answers(engine.results("q"), spark_answers(df, window, keys), keys, TOLERANCES)
    assert engine.progress("events").late == late == engine.late("events").count()
    assert engine.progress("events").rows == len(data)


def no_tables(queries):
    return {}


def engine_over(spark, home, window, keys, delay):
    engine = windrow.Engine(home, spark=spark)
    engine.stream(
        "events", frame(spark, []), timestamp="ts", delay=f"{delay} seconds", idle_timeout="2 seconds"
    )
    engine.query("q", statement(window, keys))
    return engine


def split_late(batches, silences, delay):
    """The definition: late is below the watermark that the batches and silences before have left."""
    kept, late, latest, watermark = [], 0, None, None
    for batch, silence in zip(batches, silences, strict=False):
        good = [row for row in batch if watermark is None or row["ts"] >= watermark]
        late += len(batch) - len(good)
        kept += good
        latest = max([row["ts"] for row in good] + ([latest] if latest else []))
        watermark = max([latest - delay] + ([watermark] if watermark else []))
        if silence is not None and silence >= 2:
            watermark = max(watermark, latest + timedelta(seconds=silence) - delay)
    return kept, late


@pytest.mark.usefixtures("interpreted")
@settings(settings.get_profile("spark"), max_examples=examples(4))
@given(
    data=rows(), window=windows().filter(lambda w: w.slide <= w.range), keys=st.sampled_from([[], ["k", "n"]])
)
def test_sliding_is_a_drop_in_for_window(spark, data, window, keys):
    window = Window.starting_at(window.range, window.slide, 300_000)
    df = frame(spark, data)
    aggs = {name: tuple(call.rstrip(")").lower().split("(")) for name, call in AGGREGATES.items()}
    got = windrow.sliding(
        df,
        "ts",
        keys=keys,
        windows=[(f"{window.range} us", f"{window.slide} us")],
        aggs=aggs,
        start_time="300 ms",
    )
    assert_same_answers(got, spark_answers(df, window, keys), keys, TOLERANCES)


def test_thousands_of_keys(spark):
    df = spark.range(20_000).selectExpr(
        "timestamp_millis(id * 37) AS ts", "CAST(id % 4999 AS STRING) AS k", "CAST(id % 101 AS DOUBLE) AS d"
    )
    aggs = {"total": "SUM(d)", "most": "MAX(d)", "rows": "COUNT(*)"}
    window = Window(90 * SECOND, 20 * SECOND)
    with windrow.Engine() as engine:
        engine.stream("events", df, timestamp="ts")
        engine.query("q", statement(window, ["k"], aggs))
        engine.run()
        expected = native(df, window, ["k"], aggs | weights("d"))
        compared = assert_same_answers(engine.results("q"), expected, ["k"], {"total": "_abs_d"})
        assert compared == 90_000


def test_every_final_aggregator_gives_the_same_answers(spark):
    """One query each, with a hint; a structure that selects cannot add, and adders cannot select."""
    df = spark.range(3_000).selectExpr(
        "timestamp_millis(id * 40 - 60000) AS ts", "id % 7 AS k", "CAST(id * 7 % 101 AS DOUBLE) AS d"
    )
    sums = {"total": "SUM(d)", "rows": "COUNT(*)", "mean": "AVG(d)"}
    window = Window(25 * SECOND, 4 * SECOND)
    with windrow.Engine() as engine:
        engine.stream("events", df, timestamp="ts")
        for name, algorithm in FINAL_AGGREGATORS.items():
            aggs = sums if algorithm.refusal(ADD_FLOATS.algebra) is None else {"top": "MAX(d)"}
            hinted = statement(window, ["k"], aggs).replace("SELECT", f"SELECT /*+ FINAL({name}) */")
            engine.query(name, hinted)
            operation = "greatest" if "top" in aggs else "add_floats"
            assert f"final: {name} for {operation} (as the hint asks, " in engine.explain()
        engine.run()
        expected = native(df, window, ["k"], sums | {"top": "MAX(d)"} | weights("d")).cache()
        for name, algorithm in FINAL_AGGREGATORS.items():
            if algorithm.refusal(ADD_FLOATS.algebra) is None:
                tolerances, answers = (
                    {"total": "_abs_d", "mean": "_abs_d"},
                    ["total", "rows", "mean", "_abs_d"],
                )
            else:
                tolerances, answers = {}, ["top"]
            own = expected.select("window_start", "window_end", "k", *answers)
            assert_same_answers(engine.results(name), own, ["k"], tolerances)


def test_integer_sums_fit_when_the_window_fits_and_fail_when_it_does_not(spark):
    big = 2**62
    data = [(0, big), (1, big - 1), (2, big), (3, -big)]
    df = spark.createDataFrame(data, "s INT, l BIGINT").selectExpr("timestamp_seconds(s) AS ts", "l")
    with windrow.Engine() as engine:
        engine.stream("events", df, timestamp="ts")
        engine.query("fits", "SELECT SUM(l) AS total FROM events [RANGE 2 SECONDS SLIDE 2 SECONDS]")
        engine.run()
        assert [row.total for row in engine.results("fits").orderBy("window_end").collect()] == [
            2 * big - 1,
            0,
        ]
    with windrow.Engine() as engine:
        engine.stream("events", df, timestamp="ts")
        engine.query("bursts", "SELECT SUM(l) AS total FROM events [RANGE 3 SECONDS SLIDE 1 SECOND]")
        with pytest.raises(windrow.QueryFailed, match=r"bursts: SUM.* does not fit in int64"):
            engine.run()


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
@pytest.mark.parametrize(
    "first", ["1969-12-31 23:59:00.5", "2024-03-10 01:59:10"]
)  # the second: a gap in New York
def test_timestamps_without_time_zone(spark, zone, first):
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        check_without_time_zone(spark, first)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def check_without_time_zone(spark, first):
    df = spark.range(100).selectExpr(f"TIMESTAMP_NTZ '{first}' + make_interval(0,0,0,0,0,0,id) AS ts")
    with windrow.Engine() as engine:
        engine.stream("events", df, timestamp="ts")
        for name, count in (("plain", "COUNT(*)"), ("projected", "1 * COUNT(*)")):  # the second by Spark
            engine.query(name, f"SELECT {count} AS n FROM events [RANGE 20 SECONDS SLIDE 5 SECONDS]")
        engine.run()
        expected = df.groupBy(F.window("ts", "20 seconds", "5 seconds").alias("w")).count()
        expected = expected.selectExpr("w.start AS window_start", "w.end AS window_end", "count AS n")
        for name in engine.queries:
            assert arrow_schema(engine.results(name).schema) == arrow_schema(expected.schema)
            assert_same_answers(engine.results(name), expected, [])


@pytest.mark.parametrize("of_type", ["DECIMAL(38, 2)", "DECIMAL(7, 2)"])
def test_decimals_round_half_up_as_spark_does(spark, of_type):
    values = [Decimal("0.01"), Decimal("0.02"), Decimal("-0.05"), None]
    df = spark.createDataFrame([(i, v) for i, v in enumerate(values)], f"s INT, m {of_type}")
    df = df.selectExpr("timestamp_seconds(s) AS ts", "m")
    aggs = {"mean": "AVG(m)", "total": "SUM(m)"}
    window = Window(3 * SECOND, SECOND)
    with windrow.Engine() as engine:
        engine.stream("events", df, timestamp="ts")
        engine.query("q", statement(window, [], aggs))
        engine.run()
        assert assert_same_answers(engine.results("q"), native(df, window, [], aggs), []) == 6

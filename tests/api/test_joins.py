"""Joins and what ends with them: when each result comes and when it ends, in the figures of Golab 2006, and over
random streams; INTERNAL windows, whose results stay, as Spark's batch join and DuckDB's have them."""

from __future__ import annotations

from collections import Counter
from random import Random

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from tests.api.many_statements import answered, assert_lifetimes, assert_right, assert_same_results
from tests.api.random_queries import random_cuts, random_join, random_streams
from tests.examples import examples
from tests.window_contents import Asked, Change, WindowContents, comparable, with_whole_times

SECOND = 1_000_000


def stream(*rows):
    """Rows of a second and a value, as a stream."""
    times, values = zip(*rows, strict=True)
    ts = pa.array([second * SECOND for second in times], pa.timestamp("us", "UTC"))
    return pa.table({"ts": ts, "v": pa.array(values)})


FIGURES = {
    "1.1: the greatest stays when a smaller one comes, and is the next when it goes": (
        {"s": stream((1, 75), (3, 73), (4, 70), (9, 61))},
        "SELECT MAX(v) AS most FROM s [RANGE 10 SECONDS] {if any}",
        [(1, 1, (75,)), (-1, 11, (75,)), (1, 11, (73,)), (-1, 13, (73,)), (1, 13, (70,)), (-1, 14, (70,)),
         (1, 14, (61,)), (-1, 19, (61,))],
    ),
    "3.1 b: an old row ends a result that has just come": (
        {"s1": stream((1, "a"), (3, "b"), (9, "c")), "s2": stream((1, "c"), (4, "a"), (5, "b"))},
        "SELECT s1.v FROM s1 [RANGE 10 SECONDS] JOIN s2 [RANGE 10 SECONDS] ON s1.v = s2.v",
        [(1, 4, 11, ("a",)), (1, 5, 13, ("b",)), (1, 9, 11, ("c",))],
    ),
    "3.1 c: when a value ends that is still in the window, it comes again": (
        {"s": stream((1, "a"), (2, "b"), (4, "a"), (6, "a"), (9, "c"))},
        "SELECT DISTINCT v FROM s [RANGE 10 SECONDS]",
        [(1, 1, 11, ("a",)), (1, 2, 12, ("b",)), (1, 9, 19, ("c",)), (1, 11, 16, ("a",))],
    ),
    "3.3: no row joins a sub-result that has ended": (
        {"s1": stream((1, "a"), (8, "b")), "s2": stream((2, "a"), (8, "b")), "s3": stream((5, "a"), (12, "a"), (12, "b"))},
        "SELECT p.v FROM (SELECT s1.v FROM s1 [RANGE 10 SECONDS] JOIN s2 [RANGE 10 SECONDS] ON s1.v = s2.v) p "
        "JOIN s3 [RANGE 10 SECONDS] ON p.v = s3.v",
        [(1, 5, 11, ("a",)), (1, 12, 18, ("b",))],
    ),
    "3.3: nor one of INTERNAL windows, though what has been said stays": (
        {"s1": stream((1, "a"), (8, "b")), "s2": stream((2, "a"), (8, "b")), "s3": stream((5, "a"), (12, "a"), (12, "b"))},
        "SELECT p.v FROM (SELECT s1.v FROM s1 [RANGE 10 SECONDS INTERNAL] JOIN s2 [RANGE 10 SECONDS INTERNAL] "
        "ON s1.v = s2.v) p JOIN s3 [RANGE 10 SECONDS INTERNAL] ON p.v = s3.v",
        [(1, 5, None, ("a",)), (1, 12, None, ("b",))],
    ),
    "3.3: nor does one external window of three let it": (
        {"s1": stream((1, "a"), (8, "b")), "s2": stream((2, "a"), (8, "b")), "s3": stream((5, "a"), (12, "a"), (12, "b"))},
        "SELECT p.v FROM (SELECT s1.v FROM s1 [RANGE 10 SECONDS INTERNAL] JOIN s2 [RANGE 10 SECONDS INTERNAL] "
        "ON s1.v = s2.v) p JOIN s3 [RANGE 10 SECONDS] ON p.v = s3.v",
        [(1, 5, 15, ("a",)), (1, 12, 22, ("b",))],
    ),
    "3.2: sums over an INTERNAL window are told, and none is taken back": (
        {"s": stream((1, 5), (3, 2), (6, 2), (20, 1))},
        "SELECT SUM(v) AS total FROM s [RANGE 5 SECONDS INTERNAL] {if any}",
        [(1, 1, None, (5,)), (1, 3, None, (7,)), (1, 6, None, (4,)), (1, 8, None, (2,)), (1, 20, None, (1,))],
    ),
}  # fmt: skip


def figure(name):
    """The streams of a figure, its statement, and its changes; a change of a continuous aggregate has no end that
    could be known."""
    streams, text, changes = FIGURES[name]
    whole = [(op, ts, *(rest if len(rest) == 2 else (None, *rest))) for op, ts, *rest in changes]
    scaled = [
        Change(op, ts * SECOND, None if end is None else end * SECOND, row) for op, ts, end, row in whole
    ]
    return streams, Asked(text), scaled


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_says_what_duckdb_says(name):
    """The changes that are written down here amount to what the windows hold."""
    streams, asked, changes = figure(name)
    if not any(window.internal for window in asked.windows):
        results = pa.table(
            {
                "_op": [one.op for one in changes],
                "_ts": [one.ts for one in changes],
                "_exp": [one.exp for one in changes],
                "v": [one.row[0] for one in changes],
            }
        )
        assert_right(asked, results, WindowContents(streams))


@pytest.mark.parametrize("one_by_one", [False, True], ids=["at once", "row by row"])
@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.usefixtures("interpreted")
def test_a_figure_of_the_thesis(spark, tmp_path, name, one_by_one):
    streams, asked, changes = figure(name)
    rows = sorted(
        (when, stream, place)
        for stream, table in streams.items()
        for place, when in enumerate(with_whole_times(table)["ts"].to_pylist())
    )
    pieces = [{stream: streams[stream].slice(place, 1)} for _, stream, place in rows]
    (results,) = answered(spark, tmp_path, [asked], pieces if one_by_one else [streams])
    assert Counter(Change.of(results)) == Counter(changes)


def test_a_run_over_frames(spark, tmp_path):
    """The public face alone."""
    streams = random_streams(Random(2))
    asked = Asked("SELECT a.k, b.n FROM a [RANGE 10 SECONDS], b [RANGE 10 SECONDS] WHERE a.k = b.k")
    with windrow.Engine(tmp_path, spark=spark) as engine:
        for name, rows in streams.items():
            engine.stream(name, spark.createDataFrame(rows), timestamp="ts")
        engine.query("q", asked.cql)
        engine.run()
        results = engine.results("q").toArrow()
    assert len(results)
    assert results.column_names == ["_op", "_ts", "_exp", "k", "n"]
    assert_lifetimes(asked, results, WindowContents(streams))


@pytest.mark.usefixtures("interpreted")
@settings(settings.get_profile("spark"), max_examples=examples(2))
@given(seed=st.integers(0, 1 << 32))
def test_each_result_of_a_join_comes_and_ends_with_its_rows(spark, tmp_path_factory, seed):
    """In any pieces, and whichever windows are INTERNAL."""
    random = Random(seed)
    streams = random_streams(random)
    statements = [random_join(random) for _ in range(12)]
    home = tmp_path_factory.mktemp("homes")
    cuts = random_cuts(random, streams, 5)
    in_pieces = answered(spark, home / "pieces", statements, cuts, restarts={random.randint(1, 4)})
    whole = answered(spark, home / "whole", statements, [streams])
    contents = WindowContents(streams)
    for asked, one, other in zip(statements, in_pieces, whole, strict=True):
        assert_lifetimes(asked, one, contents)
        assert_same_results(asked, one, other)


INTERNAL = "SELECT a.k, a.n, b.x FROM a [RANGE {} MS INTERNAL] JOIN b [RANGE {} MS INTERNAL] ON a.k = b.k"
CONDITION = "a.k = b.k AND {ts_b} - {ts_a} < {a} AND {ts_a} - {ts_b} < {b}"


@pytest.mark.usefixtures("interpreted")
def test_an_internal_join_is_the_batch_join_of_spark_and_of_duckdb(spark, tmp_path):
    random = Random(5)
    streams = random_streams(random)
    ranges = [(10_000, 10_000), (3_000, 12_500), (9_000, 1)]
    statements = [Asked(INTERNAL.format(*both)) for both in ranges]
    found = answered(spark, tmp_path, statements, random_cuts(random, streams, 4))
    for name, rows in streams.items():
        spark.createDataFrame(rows).createOrReplaceTempView(name)
    for (a, b), results in zip(ranges, found, strict=True):
        sizes = {"a": a * 1_000, "b": b * 1_000}
        condition = CONDITION.format(ts_a="unix_micros(a.ts)", ts_b="unix_micros(b.ts)", **sizes)
        by_spark = spark.sql(
            f"SELECT greatest(a.ts, b.ts) AS ts, a.k, a.n, b.x FROM a JOIN b ON {condition}"
        ).toArrow()
        with duckdb.connect() as database:
            for name, rows in streams.items():
                database.register(name, with_whole_times(rows))
            condition = CONDITION.format(ts_a="a.ts", ts_b="b.ts", **sizes)
            by_duckdb = database.sql(
                f"SELECT greatest(a.ts, b.ts) AS ts, a.k, a.n, b.x FROM a JOIN b ON {condition}"
            ).fetchall()
        expected = Counter(map(comparable, by_duckdb))
        assert expected == Counter(comparable(row.values()) for row in with_whole_times(by_spark).to_pylist())
        changes = Change.of(results)
        assert {(one.op, one.exp) for one in changes} == {(1, None)}
        assert Counter(comparable((one.ts, *one.row)) for one in changes) == expected

"""Many queries share slices, passes and state, and each answers as if it were alone."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

import windrow
from tests.examples import examples
from tests.harness.on_disk import home_of, sizes_of_trees
from tests.harness.plans import wait_for_plans
from tests.oracle import assert_same_answers, recomputed, weights
from tests.streams import SECOND, Files, same_events
from windrow.planner.sharing import OPTIMIZERS
from windrow.slicing import Window

MS = 1_000
AGGS = {"total": "SUM(v)", "most": "MAX(v)", "n": "COUNT(*)", "mean": "AVG(v)"}
TOLERANCES = {"total": "_abs_v", "mean": "_abs_v"}


class Asked:
    """A query, as Windrow and as Spark are asked it."""

    def __init__(self, name, window, aggs, keys=(), where=None):
        self.name, self.window, self.keys, self.where = name, window, list(keys), where
        self.aggs = {agg: AGGS[agg] for agg in aggs}
        listed = ", ".join([*keys, *(f"{sql} AS {agg}" for agg, sql in self.aggs.items())])
        parts = [("RANGE", window.range), ("SLIDE", window.slide), ("OFFSET", window.offset)]
        shape = " ".join(f"{word} {size // MS} MS" for word, size in parts if size)
        condition = f" WHERE {where}" if where else ""
        by = f" GROUP BY {', '.join(keys)}" if keys else ""
        self.sql = f"SELECT {listed} FROM events [{shape}]{condition}{by}"

    def check(self, engine, rows):
        """Compare the answers with DuckDB's over a table of rows, from where on they are said to be complete."""
        (status,) = [query for query in engine.status().queries if query.name == self.name]
        expected = recomputed(rows, self.window, self.keys, self.aggs | weights("v"), self.where or "true")
        if status.complete_after is not None:
            since = status.complete_after.timestamp()
            expected = [row for row in expected if row["window_start"].timestamp() > since]
        progress = engine.progress("events")
        if not progress.sealed:  # windows behind the watermark wait
            expected = [
                row for row in expected if round(row["window_end"].timestamp() * SECOND) <= progress.watermark
            ]
        tolerances = {agg: weight for agg, weight in TOLERANCES.items() if agg in self.aggs}
        return assert_same_answers(engine.results(self.name), expected, self.keys, tolerances)


def engine_on(files, home, optimizer=None, nodes=None):
    engine = windrow.Engine(home, spark=files.spark, optimizer=optimizer, nodes=nodes)
    engine.stream(
        "events", files.path, timestamp="ts", delay="2 seconds", options={"maxFilesPerTrigger": "1"}
    )
    return engine


def trees_of(engine):
    """How many queries each tree has, movers counted twice."""
    return sizes_of_trees(home_of(engine))


windows = st.builds(
    Window,
    range=st.integers(1, 40).map(lambda n: n * 500 * MS),
    slide=st.integers(2, 30).map(lambda n: n * 500 * MS),
    offset=st.sampled_from([0, 0, 500 * MS]),
)
asked = st.builds(
    Asked,
    name=st.just("?"),
    window=windows,
    aggs=st.sampled_from([("total", "n"), ("most",), ("mean", "most"), ("total",)]),
    keys=st.sampled_from([(), (), ("k",)]),
    where=st.sampled_from([None, None, "v > 0"]),
)


@pytest.mark.usefixtures("interpreted")
@settings(settings.get_profile("spark"), max_examples=examples(2))
@given(
    queries=st.lists(asked, min_size=4, max_size=7),
    comes=st.lists(st.integers(0, 2), min_size=7, max_size=7),
    goes=st.lists(st.integers(1, 6), min_size=7, max_size=7),
    optimizers=st.lists(
        st.tuples(st.sampled_from([None, *OPTIMIZERS]), st.sampled_from([None, 1, 2])), min_size=4, max_size=4
    ),
)
def test_any_trees_and_any_comings_and_goings(spark, tmp_path_factory, queries, comes, goes, optimizers):
    """Engines follow on each other, each with its own idea of how to share, some with trees in Spark
    tasks; queries come and go."""
    place = tmp_path_factory.mktemp("many")
    files = Files(spark, place / "in")
    for number, query in enumerate(queries):
        query.name = f"q{number}"
    for epoch, (optimizer, nodes) in enumerate(optimizers):
        files.add(epoch * 9, epoch * 9 + 9)
        with engine_on(files, place / "home", optimizer, nodes) as engine:
            for query, first, last in zip(queries, comes, goes, strict=False):
                if first == epoch:
                    engine.query(query.name, query.sql)
                if last == epoch and first < last:
                    query.check(engine, same_events(0, epoch * 9))
                    engine.drop(query.name)
            if engine.queries:
                engine.run(seal=False)
                wait_for_plans(engine)
    with engine_on(files, place / "home") as engine:
        staying = [q for q, first, last in zip(queries, comes, goes, strict=False) if first <= 3 < last]
        if staying:
            engine.run(seal=True)
        for query in staying:
            query.check(engine, same_events(0, 36))


@pytest.mark.parametrize("optimizer", [None, *OPTIMIZERS])
def test_every_optimizer_gives_the_same_answers(spark, tmp_path, optimizer):
    files = Files(spark, tmp_path / "in")
    files.add(0, 30)
    files.add(30, 60)
    queries = [
        Asked(f"q{i}", Window(r * SECOND, s * SECOND), ("total", "n"), keys)
        for i, (r, s, keys) in enumerate(
            [(20, 5, ()), (21, 7, ()), (12, 3, ()), (10, 10, ("k",)), (9, 2, ("k",))]
        )
    ]
    with engine_on(files, tmp_path / "home", optimizer) as engine:
        for query in queries:
            engine.query(query.name, query.sql)
        engine.run(seal=False)
        trees = trees_of(engine)
        engine.run(seal=True)
        assert sum(trees) == len(queries)
        if optimizer == "no_share":
            assert trees == [1] * 5
        elif optimizer == "max_share":
            assert trees == [2, 3]
        for query in queries[:: 1 if optimizer is None else 2]:
            assert query.check(engine, same_events(0, 60)) > 5


def test_coprime_slides_neither_hang_nor_blow_up(spark, tmp_path):
    """Their composite slide is longer than the universe is old."""
    primes = [7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83]
    files = Files(spark, tmp_path / "in")
    files.add(0, 40)
    files.add(40, 90)
    queries = [
        Asked(f"q{unit}_{p}", Window(3 * p * unit * MS, p * unit * MS + (unit > 1) * MS), ("total", "most"))
        for unit in (1, 1_000)
        for p in primes
    ]
    with engine_on(files, tmp_path / "home") as engine:
        for query in queries:
            engine.query(query.name, query.sql)
        assert len(engine.explain()) < 100_000
        engine.run(seal=True)
        for query in (queries[5], queries[19], queries[20], queries[39]):
            assert query.check(engine, same_events(0, 90)) > 0


def test_a_query_that_comes_late_answers_from_the_slices_that_are_there(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    files.add(0, 60)
    long = Asked("long", Window(40 * SECOND, 5 * SECOND), ("total", "n"), ("k",))
    fits = Asked("fits", Window(20 * SECOND, 10 * SECOND), ("total",), ("k",))
    finer = Asked("finer", Window(20 * SECOND, 3 * SECOND), ("total",), ("k",))
    other = Asked("other", Window(20 * SECOND, 10 * SECOND), ("most",), ("k",))
    with engine_on(files, tmp_path / "home") as engine:
        engine.query(long.name, long.sql)
        engine.run(seal=False)
        latest = engine.progress("events").latest
        for query in (fits, finer, other):
            engine.query(query.name, query.sql)
        files.add(60, 100)
        engine.run(seal=False)
        since = {query.name: query.complete_after for query in engine.status().queries}
        assert since["long"] is None
        assert (
            since["fits"].timestamp() * SECOND < latest - 15 * SECOND
        )  # windows of 20 s are answered at once
        assert since["finer"].timestamp() * SECOND == since["other"].timestamp() * SECOND == latest
        files.add(100, 130)
        engine.run(seal=True)
        for query in (long, fits, finer, other):
            assert query.check(engine, same_events(0, 130)) > 0
        first = engine.results("fits").agg(F.min("window_end")).first()[0]
        assert first.timestamp() * SECOND <= latest + 10 * SECOND


def test_queries_move_to_another_tree_without_a_gap(spark, tmp_path):
    """Two trees, then one is asked for: each query is handed over when its windows begin behind the move."""
    files = Files(spark, tmp_path / "in")
    files.add(0, 30)
    queries = [
        Asked("a", Window(20 * SECOND, 4 * SECOND), ("total",)),
        Asked("b", Window(9 * SECOND, 3 * SECOND), ("n", "most")),
        Asked("c", Window(30 * SECOND, 7 * SECOND), ("total", "mean")),
    ]
    with engine_on(files, tmp_path / "home", "no_share") as engine:
        for query in queries:
            engine.query(query.name, query.sql)
        engine.run(seal=False)
        assert trees_of(engine) == [1, 1, 1]
    seen = []
    for first in (30, 40, 50, 60, 70, 80):
        files.add(first, first + 5)
        with engine_on(files, tmp_path / "home", "max_share") as engine:
            if first == 30:  # somebody comes, so that the trees are thought about
                engine.query("d", Asked("d", Window(6 * SECOND, 2 * SECOND), ("n",)).sql)
            engine.run(seal=False)
            wait_for_plans(engine)
            files.add(first + 5, first + 10)  # the same engine takes the plan over
            engine.run(seal=False)
            seen.append(trees_of(engine))
    assert sum(seen[0]) > 4, "some are in two trees"
    assert seen[-1] == [4]
    with engine_on(files, tmp_path / "home", "max_share") as engine:
        engine.run(seal=True)
        for query in queries:
            assert query.check(engine, same_events(0, 90)) > 10


def test_only_the_query_that_fails_is_quarantined(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    files.add(0, 60)
    good = [Asked(f"good{i}", Window((10 + i) * SECOND, 5 * SECOND), ("total", "n")) for i in range(6)]
    shape = "FROM events [RANGE 10 SECONDS SLIDE 5 SECONDS]"
    with engine_on(files, tmp_path / "home") as engine:
        for query in good:
            engine.query(query.name, query.sql)
        engine.query("overflows", f"SELECT SUM(9223372036854775807) AS n {shape}")
        engine.query("divides", f"SELECT COUNT(*) / (COUNT(*) - COUNT(*)) AS n {shape}")
        with pytest.raises(windrow.QueryFailed) as failed:
            engine.run(seal=True)
        assert "overflows: " in str(failed.value)
        assert "divides: " in str(failed.value)
        for query in good[::3]:
            assert query.check(engine, same_events(0, 60)) > 5
        assert {q.name for q in engine.status().queries if q.quarantined} == {"overflows", "divides"}


def test_partials_that_spark_groups_otherwise_are_cut_for_the_whole_tree(spark, tmp_path):
    """A greatest string takes a pass of its own; a group that begins late in a long slide begins late."""
    files = Files(spark, tmp_path / "in")
    files.add(0, 90)
    group = "CAST(floor(unix_seconds(ts) / 13) AS INT)"
    sql = {
        "sums": f"SELECT {group} AS g, SUM(v) AS s FROM events [RANGE 6 SECONDS SLIDE 3 SECONDS] GROUP BY {group}",
        "texts": f"SELECT {group} AS g, MAX(x) AS x FROM events [RANGE 60 SECONDS SLIDE 30 SECONDS] "
        f"GROUP BY {group}",
        "others": "SELECT MAX(x) AS x, SUM(v) AS s FROM events [RANGE 5 SECONDS SLIDE 5 SECONDS] WHERE v > 0",
    }
    rows = {}
    for place, names in (("together", list(sql)), *((name, [name]) for name in sql)):
        with engine_on(files, tmp_path / place) as engine:
            for name in names:
                engine.query(name, sql[name])
            engine.run(seal=True)
            for name in names:
                rows[place, name] = sorted(tuple(row)[1:3] for row in engine.results(name).collect())
    for name in sql:
        assert rows["together", name] == rows[name, name]
        assert len(rows[name, name]) > 3


def test_many_statements_leave_no_garbage_to_epochs(spark, tmp_path):
    """Else Python frees thousands of parsed statements in the middle of an epoch."""
    files = Files(spark, tmp_path / "input")
    files.add(0, 10)
    queries = 1_200
    window = "FROM events [RANGE {} SECONDS SLIDE 1 SECOND];"
    text = "".join(f"CREATE QUERY q{n} AS SELECT SUM(v) {window.format(n + 1)}" for n in range(queries))
    with engine_on(files, tmp_path / "home") as engine:
        with pytest.raises(windrow.WindrowError, match="nothing"):
            engine.execute(f"{text} SELECT SUM(nothing) {window.format(1)}")
        assert gc.isenabled()
        gc.collect()
        assert len(engine.execute(text)) == queries
        assert gc.isenabled()
        assert gc.collect() < queries  # of a statement, some twenty objects would be left

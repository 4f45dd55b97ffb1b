"""Queries with many groupings and predicates share passes, and none of them can tell."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from tests.api.test_same_answers import EPOCH, optional, split_late
from tests.examples import examples
from tests.harness.micro_batches import feeding
from tests.oracle import assert_same_answers, interpreting, native, weights
from windrow.planner import WovenPass
from windrow.slicing import Window

SECOND = 1_000_000
SCHEMA = pa.schema(
    {"ts": pa.timestamp("us", "UTC"), "k": pa.string(), "n": pa.int32(), "d": pa.float64(), "l": pa.int64()}
)
AGGREGATES = {
    "total": "SUM(d)", "rows": "COUNT(*)", "most": "MAX(l)", "last": "MAX(k)",
    "some": "COUNT(n)", "spread": "VAR_POP(d)", "whole": "SUM(l)",
}  # fmt: skip
GROUPINGS = [[], ["k"], ["n"], ["k", "n"], ["l"]]
PREDICATES = ["true", "d > 0", "d > 10 OR k = '1'", "n = 1", "NOT n = 1", "l IS NULL", "k = '1' AND d > -5"]

rows = st.lists(
    st.fixed_dictionaries(
        {
            "ts": st.integers(0, 600).map(lambda tenths: EPOCH + timedelta(milliseconds=100 * tenths)),
            "k": optional(st.sampled_from("0123")),
            "n": optional(st.integers(0, 2)),
            "d": optional(st.floats(-20, 20).map(lambda x: x if abs(x) > 1e-3 else 0.0)),
            "l": optional(st.integers(0, 3)),
        }
    ),
    min_size=1,
    max_size=80,
)
windows = st.builds(
    Window, st.integers(1, 30).map(SECOND.__mul__), st.sampled_from([1, 5, 7, 30]).map(SECOND.__mul__)
)
queries = st.lists(
    st.tuples(
        st.sampled_from(GROUPINGS),
        st.sampled_from(PREDICATES),
        windows,
        st.lists(st.sampled_from(list(AGGREGATES)), max_size=3, unique=True),
    ),
    min_size=3,
    max_size=6,
)


def frame(spark, data):
    return spark.createDataFrame(pa.Table.from_pylist(data, SCHEMA))


def statement(keys, where, window, names):
    items = [*keys, *(f"{AGGREGATES[name]} AS {name}" for name in names or ["rows"])]
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    clause = "" if where == "true" else f"WHERE {where}"
    return (
        f"SELECT {', '.join(items)} FROM e [RANGE {window.range} US SLIDE {window.slide} US] {clause}{group}"
    )


@pytest.mark.usefixtures("interpreted")
@settings(settings.get_profile("spark"), max_examples=examples(4))
@given(
    data=rows,
    asked=queries,
    cuts=st.lists(st.integers(0, 80), max_size=3),
    delay=st.sampled_from([0, 3, 1_000]),
)
def test_answers_over_micro_batches_are_those_of_spark(spark, tmp_path_factory, data, asked, cuts, delay):
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    batches = [data[a:b] for a, b in itertools.pairwise(edges)]
    in_time, late = split_late(batches, itertools.repeat(None), timedelta(seconds=delay))
    path = tmp_path_factory.mktemp("home")
    engine = windrow.Engine(path, spark=spark)
    engine.stream("e", frame(spark, []), timestamp="ts", delay=f"{delay} seconds")
    for number, one in enumerate(asked):
        engine.query(f"q{number}", statement(*one))
    with feeding(engine, "e") as feed:
        for number, batch in enumerate(batches):
            feed.batch(frame(spark, batch), number)
        feed.seal()
    df = frame(spark, in_time).cache()
    for number, (keys, where, window, names) in enumerate(asked):
        aggs = {name: AGGREGATES[name] for name in names or ["rows"]}
        expected = native(df.where(where), window, keys, aggs | weights("d"))
        tolerances = {"total": "_abs_d", "spread": "_squares_d"}
        assert_same_answers(engine.results(f"q{number}"), expected, keys, tolerances)
    df.unpersist()
    assert engine.progress("e").late == late == engine.late("e").count()
    assert engine.progress("e").rows == len(data)


W = "[RANGE 10 SECONDS SLIDE 10 SECONDS]"


@pytest.fixture(scope="module")
def numbers(spark):
    """Four rows a second for a minute; x is zero for every tenth, s is no number for every sixth."""
    return spark.range(240).selectExpr(
        "timestamp_millis(id * 250) AS ts", "id % 3 AS k", "id % 10 AS x",
        "IF(id % 6 = 0, 'none', CAST(id AS STRING)) AS s", "id",
    ).cache()  # fmt: skip


GOOD = {
    "all": f"SELECT COUNT(*) AS n FROM e {W}",
    "keyed": f"SELECT k, SUM(id) AS n FROM e {W} GROUP BY k",
    "other": f"SELECT k % 2 AS o, MAX(id) AS n FROM e {W} WHERE id > 100 GROUP BY k % 2",
    "third": f"SELECT k, k % 2 AS o, MIN(id) AS n FROM e {W} WHERE id > 50 GROUP BY k, k % 2",
}


def run(spark, df, statements, expect=None):
    with windrow.Engine() as engine:
        engine.stream("e", df, timestamp="ts")
        for name, text in statements.items():
            engine.query(name, text)
        if expect is None:
            engine.run()
        else:
            with pytest.raises(windrow.QueryFailed, match=expect):
                engine.run()
        condition = {query.name: query.condition for query in engine.status().queries}
        found = {name: sorted(map(rounded, engine.results(name).collect()), key=repr) for name in statements}
        return found, {name for name, is_ in condition.items() if is_ == "quarantined"}


def rounded(row):
    """Without the last digits of floats, which depend on the order of rows."""
    return tuple(f"{value:.9g}" if isinstance(value, float) else value for value in row)


@pytest.fixture(scope="module")
def good(spark, numbers):
    """What the good ones answer together."""
    return run(spark, numbers, GOOD)[0]


def alone(spark, df, statements):
    """What each answers in an engine of its own."""
    with interpreting(spark):
        return {name: run(spark, df, {name: text})[0][name] for name, text in statements.items()}


def test_each_gives_what_it_gives_alone(spark, numbers, good):
    assert good == alone(spark, numbers, GOOD)
    assert all(good.values())


def test_values_of_rows_that_a_predicate_leaves_out_are_not_looked_at(spark, numbers, caplog):
    careful = {
        # Two aggregates of one argument: Spark computes it before it asks a FILTER.
        "aggregate": f"SELECT SUM(1 / x) AS a, MAX(1 / x) AS b FROM e {W} WHERE x != 0",
        "two": f"SELECT COVAR_POP(1 / x, id) AS a, CORR(id, 1 / x) AS b FROM e {W} WHERE x != 0",
        "pair": f"SELECT LAST(1 / x) AS a, MAX_BY(id, 1 / x) AS b FROM e {W} WHERE x != 0",
        # The second is derived from the groups of the first, and has rows that it leaves out.
        "key": f"SELECT 12 % x AS m, id % 7 AS d, COUNT(*) AS n FROM e {W} WHERE x != 0 GROUP BY 12 % x, id % 7",
        "coarse": f"SELECT id % 7 AS d, COUNT(*) AS n FROM e {W} GROUP BY id % 7",
        "cast": f"SELECT CAST(s AS INT) % 5 AS m, SUM(CAST(s AS INT)) AS n FROM e {W} WHERE s != 'none' GROUP BY CAST(s AS INT) % 5",
    }
    together, quarantined = run(spark, numbers, GOOD | careful)
    assert not quarantined
    assert "from now on each class has its own" not in caplog.text
    assert {name: together[name] for name in careful} == alone(spark, numbers, careful)


@pytest.mark.parametrize(
    "broken",
    [
        f"SELECT COUNT(*) AS n FROM e {W} WHERE CAST(s AS INT) > 0",
        f"SELECT k % x AS m, COUNT(*) AS n FROM e {W} GROUP BY k % x",
        f"SELECT k, MAX(1 / x) AS n FROM e {W} GROUP BY k",
    ],
    ids=["predicate", "key", "aggregate"],
)
def test_only_the_culprit_is_set_aside(spark, numbers, good, broken):
    found, quarantined = run(spark, numbers, {**GOOD, "broken": broken}, "^broken: ")
    assert quarantined == {"broken"}
    assert {name: found[name] for name in GOOD} == good


def test_queries_that_fail_only_together_run_apart(spark, numbers, good, monkeypatch, caplog):
    monkeypatch.setattr(WovenPass, "sql", lambda self, bounds: "SELECT no_such_column")
    found, quarantined = run(spark, numbers, GOOD)
    assert found == good
    assert not quarantined
    assert "from now on each class has its own" in caplog.text


def test_enriched_rows_are_marked_by_what_the_tables_say(spark, numbers):
    table = spark.createDataFrame([(0, "a"), (0, "b"), (1, "c")], "k INT, name STRING")
    statements = {
        "inner": f"SELECT name, COUNT(*) AS n FROM e {W} JOIN t ON t.k = e.k GROUP BY name",
        "some": f"SELECT e.k, SUM(id) AS n FROM e {W} JOIN t ON t.k = e.k WHERE name > 'a' GROUP BY e.k",
        "left": f"SELECT name, COUNT(*) AS n FROM e {W} LEFT JOIN t ON t.k = e.k WHERE id < 200 GROUP BY name",
        "lefts": f"SELECT COUNT(name) AS n FROM e {W} LEFT JOIN t ON t.k = e.k",
    }
    found = {}
    for chosen in (statements, *({name: text} for name, text in statements.items())):
        with windrow.Engine() as engine:
            engine.stream("e", numbers, timestamp="ts")
            engine.table("t", table)
            for name, text in chosen.items():
                engine.query(name, text)
            assert engine.explain().count("mark rows by 2 predicates") == (2 if len(chosen) > 1 else 0)
            engine.run()
            assert engine.progress("e").rows == 240
            for name in chosen:
                rows = sorted(map(tuple, engine.results(name).collect()), key=repr)
                assert found.setdefault(name, rows) == rows
                assert rows


def test_explain_tells_groupings_and_predicates(spark, numbers):
    with windrow.Engine() as engine:
        engine.stream("e", numbers, timestamp="ts")
        for name, text in GOOD.items():
            engine.query(name, text)
        told = engine.explain()
    assert "pass 1 of 1 over e (in the JVM), shared by 4 queries" in told
    assert "mark rows by 3 predicates: true; id > 100; id > 50" in told
    assert "by k, k % 2: 4 classes, 3 predicates; cut every 10 seconds" in told

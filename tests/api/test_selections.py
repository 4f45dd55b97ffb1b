"""Queries without a window: each row that is not late is answered once, as Spark would select it, for good."""

from __future__ import annotations

import itertools
from collections import Counter
from contextlib import ExitStack
from datetime import timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from tests.api.test_same_answers import frame, rows, split_late
from tests.examples import examples
from tests.harness.micro_batches import feeding
from tests.harness.on_disk import committed_files, compact
from tests.streams import Files, Lines, engine_on, same_events, text_engine
from windrow.logical.patterns import UpdatePattern
from windrow.runtime.home.results import result_schema, time_column

HOT = "SELECT ts, k, v * 1.8 + 32 AS f FROM events WHERE v > 0.5"
SELECTIONS = {
    "everything": ("*", None),
    "computed": ("k, i * 2L AS twice, CASE WHEN d > 0 THEN s END AS text, upper(s) AS loud", "n > 0"),
    "typed": ("m + 1 AS more, date_add(day, 1) AS next, t, struct(i, s) AS both, array(n) AS list", "b"),
    "nothing": ("ts", "false"),
    "unknown": ("f, d", "l > 0 OR d IS NULL"),
    "divided": ("100 / n AS share", "n <> 0"),
}


def sql_of(name):
    items, where = SELECTIONS[name]
    return f"SELECT {items} FROM events" + (f" WHERE {where}" if where else "")


def contents(frame):
    """Rows as a multiset, NaN being equal to itself."""
    return Counter(repr(row) for row in frame.collect())


def spark_selects(spark, rows, name):
    """Spark's own answer over a DataFrame, with the event time of each row in front."""
    items, where = SELECTIONS[name]
    rows.createOrReplaceTempView("events_of_a_test")
    return spark.sql(f"SELECT ts AS _ts, {items} FROM events_of_a_test WHERE {where or 'true'}")


@pytest.mark.usefixtures("interpreted")
@settings(settings.get_profile("spark"), max_examples=examples(4))
@given(
    data=rows(),
    names=st.sets(st.sampled_from(sorted(SELECTIONS)), min_size=1, max_size=4),
    cuts=st.lists(st.integers(0, 60), max_size=3),
    delay=st.sampled_from([0, 3, 1_000]),
    restarts=st.booleans(),
    beside=st.booleans(),
)
def test_any_micro_batches_give_what_spark_selects_from_rows_that_were_not_late(
    spark, tmp_path_factory, data, names, cuts, delay, restarts, beside
):
    """Each batch is handed out twice; engines come and go; a window over the same stream stands beside, or not."""
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    batches = [data[a:b] for a, b in itertools.pairwise(edges)]
    in_time, late = split_late(batches, [None] * len(batches), timedelta(seconds=delay))
    home = tmp_path_factory.mktemp("home")
    with ExitStack() as held:
        for number, batch in enumerate(batches):
            if number == 0 or restarts:
                held.close()
                engine = windrow.Engine(home, spark=spark)
                engine.stream("events", frame(spark, []), timestamp="ts", delay=f"{delay} seconds")
                for name in sorted(names):
                    engine.query(name, sql_of(name))
                if beside:
                    engine.query("n", "SELECT COUNT(*) AS n FROM events [RANGE 1 HOUR SLIDE 1 HOUR]")
                feed = held.enter_context(feeding(engine, "events"))
            for again in (False, True):
                assert (feed.batch(frame(spark, batch), number) is None) == again
        feed.seal()
    for name in names:
        found, expected = engine.results(name), spark_selects(spark, frame(spark, in_time), name)
        assert [(f.name, f.dataType) for f in found.schema] == [(f.name, f.dataType) for f in expected.schema]
        assert contents(found) == contents(expected), name
    assert engine.progress("events").late == late
    assert engine.progress("events").rows == len(data)


@pytest.fixture
def files(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    files.add(0, 40)
    return files


def hot(first, last):
    """The results of HOT over the rows of some seconds."""
    chosen = same_events(first, last).to_pylist()
    return sorted((row["ts"], row["k"], row["v"] * 1.8 + 32) for row in chosen if row["v"] > 0.5)


def found(engine, name="q", **options):
    """The results of HOT as an engine has them."""
    answers = engine.results(name, **options).toArrow().to_pylist()
    assert all(row["_ts"] == row["ts"] for row in answers)
    return sorted((row["ts"], row["k"], row["f"]) for row in answers)


def test_each_row_is_answered_with_the_commit_of_its_batch(files, tmp_path):
    """However far the watermark lags, and through restarts; the seal has nothing left to answer."""
    engine = engine_on(files, tmp_path / "home", HOT, delay="1 hour")
    engine.run(seal=False)
    assert found(engine) == hot(0, 40)
    assert engine.waiting() == []
    files.add(40, 60)
    for _ in range(2):
        engine = engine_on(files, tmp_path / "home", HOT, delay="1 hour")
        engine.run(seal=False)
        assert found(engine) == hot(0, 60)
    reports = []
    engine.on_epoch = reports.append
    engine.run(seal=True)
    assert [sum(report.answers.values()) for report in reports] == [0]
    assert engine.results("q").columns == ["_ts", "ts", "k", "f"]
    assert found(engine) == hot(0, 60)
    assert {row._epoch for row in engine.results("q", epochs=True).collect()} == {0, 1}


def test_nothing_is_kept_of_rows_that_have_been_answered(files, tmp_path):
    engine = engine_on(files, tmp_path / "home", HOT)
    engine.run(seal=False)
    assert committed_files(tmp_path / "home", "slices") == []
    (query,) = engine.status().queries
    assert (query.entries, query.state_bytes) == (0, 0)
    assert query.answers == len(hot(0, 40))
    assert query.latest_end == hot(0, 40)[-1][0]


def test_a_sink_gets_the_rows_of_each_epoch(files, tmp_path):
    got = []
    engine = engine_on(files, tmp_path / "home", HOT)
    engine.sink("q", lambda epoch, answers: got.append((epoch, answers)))
    files.add(40, 60)
    engine.run(seal=False)
    assert [epoch for epoch, _ in got] == [0, 1]
    rows = pa.concat_tables(answers for _, answers in got).to_pylist()
    assert sorted((row["_ts"], row["k"], row["f"]) for row in rows) == hot(0, 60)


def test_results_are_retained_and_read_by_their_own_time(files, tmp_path):
    """What RETAIN lets go is the rows more than that before the latest one; compaction does."""
    engine = engine_on(files, tmp_path / "home", HOT)
    engine.query("kept", HOT, retain="15 seconds")
    for first in range(40, 80, 2):
        files.add(first, first + 2)
    engine.run(seal=False)
    latest = hot(0, 80)[-1][0]
    since = [row for row in hot(0, 80) if row[0] > latest - timedelta(seconds=15)]
    assert found(engine, last="15 seconds") == since == found(engine, "kept")
    compact(engine)
    assert len(committed_files(tmp_path / "home", "results")) < 21  # a file an epoch
    assert found(engine, "kept") == since
    assert found(engine) == hot(0, 80)


def test_a_query_that_comes_later_has_the_rows_of_later_batches(files, tmp_path):
    engine = engine_on(files, tmp_path / "home", HOT)
    engine.run(seal=False)
    engine.query("late", HOT.replace("0.5", "0.25 + 0.25"))
    files.add(40, 60)
    engine.run(seal=False)
    assert found(engine) == hot(0, 60)
    assert found(engine, "late") == hot(40, 60)
    engine.drop("late")
    files.add(60, 70)
    engine.run(seal=False)
    assert found(engine) == hot(0, 70)


def test_many_share_one_pass_and_one_with_all_rows_counts_them(files, tmp_path, caplog):
    """An expression is computed only for the rows of the query that asks for it: others it would fail for."""
    engine = engine_on(files, tmp_path / "home", "SELECT k, v FROM events")
    for k in range(5):
        engine.query(
            f"k{k}", f"SELECT ts, 1 / (CASE WHEN k = {k} THEN 1 ELSE 0 END) AS one FROM events WHERE k = {k}"
        )
    plan = engine.explain().plan
    assert len(plan.inputs["events"].passes) == 1
    assert all(output.of.pattern is UpdatePattern.MONOTONIC for output in plan.outputs.values())
    assert {time_column(result_schema(output.of)) for output in plan.outputs.values()} == {"_ts"}
    engine.run(seal=False)
    assert [engine.results(f"k{k}").count() for k in range(5)] == [80] * 5
    assert engine.results("q").count() == 400
    assert all(query.quarantined is None for query in engine.status().queries)
    assert "fail in one pass" not in caplog.text


def test_one_that_fails_is_quarantined_and_the_others_are_answered(files, tmp_path):
    engine = engine_on(files, tmp_path / "home", HOT)
    engine.query("broken", "SELECT 1 / (k - k) AS never FROM events WHERE v > 0")
    engine.query("sums", "SELECT SUM(k) AS total FROM events [RANGE 10 SECONDS SLIDE 10 SECONDS]")
    with pytest.raises(windrow.QueryFailed, match=r"broken: .*Division by zero"):
        engine.run(seal=True)
    assert found(engine) == hot(0, 40)
    assert engine.results("sums").count() == 4
    assert engine.results("broken").count() == 0


@pytest.mark.parametrize("counting", [True, False], ids=["a pass that counts", "a pass that does not"])
def test_late_rows_and_dead_letters_are_answered_by_nobody(spark, tmp_path, counting):
    lines = Lines(tmp_path / "in")
    lines.add("2024-01-01T00:00:10Z,1,1.5\n2024-01-01T00:05:00Z,2,2.5\n")
    lines.add("2024-01-01T00:00:20Z,3,0\nno time,4,0\n2024-01-01T00:06:00Z,5,0\n2024-01-01T00:07:00Z,6,0\n")
    engine = text_engine(spark, lines, tmp_path / "home", max_dead=10)
    engine.query("values", "SELECT v, unused FROM s WHERE v <> 6")
    if counting:
        engine.query("all", "SELECT * FROM s")
    engine.run(seal=False)
    assert sorted(row.v for row in engine.results("values").collect()) == [1, 2, 5]
    if counting:
        assert sorted(row.v for row in engine.results("all").collect()) == [1, 2, 5, 6]
    assert (engine.progress("s").late, engine.progress("s").dead) == (1, 1)


def test_rows_are_joined_with_tables(spark, files, tmp_path):
    engine = engine_on(files, tmp_path / "home")
    engine.table("names", spark.createDataFrame([(1, "one"), (2, "two")], "k INT, name STRING"))
    engine.query("named", "SELECT n.name, e.ts, e.v FROM events e JOIN names n ON n.k = e.k WHERE e.v > 0")
    engine.query("all", "SELECT n.*, e.v FROM events e LEFT JOIN names n ON n.k = e.k WHERE e.k < 3")
    engine.run(seal=False)
    rows = same_events(0, 40).to_pylist()
    names = {1: "one", 2: "two"}
    answers = [(row.name, row.v) for row in engine.results("named").collect()]
    assert sorted(answers) == sorted((names[r["k"]], r["v"]) for r in rows if r["k"] in names and r["v"] > 0)
    everything = engine.results("all")
    assert everything.columns == ["_ts", "k", "name", "v"]
    assert Counter((row.k, row.name) for row in everything.collect()) == {
        (None, None): 80,
        (1, "one"): 80,
        (2, "two"): 80,
    }


def test_a_static_frame_and_one_without_time_zone(spark, tmp_path):
    rows = spark.sql(
        "SELECT TIMESTAMP_NTZ '2024-03-31 02:30:00' + make_interval(0, 0, 0, 0, 0, 0, id) AS at, id FROM range(10)"
    )
    with windrow.Engine(tmp_path / "home", spark=spark) as engine:
        engine.stream("s", rows, timestamp="at")
        engine.query("odd", "SELECT id, at FROM s WHERE id % 2 = 1")
        engine.run()
        answers = engine.results("odd")
        assert dict(answers.dtypes)["_ts"] == "timestamp_ntz"
        assert contents(answers) == contents(rows.where("id % 2 = 1").selectExpr("at AS _ts", "id", "at"))


def test_what_is_shown_while_rows_come(files, tmp_path):
    """A plan that says so, and a watch with the latest rows, from a report and from the home alike."""
    engine = engine_on(files, tmp_path / "home", HOT)
    told = str(engine.explain())
    assert "1 query without a state (no window: each row is answered as it comes): q" in told
    assert "keep rows by 1 predicate: v > 0.5" in told
    assert "answer each row once, with its batch: ts, k, v * 1.8 + 32 AS f" in told
    assert "results: monotonic, by _ts; no state" in told
    assert "no window" in engine.explain().to_svg()
    watch = engine.watch("q", rows=3)
    assert str(watch) == "q: no answers yet"
    engine.run(seal=False)
    assert str(watch).splitlines()[0] == "q: latest 3 answers, epoch 0"
    last = [row[0] for row in hot(0, 40)[-3:]]
    assert watch.latest["_ts"].to_pylist()[-3:] == last
    assert engine.watch("q").latest["_ts"].to_pylist()[-3:] == last

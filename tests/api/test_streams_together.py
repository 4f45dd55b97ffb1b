"""Streams that a query reads together: one that is ahead waits for the others, one that is idle holds nobody back,
and a query that comes late begins when its windows are full."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow
from tests.harness.micro_batches import feeding
from tests.streams import Files
from windrow.logical import Stream
from windrow.runtime.home.records import Progress
from windrow.runtime.home.watermark import is_silent, joint

SECOND = 1_000_000
DELAY = 2
SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.int64()), ("v", pa.int64())])
JOIN = "FROM a [RANGE 10 SECONDS] AS a JOIN b [RANGE 6 SECONDS] AS b ON a.k = b.k"
LATER = {
    "joined": f"SELECT a.k, a.v, b.v AS w {JOIN}",
    "distinct": "SELECT DISTINCT k FROM a [RANGE 10 SECONDS]",
    "counted": f"SELECT a.k, COUNT(*) AS n {JOIN} GROUP BY a.k",
    "news": f"SELECT ISTREAM a.k, a.v, b.v AS w {JOIN}",
    "evaluated": "SELECT k, v FROM a [RANGE 10 SECONDS SLIDE 4 SECONDS INTERNAL]",
}


class Clock:
    """A clock that stands still until it is set."""

    now = 1_000_000.0

    def __call__(self):
        return self.now


def rows(first, last, step=1):
    """A row every so many seconds, three keys."""
    seconds = range(first, last, step)
    columns = [[s * SECOND for s in seconds], [s % 3 for s in seconds], list(seconds)]
    return pa.table(columns, schema=pa.schema([("ts", pa.int64()), *list(SCHEMA)[1:]])).cast(SCHEMA)


def engine_in(spark, home, clock=None, **options):
    engine = windrow.Engine(home, spark=spark, nodes=1, **({} if clock is None else {"clock": clock}))
    for name in ("a", "b"):
        empty = spark.createDataFrame(SCHEMA.empty_table())
        engine.stream(name, empty, timestamp="ts", delay=f"{DELAY} seconds", **options)
    return engine


def instants(table, name):
    return table[name].cast(pa.int64()).to_pylist()


def later_than(table, name, at):
    """The rows of which an instant is later than one."""
    return Counter(
        repr(row) for row, when in zip(table.to_pylist(), instants(table, name), strict=True) if when > at
    )


def answer_at(changes, at):
    """What is there at an instant, from the changes of a query."""
    names = [name for name in changes.column_names if name not in ("_op", "_ts", "_exp")]
    found = Counter()
    for row, ts, exp in zip(
        changes.to_pylist(), instants(changes, "_ts"), instants(changes, "_exp"), strict=True
    ):
        if ts <= at and (exp is None or at < exp):
            found[tuple(row[name] for name in names)] += row["_op"]
    return Counter({row: times for row, times in found.items() if times})


@pytest.fixture(scope="module")
def latecomers(spark, tmp_path_factory):
    """Queries that were there from the beginning, and others of the same text that came later: their results, and
    the second up to which these had missed rows."""
    with engine_in(spark, tmp_path_factory.mktemp("late") / "home") as engine:
        for name, sql in LATER.items():
            engine.query(f"{name}_whole", sql)
        with feeding(engine, "a", "b") as feed:
            feed.together(
                {"a": (spark.createDataFrame(rows(0, 20)), 0), "b": (spark.createDataFrame(rows(0, 15)), 0)}
            )
            for name, sql in LATER.items():
                engine.query(name, sql)
            batches = [(20, 26, 15, 31), (26, 33, 31, 32), (33, 50, 32, 47)]
            for number, (a, to_a, b, to_b) in enumerate(batches, start=1):
                frames = (rows(a, to_a), rows(b, to_b))
                feed.together(
                    {n: (spark.createDataFrame(f), number) for n, f in zip("ab", frames, strict=True)}
                )
            for name in ("a", "b"):
                feed.seal(name)
        yield {name: engine.results(name).toArrow() for name in engine.queries}


@pytest.mark.parametrize("name", ["joined", "distinct", "counted"])
def test_a_query_that_comes_late_begins_with_the_answer_of_full_windows(latecomers, name):
    opens = (19 + 10) * SECOND
    later, whole = latecomers[name], latecomers[f"{name}_whole"]
    assert min(instants(later, "_ts")) == opens
    assert all(
        op == 1
        for op, ts in zip(later["_op"].to_pylist(), instants(later, "_ts"), strict=True)
        if ts == opens
    )
    for at in sorted({opens, *(ts for ts in instants(whole, "_ts") if ts > opens)}):
        assert answer_at(later, at) == answer_at(whole, at), at


def test_what_is_new_begins_with_nothing(latecomers):
    opens = (19 + 10) * SECOND
    later, whole = latecomers["news"], latecomers["news_whole"]
    assert Counter(map(repr, later.to_pylist())) == later_than(whole, "_ts", opens) != Counter()


def test_evaluations_are_answered_when_their_windows_begin_after_the_query_came(latecomers):
    later, whole = latecomers["evaluated"], latecomers["evaluated_whole"]
    expected = later_than(whole, "window_end", (19 + 10) * SECOND)
    assert Counter(map(repr, later.to_pylist())) == expected != Counter()


def test_a_row_behind_a_query_that_went_on_while_its_stream_was_idle_is_late_for_it_alone(spark, tmp_path):
    clock = Clock()
    with engine_in(spark, tmp_path / "home", clock, idle_timeout="1 minute") as engine:
        engine.query("pairs", LATER["joined"])
        engine.query("others", "SELECT k, v FROM a [RANGE 10 SECONDS]")
        with feeding(engine, "a", "b", clock=clock) as feed:
            feed.together(
                {"a": (spark.createDataFrame(rows(0, 5)), 0), "b": (spark.createDataFrame(rows(0, 5)), 0)}
            )
            clock.now += 60
            feed.beat()  # stream a is idle, and its watermark at 4 s + 1 minute - 2 s
            feed.together({"b": (spark.createDataFrame(rows(5, 201, 5)), 1)})
            feed.together({"a": (spark.createDataFrame(rows(100, 250, 50)), 1)})
            for name in ("a", "b"):
                feed.seal(name)
        late = engine.late("a").select("v", "_query", "_late_by").collect()
        assert [(row.v, row._query, row._late_by.total_seconds()) for row in late] == [
            (100, "pairs", 98),
            (150, "pairs", 48),
        ]
        pairs = engine.results("pairs").toArrow()
        assert not {100, 150} & set(pairs["v"].to_pylist())
        assert {100, 150, 200} <= set(engine.results("others").toArrow()["v"].to_pylist())


def test_rows_from_before_a_query_came_are_not_late_for_it(spark, tmp_path):
    """A stream that is behind has rows that are older than what the query has of the other one."""
    with engine_in(spark, tmp_path / "home") as engine:
        for name in ("a", "b"):
            engine.query(f"of_{name}", f"SELECT k, v FROM {name} [RANGE 10 SECONDS]")
        with feeding(engine, "a", "b") as feed:
            feed.together({"a": (spark.createDataFrame(rows(0, 5)), 0)})
            feed.together({"b": (spark.createDataFrame(rows(0, 100)), 0)})
            engine.query("pairs", LATER["joined"])
            feed.together({"b": (spark.createDataFrame(rows(100, 103)), 1)})
            feed.together({"a": (spark.createDataFrame(rows(5, 20)), 1)})
        assert engine.late("a").count() == 0


def test_a_query_begins_behind_a_batch_that_was_staged_before_it_came(spark, tmp_path):
    """Also if its first epoch, with a batch of another stream, was committed before that one's."""
    with engine_in(spark, tmp_path / "home") as engine:
        engine.query("of_b", "SELECT k, v FROM b [RANGE 10 SECONDS]")
        engine.query("whole", LATER["joined"])
        with feeding(engine, "a", "b") as feed:
            feed.together({n: (spark.createDataFrame(rows(0, 5)), 0) for n in "ab"})
            with feed.staged({"b": (spark.createDataFrame(rows(5, 40)), 1)}) as commit:
                engine.query("pairs", LATER["joined"])
                feed.together({"a": (spark.createDataFrame(rows(5, 6)), 1)})
                commit("b")
            feed.together({n: (spark.createDataFrame(rows(6 if n == "a" else 40, 70)), 2) for n in "ab"})
        opens = (39 + 10) * SECOND
        later, whole = (engine.results(name).toArrow() for name in ("pairs", "whole"))
        assert min(instants(later, "_ts")) == opens
        for at in range(opens, 60 * SECOND, SECOND):
            assert answer_at(later, at) == answer_at(whole, at), at
        with pytest.raises(windrow.WindrowError, match=r"its windows hold all their rows from .*00:00:49 on"):
            engine.view("pairs", at="1970-01-01 00:00:45+00:00")


def test_evaluations_go_on_for_thousands_of_years(spark, tmp_path):
    with engine_in(spark, tmp_path / "home") as engine:
        engine.query("long", "SELECT v FROM a [RANGE 2000000 DAYS SLIDE 1000000 DAYS]")
        with feeding(engine, "a") as feed:
            feed.together({"a": (spark.createDataFrame(rows(7, 8)), 0)})
            feed.seal("a")
        assert engine.results("long").select("v").toArrow()["v"].to_pylist() == [7, 7]


def test_what_never_ends_is_there_also_behind_the_last_evaluation_of_all(spark, tmp_path):
    with engine_in(spark, tmp_path / "home") as engine:
        engine.query("counted", "SELECT k, COUNT(*) AS n FROM a [UNBOUNDED SLIDE 20 SECONDS] GROUP BY k")
        both = "SELECT v FROM a [RANGE 9 SECONDS SLIDE 20 SECONDS] UNION ALL SELECT v FROM b [UNBOUNDED SLIDE 20 SECONDS]"
        engine.query("first", "SELECT v FROM a [UNBOUNDED SLIDE 20 SECONDS]")
        engine.query("both", both)
        with feeding(engine, "a", "b") as feed:
            feed.together({n: (spark.createDataFrame(rows(0, 30)), 0) for n in "ab"})
            for name in "ab":
                feed.seal(name)
        for at, total in (("00:00:29", 20), ("00:00:45", 30), ("00:01:30", 30), ("23:00:00", 30)):
            answer = engine.view("counted", at=f"1970-01-01 {at}+00:00").toArrow()
            assert sum(answer["n"].to_pylist()) == total, at
        # Its results are in the third file: the two before have none.
        assert engine.view("both", at="1970-01-01 00:00:45+00:00").count() == 30


def test_an_idle_stream_that_never_showed_a_row_holds_nobody_back():
    stream = Stream("s", {}, "ts", idle_timeout=60 * SECOND)
    assert not is_silent(stream, Progress(), 59.0, 0.0)
    assert is_silent(stream, Progress(), 60.0, 0.0)
    assert not is_silent(stream, Progress(latest=3, watermark=1), 60.0, 0.0)
    shown, silent = Progress(latest=9, watermark=7), Progress(idle=True)
    assert joint([shown, Progress()]) is None
    assert joint([shown, silent]) == 7
    assert joint([silent]) is None


def test_a_stream_that_is_ahead_waits_for_the_others(spark, tmp_path):
    """No batch is taken of a stream that has come further than one that still has rows."""
    files = {name: Files(spark, tmp_path / name) for name in ("a", "b")}
    pieces = {"a": [(0, 10), (10, 20), (20, 30), (30, 40)], "b": [(0, 35), (35, 36), (36, 60)]}
    for name, some in pieces.items():
        for first, last in some:
            pq.write_table(rows(first, last), tmp_path / "staged")
            files[name].receive(tmp_path / "staged")
    told = []
    with windrow.Engine(tmp_path / "home", spark=spark, nodes=1) as engine:
        for name, some in files.items():
            engine.stream(name, some.path, timestamp="ts", options={"maxFilesPerTrigger": "1"})
        engine.query("pairs", LATER["joined"])
        engine.on_epoch = lambda report: told.append((report.stream, report.watermark))
        engine.run(seal=False)
    reached, left = dict.fromkeys(files, -1), {name: len(some) for name, some in pieces.items()}
    for name, watermark in told:
        (other,) = set(files) - {name}
        assert reached[name] <= reached[other] or left[other] == 0, told
        reached[name], left[name] = watermark, left[name] - 1
    assert left == {"a": 0, "b": 0}


def test_a_live_stream_that_is_held_back_keeps_nobody_waiting(spark, tmp_path):
    """Of a stream that is ahead no more rows wait in memory than may; whoever waits for what is there is told
    that there is no more to wait for."""
    files = {name: Files(spark, tmp_path / name) for name in ("a", "b")}

    def put(name, first, last):
        pq.write_table(rows(first, last), tmp_path / "staged")
        files[name].receive(tmp_path / "staged")

    put("b", 0, 5)
    for first in range(0, 40, 10):
        put("a", first, first + 10)
    with windrow.Engine(tmp_path / "home", spark=spark, nodes=1, most_waiting=8) as engine:
        for name, some in files.items():
            engine.stream(name, some.path, timestamp="ts", options={"maxFilesPerTrigger": "1"})
        engine.query("pairs", LATER["joined"])
        with engine.start(trigger="50 milliseconds") as live:
            live.process_available()
            assert engine.progress("b").rows == 5
            assert engine.progress("a").rows < 40  # its last files wait at the source
            put("b", 5, 60)
            while engine.progress("a").rows < 40:
                live.process_available()

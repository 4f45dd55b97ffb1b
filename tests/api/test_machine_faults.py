"""What the machine does to an engine is no query's fault: it is tried again, and then the stream stops."""

from __future__ import annotations

from threading import Event

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError

import windrow
from tests.cancelling import doomed
from tests.harness.faults import PASS, REFUSED_ROWS, SELECT_LIST, TABLE, TASKS, disturbed
from tests.harness.plans import asking_for, tasks_asked_for
from tests.harness.readers import reader_without_java, watched_reader
from tests.oracle import assert_same_answers, recomputed, weights
from tests.streams import AGGS, SECOND, SQL, Files, assert_answers, engine_on, same_events
from windrow.runtime.spark import patience
from windrow.runtime.spark.blame import failure
from windrow.slicing import Window

WINDOW = "[RANGE 10 SECONDS SLIDE 10 SECONDS]"
JOINED = f"SELECT name, COUNT(*) AS n FROM events {WINDOW} JOIN names ON names.k = events.k GROUP BY name"
COMPUTED = f"SELECT k, SUM(v) * 2 AS twice FROM events {WINDOW} GROUP BY k HAVING COUNT(*) > 1"


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(patience, "PAUSES", (0.0, 0.0, 0.0))


@pytest.fixture
def files(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    files.add(0, 20)
    files.add(20, 40)
    return files


def conditions(engine):
    return {query.name: query.condition for query in engine.status().queries}


def cancelled(spark, numbers):
    """Calls of these numbers find their jobs cancelled."""

    def how(number, call, *_):
        if number not in numbers:
            return call()
        with doomed(spark):
            return call()

    return how


@pytest.mark.parametrize(
    ("place", "nodes"),
    [(PASS, 1), (SELECT_LIST, 1), (TASKS, 2)],
    ids=["a pass", "the SELECT list", "tasks"],
)
def test_cancelled_jobs_run_again(spark, files, tmp_path, caplog, place, nodes):
    with engine_on(files, tmp_path / "home", nodes=nodes) as engine:
        engine.query("computed", COMPUTED)
        with disturbed(place, cancelled(spark, {1, 2})) as calls:
            engine.run(seal=True)
        assert calls.count > 3
        assert "is tried again in 0 s: Job" in caplog.text
        assert set(conditions(engine).values()) == {"sealed"}
        assert engine.results("computed").count() == 4 * 5
        assert_answers(engine, same_events(0, 40))
        assert tasks_asked_for(engine) == nodes  # tasks hold the trees as before


def test_a_stream_whose_jobs_are_always_cancelled_stops_and_goes_on(spark, files, tmp_path):
    with engine_on(files, tmp_path / "home") as engine:
        with disturbed(PASS, cancelled(spark, range(2, 100))) as calls:
            told = r"a batch of stream 'events' failed: Job.*cancelled.* \(4 attempts\)\. No query is to blame, and nothing is lost: the next start goes on"
            with pytest.raises(windrow.MachineFailed, match=told):
                engine.run(seal=True)
        assert calls.count == 1 + 4
        assert conditions(engine) == {"q": "active"}
        assert engine.status().epoch == 0
        engine.run(seal=True)
        assert_answers(engine, same_events(0, 40))


def test_a_joined_tables_file_may_be_away_for_a_while(spark, files, tmp_path):
    table, away = tmp_path / "names.parquet", tmp_path / "away"
    pq.write_table(pa.table({"k": range(5), "name": list("abcde")}), table)
    with engine_on(files, tmp_path / "home") as engine:
        engine.table("names", table)
        engine.query("joined", JOINED)

        def replaced(number, call, shared, *_):
            if number == 3:  # in the second batch
                table.rename(away)
            try:
                return call()
            except windrow.MachineFailed:
                if number > 4 and away.exists():
                    away.rename(table)
                raise

        with disturbed(PASS, replaced):
            engine.run(seal=False)
        assert conditions(engine) == {"q": "active", "joined": "active"}
        files.add(40, 60)
        table.rename(away)
        told = r"a batch of stream 'events' failed: .*names\.parquet.* \(4 attempts\)\. No query is to blame"
        with pytest.raises(windrow.MachineFailed, match=told):
            engine.run(seal=False)
        assert conditions(engine) == {"q": "active", "joined": "active"}
        away.rename(table)
        engine.run(seal=True)
        assert sorted(row.n for row in engine.results("joined").collect()) == [20] * 6 * 5
        assert_answers(engine, same_events(0, 60))


def unclear(spark):
    """An error of Spark's that does not say whose fault it is."""
    thrown = spark._jvm.org.apache.spark.SparkException.internalError("no code could be generated")
    return failure(Py4JJavaError("", thrown))


def failing(engine, times, *names):
    """The passes of queries fail, so many of them."""
    alone = []

    def how(number, call, shared, *_):
        served = asking_for(engine, shared)
        if set(names).isdisjoint(served) or len(alone) >= times:
            return call()
        alone.append(served)
        raise unclear(engine.spark)

    how.alone = alone
    return how


def test_an_error_that_is_unclear_blames_a_query_that_fails_alone_twice(spark, files, tmp_path):
    with engine_on(files, tmp_path / "home") as engine:
        engine.query("odd", f"SELECT COUNT(*) AS n FROM events {WINDOW} WHERE k > 1")
        once = failing(engine, 2, "odd")  # with others, or first, and once alone
        with disturbed(PASS, once):
            engine.run(seal=False)
        assert len(once.alone) == 2
        assert conditions(engine) == {"q": "active", "odd": "active"}
        files.add(40, 60)
        always = failing(engine, 100, "odd")
        told = r"^odd: no code could be generated"
        with disturbed(PASS, always), pytest.raises(windrow.QueryFailed, match=told):
            engine.run(seal=True)
        assert always.alone.count(["odd"]) >= 2
        assert conditions(engine) == {"q": "sealed", "odd": "quarantined"}
        assert_answers(engine, same_events(0, 60))


def test_queries_that_were_tried_one_by_one_share_slices_that_are_fine_enough_for_both(
    spark, files, tmp_path
):
    """Both are in one operator: what is collected for it must be cut for the windows of both, though one of them
    was suspected, and collected for apart."""
    window = Window(20 * SECOND, 3 * SECOND)
    with engine_on(files, tmp_path / "home") as engine:
        engine.query(
            "other", SQL.replace("[RANGE 30 SECONDS SLIDE 7 SECONDS]", "[RANGE 20 SECONDS SLIDE 3 SECONDS]")
        )
        # The shared pass, the first of both alone together, and one of them alone; then all goes well.
        with disturbed(PASS, failing(engine, 3, "q", "other")):
            engine.run(seal=True)
        assert conditions(engine) == {"q": "sealed", "other": "sealed"}
        assert_answers(engine, same_events(0, 40))
        expected = recomputed(same_events(0, 40), window, ["k"], AGGS | weights("v"))
        assert_same_answers(engine.results("other"), expected, ["k"], {"total": "_abs_v"})


def test_where_all_queries_fail_for_unclear_reasons_none_is_blamed(spark, files, tmp_path):
    with engine_on(files, tmp_path / "home") as engine:
        engine.query("other", f"SELECT COUNT(*) AS n FROM events {WINDOW} WHERE k > 1")
        told = r"all queries fail \(q, other\), each alone: no code could be generated.*No query is to blame"
        every = failing(engine, 100, "q", "other")
        with disturbed(PASS, every), pytest.raises(windrow.MachineFailed, match=told):
            engine.run(seal=True)

        def no_memory(number, call, *_):
            raise MemoryError

        told = r"all queries fail \(q, other\)"
        with disturbed(SELECT_LIST, no_memory), pytest.raises(windrow.MachineFailed, match=told):
            engine.run(seal=True)
        assert conditions(engine) == {"q": "waiting", "other": "waiting"}
        engine.run(seal=True)
        assert_answers(engine, same_events(0, 40))


def test_an_unclear_error_is_not_a_querys_if_its_table_cannot_be_read(spark, files, tmp_path):
    pq.write_table(pa.table({"k": range(5), "name": list("abcde")}), tmp_path / "names.parquet")
    with engine_on(files, tmp_path / "home") as engine:
        engine.table("names", tmp_path / "names.parquet")
        engine.query("joined", JOINED)

        def unreadable(number, call, *_):
            raise unclear(spark)

        told = r"table 'names' cannot be read: no code could be"
        with (
            disturbed(PASS, failing(engine, 100, "joined")),
            disturbed(TABLE, unreadable),
            pytest.raises(windrow.SourceError, match=told),
        ):
            engine.run(seal=True)
        assert "quarantined" not in conditions(engine).values()


def test_refused_rows_that_cannot_be_written_are_written_again(spark, files, tmp_path):
    with engine_on(files, tmp_path / "home") as engine:
        engine.run(seal=False)
        files.add(0, 5)
        with disturbed(REFUSED_ROWS, cancelled(spark, {1})) as calls:
            engine.run(seal=False)
        assert calls.count == 2
        assert engine.late("events").count() == 50


def test_a_batch_whose_jobs_are_cancelled_by_stopping_is_given_up(spark, files, tmp_path):
    """A stop, too, cancels jobs; what comes of that is neither tried again nor held against a query."""
    with engine_on(files, tmp_path / "home") as engine:
        begun = Event()

        def stopped(number, call, *_):
            watched_reader(engine, "events").begin_to_stop()
            begun.set()
            with doomed(spark):
                return call()

        with disturbed(PASS, stopped) as calls:
            live = engine.start(trigger="50 milliseconds")
            assert begun.wait(60)
            live.stop()
        assert calls.count == 1
        assert conditions(engine) == {"q": "waiting"}
        engine.run(seal=True)
        assert_answers(engine, same_events(0, 40))


def test_a_stream_whose_java_is_gone_says_so(spark, files, tmp_path):
    with engine_on(files, tmp_path / "home") as engine:
        reader = reader_without_java(engine, "events")
        assert not reader.is_active
        assert not reader.is_waiting
        told = r"stream 'events' stopped: the process of Spark is gone .*\. No query is to blame, and nothing is lost"
        with pytest.raises(windrow.MachineFailed, match=told):
            reader.wait()
        reader.stop()

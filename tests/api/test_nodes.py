"""Trees in Spark tasks: the answers are the same, whoever holds the state and whatever becomes of it."""

from __future__ import annotations

import logging
import os
import signal
from importlib import import_module

import pytest
from pyspark.sql import functions as F

import windrow
from tests.api.test_many_queries import Asked, engine_on
from tests.harness.faults import TASKS, at_steps, disturbed, once
from tests.harness.on_disk import home_of, nodes_of_trees
from tests.harness.plans import wait_for_plans
from tests.streams import SECOND, Files, events, same_events
from windrow.runtime.spark import patience
from windrow.runtime.state import stream_planning
from windrow.runtime.state.tasks import NODE, TasksFailed
from windrow.slicing import Window

QUERIES = [
    Asked("sums", Window(20 * SECOND, 5 * SECOND), ("total", "n")),
    Asked("most", Window(21 * SECOND, 7 * SECOND), ("most",)),
    Asked("means", Window(12 * SECOND, 3 * SECOND), ("mean", "most")),
    Asked("by_k", Window(10 * SECOND, 4 * SECOND), ("total",), ("k",)),
    Asked("by_k_too", Window(9 * SECOND, 2 * SECOND), ("n", "most"), ("k",)),
]
COMPUTED = "SELECT SUM(v) * 2 AS twice FROM events [RANGE 8 SECONDS SLIDE 4 SECONDS] HAVING COUNT(*) > 15"


@pytest.fixture
def files(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    files.add(0, 15)
    files.add(15, 30)
    return files


@pytest.fixture
def jobs():
    """What every job gave back, node by node."""
    found = []

    def noted(number, call, *_):
        found.append(call())
        return found[-1]

    with disturbed(TASKS, noted):
        yield found


def with_queries(engine, queries=QUERIES):
    for query in queries:
        engine.query(query.name, query.sql)
    return engine


def nodes_of(engine):
    return nodes_of_trees(home_of(engine))


def check(engine, until):
    for query in QUERIES:
        assert query.check(engine, same_events(0, until)) > 2


def test_tasks_hold_the_trees_and_keep_their_states(spark, files, tmp_path, jobs):
    with with_queries(engine_on(files, tmp_path / "home", nodes=2)) as engine:
        engine.query("twice", COMPUTED)
        engine.run(seal=False)
        assert set(nodes_of(engine)) == {0, 1}
        # The first epoch finds no states, the others those that the one before has left.
        assert [sum(done.read_back for done in job) for job in jobs] == [len(nodes_of(engine)), 0]
        check(engine, 30)
        text = engine.explain()
        assert "final work, in 2 Spark tasks: node 1 " in text
        assert "(running on node 2)" in text
        files.add(30, 45)
        reports = []
        engine.on_epoch = reports.append
        engine.run(seal=True)
        check(engine, 45)
        (report,) = [report for report in reports if report.batch is not None]
        assert report.answers["sums"] == 3
        assert report.latest["sums"]["window_end"].to_pylist()[0].second == 40
        by_window = events(spark, 0, 45).groupBy(F.window("ts", "8 seconds", "4 seconds"))
        expected = (
            by_window.agg(F.sum("v") * 2, F.count("*")).where("`count(1)` > 15").orderBy("window").collect()
        )
        answers = engine.results("twice").orderBy("window_end").collect()
        assert [row.twice for row in answers] == pytest.approx([row[1] for row in expected])


def test_an_epoch_that_fails_leaves_states_that_nobody_uses(spark, files, tmp_path, jobs, monkeypatch):
    """The tasks have gone on with theirs when the commit fails; the same engine tries the batch again."""
    with with_queries(engine_on(files, tmp_path / "home", nodes=2)) as engine:
        engine.run(seal=False)
        files.add(30, 45)

        def fail():
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(patience, "PAUSES", ())
        with (
            at_steps(once("transaction open", fail)),
            pytest.raises(windrow.WindrowError, match="no space left"),
        ):
            engine.run(seal=False)
        assert sum(done.read_back for done in jobs[-1]) == 0
        engine.run(seal=False)
        assert sum(done.read_back for done in jobs[-1]) == len(nodes_of(engine))
        check(engine, 45)


def test_the_processes_of_tasks_may_die(spark, files, tmp_path, jobs):
    with with_queries(engine_on(files, tmp_path / "home", nodes=2)) as engine:
        engine.run(seal=False)
        context = spark.sparkContext
        context.environment[NODE] = "1"
        try:
            task = context.parallelize([0], 1).map(lambda _: os.getpid())
            (process,) = task.collect()
        finally:
            del context.environment[NODE]
        os.kill(process, signal.SIGKILL)
        files.add(30, 45)
        engine.run(seal=False)
        on_node_1 = sum(1 for node in nodes_of(engine) if node == 1)
        assert sum(done.read_back for done in jobs[-1]) == on_node_1
        check(engine, 45)


def test_where_tasks_cannot_run_the_driver_takes_over(spark, files, tmp_path, caplog):
    def fail(*_):
        raise TasksFailed("No module named 'windrow'")

    with with_queries(engine_on(files, tmp_path / "home", nodes=2)) as engine:
        engine.run(seal=False)
        files.add(30, 45)
        with disturbed(TASKS, fail):
            engine.run(seal=False)
        assert (
            "trees no longer run in Spark tasks, but in the driver: No module named 'windrow'" in caplog.text
        )
        assert set(nodes_of(engine)) == {-1}
        check(engine, 45)


def test_tasks_take_over_where_there_is_much_to_do(spark, files, tmp_path, caplog, monkeypatch):
    """One tree is too much for one of them, so it is split; when there is less to do, they give back."""
    caplog.set_level(logging.INFO, "windrow")
    monkeypatch.setattr(stream_planning, "LOOK_EVERY", 1)
    with with_queries(engine_on(files, tmp_path / "home"), QUERIES[:3]) as engine:
        engine.run(seal=False)
        assert nodes_of(engine) == [-1]
        with monkeypatch.context() as patch:
            patch.setattr(import_module("windrow.planner.rules.settle"), "LARGE_SECONDS", 0.0)
            for batch in range(3):
                files.add(30 + batch * 15, 45 + batch * 15)
                engine.run(seal=False)
                wait_for_plans(engine)
        assert set(nodes_of(engine)) == {0, 1}
        assert "stream 'events': 1 of 1 trees are held by 1 Spark tasks" in caplog.text
        assert "on node 2" in engine.explain()
        files.add(75, 90)
        engine.run(seal=False)
        assert set(nodes_of(engine)) == {-1}
        for query in QUERIES[:3]:
            assert query.check(engine, same_events(0, 90)) > 3


@pytest.mark.parametrize("optimizer", ["w_rr", "wg_i", "g_tl"])
def test_a_placement_can_be_asked_for(spark, files, tmp_path, optimizer):
    with with_queries(engine_on(files, tmp_path / "home", optimizer)) as engine:
        assert f"planned by {optimizer}" in engine.explain()
        engine.run(seal=True)
        check(engine, 30)


def test_a_sink_gets_answers_of_a_tree_that_a_task_holds(spark, files, tmp_path):
    """Also one that comes when the task has it already."""
    with with_queries(engine_on(files, tmp_path / "home", nodes=2)) as engine:
        got = {"by_k": [], "sums": []}
        engine.sink("by_k", lambda epoch, rows: got["by_k"].append(rows))
        engine.run(seal=False)
        before = engine.results("sums").count()
        engine.sink("sums", lambda epoch, rows: got["sums"].append(rows))
        files.add(30, 45)
        engine.run(seal=False)
        assert set(nodes_of(engine)) == {0, 1}
        assert sum(map(len, got["by_k"])) == engine.results("by_k").count()
        assert sum(map(len, got["sums"])) == engine.results("sums").count() - before > 0
        check(engine, 45)


def test_a_number_of_nodes_that_makes_no_sense(tmp_path):
    with pytest.raises(windrow.WindrowError, match=r"nodes must be 1 \(the driver alone\) or more, and is 0"):
        windrow.Engine(tmp_path / "home", nodes=0)

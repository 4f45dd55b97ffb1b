"""Sinks get committed answers, each at least once, with the number of their epoch."""

from __future__ import annotations

import sys
from datetime import datetime
from threading import Thread

import pytest

import windrow
from tests.harness.faults import at_steps
from tests.streams import Files, engine_on
from windrow.runtime.spark import patience


@pytest.fixture
def files(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    for start in range(0, 60, 20):
        files.add(start, start + 20)
    return files


class Collecting:
    """An idempotent sink: what it got, by epoch; fails in the epochs that it is told to."""

    def __init__(self, fail=()):
        self.got, self.calls, self.fail = {}, [], set(fail)

    def __call__(self, epoch, answers):
        self.calls.append(epoch)
        if epoch in self.fail:
            raise OSError("the sink's disk is full")
        self.got.setdefault(epoch, []).extend(answers.to_pylist())

    @property
    def rows(self):
        return sorted(plain(row.values()) for rows in self.got.values() for row in rows)


def committed(engine):
    return sorted(plain(row) for row in engine.results("q").collect())


def plain(row):
    """Spark gives instants without their zone."""
    return tuple(value.replace(tzinfo=None) if isinstance(value, datetime) else value for value in row)


def test_a_sink_sees_nothing_of_an_epoch_that_is_not_committed(spark, files, tmp_path, monkeypatch):
    seen = Collecting()

    def fail(step):
        if step == "transaction open" and len(seen.got) == 1:
            raise OSError("gone")

    monkeypatch.setattr(patience, "PAUSES", (0.0,))
    engine = engine_on(files, tmp_path / "home")
    engine.sink("q", seen)
    with at_steps(fail), pytest.raises(windrow.HomeError):
        engine.run(seal=True)
    assert list(seen.got) == [0]
    engine.run(seal=True)
    assert seen.calls == [0, 1, 2, 3]
    assert seen.rows == committed(engine)


def test_a_failing_sink_holds_nothing_up_and_gets_what_it_missed(spark, files, tmp_path):
    failing = Collecting(fail=[1, 2, 3])
    engine = engine_on(files, tmp_path / "home")
    engine.sink("q", failing)
    with pytest.raises(
        windrow.WindrowError, match="the sink of query 'q' failed: OSError: the sink's disk is full"
    ):
        engine.run(seal=True)
    assert failing.calls == [0, 1, 1, 1]  # again and again from where it was
    assert engine.results("q").count() > len(failing.rows)
    healed = Collecting()
    again = engine_on(files, tmp_path / "home")
    again.sink("q", healed)
    again.run(seal=True)
    assert sorted(healed.got) == [1, 2, 3]
    assert sorted(failing.rows + healed.rows) == committed(again)


def test_a_killed_delivery_comes_again_with_the_same_epoch(spark, files, tmp_path):
    """Between the commit and the sink: at least once, and the number makes it idempotent."""
    seen = Collecting()

    def fail(step):
        if step == "epoch committed" and len(seen.got) == 1:
            raise OSError("killed")

    engine = engine_on(files, tmp_path / "home")
    engine.sink("q", seen)
    told = r"epoch 1 is committed .* and what follows a commit failed: killed"
    with at_steps(fail), pytest.raises(windrow.HomeError, match=told):
        engine.run(seal=True)
    again = engine_on(files, tmp_path / "home")
    again.sink("q", seen)
    again.run(seal=True)
    assert seen.rows == committed(again)
    assert sorted(set(seen.calls)) == [0, 1, 2, 3]


def test_a_new_sink_begins_with_what_comes(spark, files, tmp_path):
    engine_on(files, tmp_path / "home").run(seal=False)
    files.add(60, 80)
    seen = Collecting()
    engine = engine_on(files, tmp_path / "home")
    engine.sink("q", seen)
    engine.run(seal=False)
    assert list(seen.got) == [3]


def test_a_sink_that_comes_while_it_runs_may_fail_at_once(spark, files, tmp_path):
    engine = engine_on(files, tmp_path / "home")
    failing = Collecting(fail=[3])
    with engine.start(trigger="20 milliseconds") as live:
        live.process_available()
        engine.sink("q", failing)
        files.add(60, 80)
        live.process_available()
        files.add(80, 100)
        failing.fail.clear()
        live.process_available()
        assert live.active
    assert failing.calls == [3, 3, 4]
    assert sorted(failing.got) == [3, 4]


def test_a_sink_that_comes_while_it_runs_gets_what_an_earlier_one_missed(spark, files, tmp_path):
    first = engine_on(files, tmp_path / "home")
    first.sink("q", Collecting())
    first.run(seal=False)
    files.add(60, 80)
    seen = Collecting()
    engine = engine_on(files, tmp_path / "home")
    with engine.start(trigger="20 milliseconds") as live:
        live.process_available()
        engine.sink("q", seen)
        files.add(80, 100)
        live.process_available()
    assert seen.calls == [3, 4]


def test_an_epoch_is_one_call_however_many_pieces_its_answers_came_in(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    files.add(0, 20)
    files.add(200_000, 200_001)
    seen = Collecting()
    engine = engine_on(
        files, tmp_path / "home", sql="SELECT COUNT(*) AS n FROM events [RANGE 1 DAY SLIDE 1 SECOND]"
    )
    engine.sink("q", seen)
    engine.run(seal=False)
    assert seen.calls == [0, 1]
    assert len(seen.rows) == engine.results("q").count() > 1 << 16


def ended_by(call):
    """What a call raises. It has a thread of its own: one that waits for ever must not take the tests along."""
    raised = []

    def run():
        try:
            call()
        except BaseException as error:
            raised.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(120)
    assert not thread.is_alive(), "it hangs"
    return raised[0] if raised else None


def test_a_sink_that_exits_has_failed_and_the_run_goes_on(spark, files, tmp_path):
    seen = Collecting()

    def exits(epoch, answers):
        seen(epoch, answers)
        if epoch == 1 and seen.calls.count(1) == 1:
            sys.exit("enough")

    engine = engine_on(files, tmp_path / "home")
    engine.sink("q", exits)
    assert ended_by(lambda: engine.run(seal=True)) is None
    assert seen.calls == [0, 1, 1, 2, 3]


@pytest.mark.parametrize("seal", [False, True])
def test_ctrl_c_in_a_sink_and_an_exit_in_a_report_end_the_run(spark, files, tmp_path, seal):
    """In an epoch of Spark's thread, and in one of the caller's own."""
    engine = engine_on(files, tmp_path / "home")
    last = 3 if seal else 1

    def interrupted(epoch, answers):
        if epoch == last:
            raise KeyboardInterrupt

    def exits(report):
        if report.epoch == last - 1:
            sys.exit(3)

    engine.sink("q", interrupted)
    engine.on_epoch = exits
    assert ended_by(lambda: engine.run(seal=seal)).code == 3
    assert isinstance(ended_by(lambda: engine.run(seal=seal)), KeyboardInterrupt)
    seen = Collecting()
    engine.sink("q", seen)
    engine.run(seal=seal)
    assert min(seen.calls) == last


def test_an_exit_in_the_report_of_a_heartbeat_ends_what_waits(spark, files, tmp_path):
    engine = engine_on(files, tmp_path / "home", idle_timeout="1 second")

    def exits(report):
        if report.idle:
            sys.exit(3)

    engine.on_epoch = exits
    with engine.start(trigger="20 milliseconds") as live:
        assert ended_by(live.wait).code == 3
        assert not live.active

"""A batch that takes long holds nobody up: neither who asks for something, nor the time of other streams."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

import pytest

from tests.harness.faults import at_steps, once
from tests.harness.readers import somebody_waits_for_an_epoch, watched_reader
from tests.streams import Files, assert_answers, engine_on, same_events
from windrow.api.clients import add_queries, drop_queries, named_query

PATIENCE = 60
"""Seconds after which something is taken to wait for the batch; nobody waits that long where all is well."""
COUNT = "SELECT COUNT(*) AS n FROM {} [RANGE 10 SECONDS SLIDE 10 SECONDS]"
TEXTS = "SELECT MAX(x) AS most FROM events [RANGE 10 SECONDS SLIDE 10 SECONDS]"
"""Needs a column that nobody has read so far."""


@contextmanager
def held_at(step, come):
    """Let rows come, and keep the batch that first reaches a step there until the end of the block."""
    there, gone = Event(), Event()

    def hold():
        there.set()
        assert gone.wait(2 * PATIENCE)

    with at_steps(once(step, hold)):
        try:
            come()
            assert there.wait(PATIENCE)
            yield
        finally:
            gone.set()


@pytest.fixture
def streams(spark, tmp_path):
    """An engine with a clock of its own on two streams, each with a file; the second one falls silent."""
    events, quiet = Files(spark, tmp_path / "events"), Files(spark, tmp_path / "quiet")
    events.add(0, 40)
    quiet.add(0, 40)
    clock = [1_000_000.0]
    engine = engine_on(events, tmp_path / "home", clock=lambda: clock[0])
    engine.stream("quiet", quiet.path, timestamp="ts", idle_timeout="1 minute")
    engine.query("of_quiet", COUNT.format("quiet"))
    return engine, events, clock


def test_a_long_batch_holds_up_neither_requests_nor_other_streams(streams, tmp_path):
    """Not even if a reader has to be replaced as soon as the batch is over, and others wait behind it."""
    engine, events, clock = streams
    home, beats = tmp_path / "home", []
    engine.on_epoch = beats.append
    with ThreadPoolExecutor() as client, engine.start(trigger="50 milliseconds") as live:
        live.process_available()
        beats.clear()

        def come():
            events.add(40, 60)
            events.add(60, 70)
            events.add(70, 80)

        with held_at("batch staged", come):
            asked = client.submit(add_queries, home, [named_query("texts", TEXTS)])
            assert asked.result(PATIENCE) == "added"
            reader = watched_reader(engine, "events")
            while not reader.is_retired:
                live.wait(0.01)
            asked = client.submit(add_queries, home, [named_query("more", COUNT.format("events"))])
            assert asked.result(PATIENCE) == "added"
            clock[0] += 100
            while not beats:
                live.wait(0.01)
            assert [(beat.stream, beat.batch, beat.idle) for beat in beats] == [("quiet", None, True)]
            assert not reader.is_replaced
        live.process_available()
        assert live.active
        assert reader.is_replaced
    engine.run(seal=True)
    texts, more = (
        next(query for query in engine.status().queries if query.name == name) for name in ("texts", "more")
    )
    # The batch that was under way had neither of them; the next one, in spite of its haste, has both.
    assert texts.complete_after.timestamp() == 59.9
    assert more.complete_after.timestamp() == 59.9
    assert [row.most for row in engine.results("texts").collect()] == ["unused"] * 2
    assert_answers(engine, same_events(0, 80))


def test_a_request_does_not_wait_for_the_epoch_that_a_heartbeat_waits_for(streams, tmp_path):
    engine, events, clock = streams
    with ThreadPoolExecutor() as client, engine.start(trigger="50 milliseconds") as live:
        live.process_available()
        with held_at("queries answered", lambda: events.add(40, 60)):
            clock[0] += 100
            while not somebody_waits_for_an_epoch(engine):  # the heartbeat of the other stream
                live.wait(0.01)
            assert client.submit(drop_queries, tmp_path / "home", ["q"]).result(PATIENCE) == "dropped"
        live.process_available()
        assert live.active


def test_a_reader_that_is_to_be_replaced_is_though_nobody_needs_it_any_more(streams):
    engine, events, _ = streams
    with ThreadPoolExecutor() as client, engine.start(trigger="50 milliseconds") as live:
        live.process_available()

        def come():
            events.add(40, 60)
            events.add(60, 80)

        with held_at("batch staged", come):
            engine.query("texts", TEXTS)
            while not watched_reader(engine, "events").is_retired:
                live.wait(0.01)
            engine.drop("texts")
        client.submit(live.process_available).result(PATIENCE)
    engine.run(seal=True)
    assert_answers(engine, same_events(0, 80))


STOPPING = """
import sys
import time
from pathlib import Path

from tests.harness.faults import PASS, at_steps, disturbed
from tests.harness.readers import watched_reader
from tests.streams import Files, engine_on
from windrow.runtime.epochs import reader
from windrow.runtime.spark.session import local_session


def say(what):
    print(what, file=sys.stderr, flush=True)


place = Path(sys.argv[1])
files = Files(local_session(), place / "in")
files.add(0, 40)
engine = engine_on(files, place / "home")
staged, waited_for = [], []


def too_late(number, call, shared, batch, *others):
    # Spark has been told to stop, with no patience for the batch: whatever is asked of it then fails.
    staged.append(True)
    stopped = watched_reader(engine, "events")
    while stopped.spark_query is None or stopped.spark_query.isActive:
        time.sleep(0.01)
    batch.count()  # raises
    return call()


def until_stopped(step):
    if step == "batch staged":
        staged.append(True)
        stopped = watched_reader(engine, "events")
        while not stopped.is_stopping:
            time.sleep(0.01)
        time.sleep(0.1)
        waited_for.append(stopped.spark_query.isActive)


def stop():
    live = engine.start(trigger="50 milliseconds")
    while not staged:
        time.sleep(0.01)
    say("stopping")
    live.stop()
    say("stopped")
    assert engine.progress("events").batch == -1
    staged.clear()
    live.wait()  # raises what stopped it, unless that was stop


reader.REST_SECONDS = 0
with disturbed(PASS, too_late):
    stop()
reader.REST_SECONDS = 60
with at_steps(until_stopped):
    stop()
assert waited_for == [True]  # Spark is interrupted when the batch has been given up


def until_retired(step):
    if step == "batch staged" and not staged:
        staged.append(True)
        replaced = watched_reader(engine, "events")
        while not replaced.is_retired:
            time.sleep(0.01)


files.add(40, 80)
with at_steps(until_retired):
    live = engine.start(trigger="50 milliseconds")
    while not staged:
        time.sleep(0.01)
    say("stopping")
    engine.query("texts", sys.argv[2])
    live.process_available()
    live.stop()
    say("stopped")
assert engine.progress("events").rows == 800
assert engine.status().queries[1].started
"""


def test_stopping_in_the_middle_of_a_batch_prints_nothing(tmp_path):
    """Whether a job of Spark's is under way, or none, or another reader takes over. In a process of its own,
    to see what the JVM prints."""
    command = [sys.executable, "-c", STOPPING, str(tmp_path), TEXTS]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    printed = done.stderr[done.stderr.index("stopping") :]
    assert printed == "stopping\nstopped\n" * 3
    assert done.returncode == 0

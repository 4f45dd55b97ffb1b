"""An engine that has lost its home writes nothing there, and says who has it now."""

from __future__ import annotations

import fcntl
import os
from contextlib import ExitStack
from threading import Event, Thread

import pyarrow as pa
import pytest
from py4j.protocol import Py4JNetworkError

import windrow
from tests.harness.faults import at_steps, once
from tests.harness.on_disk import add_query
from tests.harness.readers import watched_reader
from tests.streams import SQL, Files, assert_answers, engine_on, same_events
from windrow.errors import HomeError
from windrow.runtime.epochs import reader
from windrow.runtime.home.home import Home
from windrow.runtime.home.lock import HomeInUse, holding, is_held
from windrow.runtime.home.records import Advance, Epoch, Progress


@pytest.fixture
def files(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    files.add(0, 40)
    files.add(40, 90)
    return files


@pytest.fixture
def held():
    with ExitStack() as held:
        yield held


def taken_over(path, held):
    """Two homes at one place, as two engines have them whose file system does not share locks."""
    first, second = Home(path), Home(path)
    held.enter_context(first.running())
    (path / "lock").unlink()
    held.enter_context(second.running())
    return first, second


def epoch(number, batch=None, **streams):
    streams = {"s": Advance(Progress(batch=number if batch is None else batch), batch)} | streams
    return Epoch(number, float(number), streams=streams)


WRITES = {
    "an epoch": lambda home: home.commit(epoch(0)),
    "compaction": lambda home: home.replace_files([], [], 0.0),
    "removal of replaced files": lambda home: home.remove_doomed(1e9),
    "deliveries": lambda home: home.note_delivered({1: 7}),
    "a query that goes": lambda home: home.drop_query(home.catalog.query("q"), 0.0),
}


@pytest.mark.parametrize("what", WRITES)
def test_who_lost_the_home_writes_nothing_and_names_who_has_it(what, tmp_path, held):
    home = Home(tmp_path / "home")
    add_query(home.catalog, "q", SQL, "s", pa.schema([("n", pa.int64())]))
    with home.catalog.transaction() as database:
        home.catalog.forget_files(database, ["results/replaced"], 0.0)
    first, second = taken_over(tmp_path / "home", held)
    before = dump(second)
    with pytest.raises(HomeError, match=rf"was taken over by process {os.getpid()} on .* UTC\. This engine"):
        WRITES[what](first)
    assert dump(second) == before
    WRITES[what](second)


def dump(home):
    tables = ("about", "queries", "epochs", "progress", "files", "doomed", "requests")
    return {table: home.catalog.rows(f"SELECT * FROM {table}") for table in tables}


def test_a_thread_that_was_left_behind_commits_nothing(tmp_path):
    home = Home(tmp_path / "home")
    with home.running():
        home.commit(epoch(0))
    with pytest.raises(HomeError, match=r"this engine has let go of .*home and writes nothing more there"):
        home.commit(epoch(1))
    assert home.catalog.last_epoch() == 0


def test_an_epoch_builds_on_the_one_before_and_a_batch_on_the_batch_before(tmp_path, held):
    home = Home(tmp_path / "home")
    held.enter_context(home.running())
    home.commit(epoch(0, batch=0))
    for number in (0, 2):
        with pytest.raises(HomeError, match=f"epoch {number} does not follow epoch 0, the last one"):
            home.commit(epoch(number))
    for batch in (0, 2):
        with pytest.raises(HomeError, match=f"batch {batch} of stream 's' does not follow batch 0"):
            home.commit(epoch(1, batch=batch))
    home.commit(epoch(1, batch=1))
    home.commit(Epoch(2, 2.0, streams={"s": Advance(Progress(batch=0), None)}))  # a frame is always batch 0


def test_a_lock_on_a_file_that_was_replaced_is_none(tmp_path, monkeypatch):
    """Somebody deletes the file between the moments at which it is opened and locked."""
    flock, deleted = fcntl.flock, []

    def late(lock, how):
        if not deleted:
            deleted.append((tmp_path / "lock").unlink())
        flock(lock, how)

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", late)
        with holding(tmp_path):
            assert deleted
            assert is_held(tmp_path)
            patch.undo()
            with pytest.raises(HomeInUse), holding(tmp_path):
                pass


def test_who_takes_over_in_the_middle_of_an_epoch_sweeps_its_files_and_it_is_not_committed(
    spark, files, tmp_path
):
    def take_over():
        (tmp_path / "home" / "lock").unlink()
        with Home(tmp_path / "home").running():
            pass

    told = r"was taken over by process \d+ on"
    with at_steps(once("files forced to disk", take_over)), pytest.raises(HomeError, match=told):
        engine_on(files, tmp_path / "home").run(seal=False)
    engine = engine_on(files, tmp_path / "home")
    assert engine.progress("events").rows == 0
    engine.run(seal=True)
    assert engine.check()
    assert_answers(engine, same_events(0, 90))


@pytest.mark.parametrize(
    "error",
    [Py4JNetworkError("Answer from Java side is empty"), AttributeError("'NoneType' has no attribute 'sc'")],
    ids=["the JVM has died", "the session was stopped"],
)
def test_an_epoch_is_waited_for_when_spark_dies_under_it(spark, files, tmp_path, monkeypatch, error):
    """The lock stays until the thread that commits is done, also if Spark can no longer be asked to stop."""
    monkeypatch.setattr(reader, "REST_SECONDS", 0)
    engine, other = engine_on(files, tmp_path / "home"), engine_on(files, tmp_path / "home")
    committing, go_on = Event(), Event()

    def hold(step):
        if step == "files forced to disk":
            committing.set()
            go_on.wait()

    def dead():
        query.stop = stop
        raise error

    with at_steps(hold):
        try:
            live = engine.start(trigger="50 milliseconds")
            assert committing.wait(60)
            query = watched_reader(engine, "events").spark_query
            stop, query.stop = query.stop, dead
            stopping = Thread(target=live.stop)
            stopping.start()
            with pytest.raises(HomeInUse):
                other.run(seal=False)
            go_on.set()
            stopping.join(60)
            assert not stopping.is_alive()
        finally:
            go_on.set()
            stop()
    with pytest.raises(
        windrow.WindrowError, match=r"stream .events. stopped: (the process of Spark is gone|AttributeError)"
    ):
        live.wait(1)
    other.run(seal=True)
    assert other.check()
    assert_answers(other, same_events(0, 90))


def test_a_query_of_a_second_engine_is_added_and_dropped_by_the_one_that_runs(spark, files, tmp_path):
    running, second = engine_on(files, tmp_path / "home"), windrow.Engine(tmp_path / "home", spark=spark)
    with running.start(trigger="50 milliseconds") as live:
        live.process_available()
        second.stream("events", files.path, timestamp="ts", options={"maxFilesPerTrigger": "1"})
        second.query("q", SQL)  # as a script says that is run again
        second.query("count", "SELECT COUNT(*) AS n FROM events [RANGE 10 SECONDS SLIDE 10 SECONDS]")
        assert running.queries == ["q", "count"]
        with pytest.raises(
            HomeError, match=r"another engine is running on .*a sink of 'more' would get nothing"
        ):
            second.query("more", SQL, sink=print)
        with pytest.raises(windrow.WindrowError, match="there is a query called 'count' already"):
            second.query("count", SQL)
        files.add(90, 130)
        live.process_available()
        second.drop("q")
        assert running.queries == ["count"]
    assert {row.n for row in second.results("count").collect()} == {100}

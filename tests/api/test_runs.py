"""Runs one after the other in one home: what stays open, what waits, and what a run says at its end."""

from __future__ import annotations

from threading import Event

import pytest

import windrow
from tests.harness.faults import at_steps
from tests.harness.on_disk import held
from tests.streams import SQL, Files, assert_answers, engine_on, events, same_events


@pytest.fixture
def files(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    files.add(0, 40)
    return files


def test_a_run_after_a_run_goes_on_where_a_named_home_keeps_the_stream(spark, files, tmp_path):
    """A directory and a streaming DataFrame stay open by themselves, until somebody seals them."""
    frame = spark.readStream.schema("ts TIMESTAMP, k LONG, v DOUBLE").parquet(str(files.path))

    def engine():
        opened = engine_on(files, tmp_path / "home")
        opened.stream("frames", frame, timestamp="ts")
        opened.query("of_frames", SQL.replace("events", "frames"))
        return opened

    engine().run()
    files.add(40, 90)
    last = engine()
    last.run()
    assert [stream.sealed for stream in last.status().streams] == [False, False]
    last.run(seal=True)
    assert [(stream.late, stream.sealed) for stream in last.status().streams] == [(0, True), (0, True)]
    assert_answers(last, same_events(0, 90))
    assert sorted(last.results("of_frames").collect()) == sorted(last.results("q").collect())


def test_what_cannot_go_on_is_answered_whole(spark, files, tmp_path):
    """A static frame in any home, and files in a home that goes away with its engine."""
    with windrow.Engine(spark=spark) as engine:
        engine.stream("events", files.path, timestamp="ts")
        engine.query("q", SQL)
        engine.run()
        assert_answers(engine, same_events(0, 40))
    frames = windrow.Engine(tmp_path / "home", spark=spark)
    frames.stream("events", events(spark, 0, 40), timestamp="ts")
    frames.query("q", SQL)
    frames.run()
    assert_answers(frames, same_events(0, 40))


def test_a_stream_of_which_nothing_is_committed_may_be_declared_anew(spark, files, tmp_path):
    """With another directory, say. Spark has planned a batch of the first one, which no longer counts."""
    home, other = tmp_path / "home", Files(spark, tmp_path / "other")
    other.add(100, 140)

    def fail(step):
        if step == "files written":
            raise OSError(step)

    engine = engine_on(files, home)
    with at_steps(fail), pytest.raises(windrow.HomeError, match="epoch 0 could not be committed"):
        engine.run(seal=False)
    assert (home / "streams" / "events" / "offsets" / "0").exists()
    with held(engine_on(files, home)), pytest.raises(windrow.HomeError, match="another engine is running"):
        engine_on(other, home)
    engine = engine_on(other, home)
    engine.run(seal=True)
    assert_answers(engine, same_events(100, 140))
    with pytest.raises(windrow.HomeError, match="stream 'events' is defined otherwise in this home"):
        engine_on(files, home)


def test_the_end_of_a_run_says_what_waits_and_for_what(spark, files, tmp_path, caplog):
    """Rows every 100 ms up to 39.9 s, three seconds of delay: the watermark is at 36.9."""
    caplog.set_level("INFO", "windrow")
    engine = engine_on(files, tmp_path / "home", delay="3 seconds", idle_timeout="1 minute")
    engine.query("minutes", "SELECT COUNT(*) AS n FROM events [RANGE 1 MINUTE SLIDE 1 MINUTE]")
    engine.query("rows", "SELECT COUNT(*) AS n FROM events [ROWS 7 SLIDE 7]")
    engine.run(seal=False)
    (stream,) = engine.waiting()
    assert str(stream) == caplog.messages[-1]
    assert str(stream) == (
        "stream 'events' stays open at the watermark 1970-01-01 00:00:36.900000: "
        "q waits with the windows that end 1970-01-01 00:00:42 to 1970-01-01 00:01:03, "
        "minutes waits with the window that ends 1970-01-01 00:01:00, "
        "rows waits with the rows from 1970-01-01 00:00:36.900000 on; "
        "a row of 1970-01-01 00:00:45 or later lets the first go on; "
        "so does a silence of 1 minute, while an engine runs; "
        "run(seal=True), or --seal, answers everything now, and what comes later is late"
    )
    # It is so: a row of 44.9 lets nothing go on, and one of 45 the five keys of the first window.
    files.add(40, 45)
    files.add(45, 46)
    reports = []
    engine.on_epoch = reports.append
    engine.run(seal=True)
    assert [report.answers["q"] for report in reports][:2] == [0, 5]
    assert engine.waiting() == []


def test_a_query_that_came_late_does_not_wait_with_windows_that_it_never_answers(spark, files, tmp_path):
    engine_on(files, tmp_path / "home").run(seal=False)
    engine = engine_on(files, tmp_path / "home")
    engine.query("late", "SELECT MAX(x) AS x FROM events [RANGE 20 SECONDS SLIDE 10 SECONDS]")
    files.add(40, 45)
    engine.run(seal=False)
    (stream,) = engine.waiting()
    engine.run(seal=True)
    ends = [row.window_end.timestamp() for row in engine.results("late").collect()]
    waited = stream.queries["late"]
    assert [waited.first_end.timestamp(), waited.last_end.timestamp()] == [min(ends), max(ends)] == [60, 60]


def test_a_run_that_is_told_to_stop_returns_and_the_next_one_goes_on(spark, files, tmp_path):
    engine, asked = engine_on(files, tmp_path / "home"), Event()

    def stop():
        asked.set()
        return True

    with at_steps(lambda step: asked.wait(60) if step == "batch staged" else None):
        engine.run(seal=True, stop=stop)
    assert asked.is_set()
    assert not engine.progress("events").sealed
    engine.run(seal=True)
    assert_answers(engine, same_events(0, 40))


def test_a_query_over_a_frame_that_is_declared_late_goes_on_with_its_state(spark, tmp_path):
    """The plan had been read when the engine was told of it."""
    frame = events(spark, 0, 12)
    sql = "SELECT COUNT(*) AS n FROM {} [RANGE 10 SECONDS SLIDE 10 SECONDS]"
    with windrow.Engine(tmp_path / "home", spark=spark) as first:
        for name in ("one", "other"):
            first.stream(name, frame, timestamp="ts")
            first.query(f"of_{name}", sql.format(name))
        first.run(seal=False)
    with windrow.Engine(tmp_path / "home", spark=spark) as later:
        later.stream("one", frame, timestamp="ts")
        later.query("of_one", sql.format("one"))
        later.run(seal=True)
        later.stream("other", frame, timestamp="ts")
        later.query("of_other", sql.format("other"))
        later.run(seal=True)
        for name in ("of_one", "of_other"):
            assert sorted(row.n for row in later.results(name).collect()) == [20, 100]

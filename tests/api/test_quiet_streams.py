"""Time goes on without rows: heartbeats close windows after the IDLE TIMEOUT and change no answer."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from tests.examples import examples
from tests.harness.readers import watched_reader
from tests.slow_source import SlowToList
from tests.streams import Files, assert_answers, engine_on, same_events
from windrow.logical import Stream
from windrow.runtime.epochs import listening
from windrow.runtime.home.records import Progress
from windrow.runtime.home.watermark import after_rows, joint


class Clock:
    def __init__(self, now=1_000_000.0):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture
def files(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    files.add(0, 40)
    return files


def idle_engine(files, home, clock, **options):
    engine = windrow.Engine(home, spark=files.spark, clock=clock)
    options = {"delay": "5 seconds", "idle_timeout": "1 minute"} | options
    engine.stream("events", files.path, timestamp="ts", **options)
    engine.query("q", "SELECT COUNT(*) AS n FROM events [RANGE 10 SECONDS SLIDE 10 SECONDS]")
    return engine


def ends(engine):
    return sorted(row.window_end.timestamp() for row in engine.results("q").collect())


def test_a_silent_stream_moves_with_the_clock(spark, files, tmp_path):
    clock = Clock()
    engine = idle_engine(files, tmp_path / "home", clock)
    engine.run(seal=False)
    assert ends(engine) == [10, 20, 30]  # rows up to 39.9, five seconds of delay
    clock.now += 59
    engine.heartbeat()
    assert ends(engine) == [10, 20, 30]
    assert not engine.progress("events").idle
    clock.now += 1
    engine.heartbeat()
    assert ends(engine) == [10, 20, 30, 40]
    progress = engine.progress("events")
    assert progress.idle
    assert progress.watermark == 39_900_000 + 60_000_000 - 5_000_000
    assert engine.status().epoch == 1


def test_a_heartbeat_that_changes_nothing_is_no_epoch(spark, files, tmp_path):
    clock = Clock()
    engine = idle_engine(files, tmp_path / "home", clock)
    engine.run(seal=False)
    clock.now += 60
    for _ in range(3):
        engine.heartbeat()
    clock.now += 86_400  # the windows are empty by now
    engine.heartbeat()
    assert engine.status().epoch == 1


def test_rows_after_the_silence_are_late_only_below_the_watermark_that_was_committed(spark, files, tmp_path):
    clock = Clock()
    engine = idle_engine(files, tmp_path / "home", clock)
    engine.run(seal=False)
    clock.now += 60
    engine.heartbeat()  # the watermark is at 94.9
    files.add(90, 100)
    engine.run(seal=True)
    assert engine.progress("events").late == 49
    assert not engine.progress("events").idle
    assert ends(engine) == [10, 20, 30, 40, 100]


def test_without_a_timeout_a_stream_waits(spark, files, tmp_path):
    clock = Clock()
    engine = idle_engine(files, tmp_path / "home", clock, idle_timeout=None)
    engine.run(seal=False)
    clock.now += 1e6
    engine.heartbeat()
    assert ends(engine) == [10, 20, 30]


def test_a_live_engine_beats_by_itself(spark, files, tmp_path):
    clock = Clock()
    engine = idle_engine(files, tmp_path / "home", clock)
    waiting = []
    with engine.start(trigger="20 milliseconds") as live:
        live.process_available()
        clock.now += 61
        engine.on_epoch = waiting.append
        while not waiting:
            live.wait(0.01)
    assert waiting[0].batch is None
    assert waiting[0].idle
    assert ends(engine) == [10, 20, 30, 40]


def test_rows_that_spark_has_not_looked_for_do_not_become_late(spark, files, tmp_path, monkeypatch):
    """Time goes by, as after a suspend, and Spark has not looked since; only then it does."""
    gone_by = 0.0
    clocks = {"time": time.time, "monotonic": time.monotonic}
    monkeypatch.setattr(time, "time", lambda: clocks["time"]() + gone_by)
    monkeypatch.setattr(listening, "monotonic", lambda: clocks["monotonic"]() + gone_by)
    engine = idle_engine(files, tmp_path / "home", time.time)
    with engine.start(trigger="50 milliseconds") as live:
        live.process_available()
        gone_by = 3600.0
        reader = watched_reader(engine, "events")
        while not reader.is_waiting:
            live.wait(0.01)
        engine.heartbeat()
        assert not engine.progress("events").idle
        files.add(40, 60)
        live.process_available()
    assert engine.progress("events").late == 0
    engine.heartbeat()  # between runs nobody listens, and the clock is all there is
    assert not engine.progress("events").idle
    gone_by += 61
    engine.heartbeat()
    assert engine.progress("events").idle


def test_by_the_systems_clock_too_a_live_engine_beats_by_itself(spark, files, tmp_path):
    engine = idle_engine(files, tmp_path / "home", time.time, idle_timeout="200 milliseconds", delay="0 s")
    with engine.start(trigger="50 milliseconds") as live:
        while not engine.progress("events").idle:
            live.wait(0.01)
    assert engine.progress("events").watermark >= 39_900_000 + 200_000
    assert ends(engine) == [10, 20, 30, 40]


def test_spark_says_when_it_began_to_look_however_long_that_took(spark, tmp_path):
    asked, pipe = tmp_path / "asked", tmp_path / "pipe"
    os.mkfifo(pipe)
    spark.dataSource.register(SlowToList)
    rows = spark.readStream.format("slow_to_list").option("asked", asked).option("pipe", pipe).load()
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    engine.stream("nothing", rows, timestamp="ts", idle_timeout="1 second")
    engine.query("q", "SELECT COUNT(*) AS n FROM nothing [RANGE 10 SECONDS SLIDE 10 SECONDS]")
    with engine.start(trigger="10 milliseconds") as live:
        reader = watched_reader(engine, "nothing")
        with pipe.open("w"):  # opens when the source has been asked
            assert reader.looked() is None
            first = asked.read_text()
        while (second := asked.read_text()) in ("", first):  # asked again: the first time is over
            live.wait(0.01)
        assert reader.looked() <= float(first)
        while time.time() < float(second) + 0.2:  # Spark reports ten times a second
            live.wait(0.01)
        with pipe.open("w"):
            pipe.unlink()
        while asked.read_text() in ("", second):
            live.wait(0.01)
        assert float(first) < reader.looked()


def test_a_query_that_comes_in_the_silence_begins_with_a_heartbeat(spark, files, tmp_path):
    engine = idle_engine(files, tmp_path / "home", Clock(), idle_timeout=None)
    engine.run(seal=False)
    engine.query("new", "SELECT COUNT(*) AS n FROM events [RANGE 1 SECOND SLIDE 1 SECOND]")
    engine.heartbeat()
    (new,) = [query for query in engine.status().queries if query.name == "new"]
    assert new.complete_after == datetime(1970, 1, 1, 0, 0, 39, 900_000, tzinfo=UTC)
    files.add(40, 50)
    engine.run(seal=True)
    assert engine.results("new").count() == 10  # from 40 on; the one before would lack rows


@given(silences=st.lists(st.integers(0, 200), min_size=3, max_size=3))
@settings(settings.get_profile("spark"), max_examples=examples(2))
def test_heartbeats_change_no_answer_only_when_it_appears(spark, tmp_path_factory, silences):
    """Rows that come in time, with any silences between them, are answered as without any."""
    tmp_path = tmp_path_factory.mktemp("quiet")
    files, clock = Files(spark, tmp_path / "in"), Clock()
    start = 0
    for silence in [0, *silences]:
        clock.now += silence
        if files.count:
            engine.heartbeat()  # noqa: F821
        start += 20 + silence  # so that the rows are ahead of any heartbeat
        files.add(start, start + 20)
        engine = engine_on(files, tmp_path / "home", delay="5 seconds", idle_timeout="1 minute", clock=clock)
        engine.run(seal=False)
    engine.run(seal=True)
    assert engine.progress("events").late == 0
    tables, start = [same_events(20, 40)], 20
    for silence in silences:
        start += 20 + silence
        tables.append(same_events(start, start + 20))
    assert_answers(engine, pa.concat_tables(tables))


def test_neither_the_latest_row_nor_the_watermark_goes_back():
    stream = Stream("s", {"ts": pa.timestamp("us", "UTC")}, "ts", delay=10, idle_timeout=5)
    there = Progress(latest=100, watermark=90)
    assert after_rows(stream, there, 50) == (100, 90)
    assert after_rows(stream, there, 120) == (120, 110)
    assert after_rows(stream, there, None) == (100, 90)
    ahead = Progress(latest=100, watermark=300)  # it had been silent
    assert after_rows(stream, ahead, 120) == (120, 300)
    assert after_rows(stream, Progress(), 50) == (50, 40)


def test_several_streams_are_as_far_as_the_slowest_that_is_not_idle():
    fast, slow = Progress(watermark=100), Progress(watermark=10)
    assert joint([fast, slow]) == 10
    assert joint([fast, Progress(watermark=10, idle=True)]) == 100
    assert joint([fast, Progress(watermark=10, sealed=True)]) == 100
    assert joint([Progress(watermark=7, idle=True), Progress(watermark=10, idle=True)]) == 7
    assert joint([fast, Progress()]) is None
    assert joint([]) is None


def test_two_streams_stage_apart_and_commit_in_one_count_of_epochs(spark, tmp_path):
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    sources = {name: Files(spark, tmp_path / name) for name in ("left", "right")}
    for number, (name, files) in enumerate(sources.items()):
        files.add(0, 20)
        files.add(20, 40 + 10 * number)
        engine.stream(name, files.path, timestamp="ts", options={"maxFilesPerTrigger": "1"})
        engine.query(f"of_{name}", f"SELECT COUNT(*) AS n FROM {name} [RANGE 10 S SLIDE 10 S]")
    seen = []
    engine.on_epoch = seen.append
    engine.run(seal=False)
    assert engine.status().watermark == datetime(1970, 1, 1, 0, 0, 39, 900_000, tzinfo=UTC)
    engine.run(seal=True)
    assert [row.n for row in engine.results("of_left").collect()] == [100] * 4
    assert [row.n for row in engine.results("of_right").collect()] == [100] * 5
    batches = {(report.stream, report.batch) for report in seen if report.batch is not None}
    assert batches == {(name, batch) for name in sources for batch in (0, 1)}
    sealing = {report.epoch for report in seen if report.batch is None}
    assert len(sealing) == 1  # both streams in one epoch
    assert max(report.epoch for report in seen) == engine.status().epoch

"""Runs one after the other in one home: what stays open, what waits, and what a run says at its end."""

from __future__ import annotations

import pytest

import windrow
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

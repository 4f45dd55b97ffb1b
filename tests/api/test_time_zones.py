"""The time zone is a stream's own: whatever a later session says, its rows and its answers stay what they are."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from click.testing import CliRunner

import windrow
from tests.harness.on_disk import definition_of, forget_in_definition
from tests.streams import Files, Lines
from windrow.cli.main import main
from windrow.runtime.spark.session import ZONE, in_zone, zone_of

STATEMENTS = """
CREATE STREAM s (ts TIMESTAMP, v INT) FROM CSV '{path}' OPTIONS ({options}) TIMESTAMP ts;
CREATE TABLE openings (k INT, since TIMESTAMP) FROM CSV '{table}';
CREATE QUERY q AS
  SELECT hour(ts) AS h, SUM(v) AS total, CAST(MAX(ts) AS STRING) AS latest, MIN(since) AS since
  FROM s [RANGE 1 HOUR SLIDE 1 HOUR] JOIN openings ON v >= k
  WHERE ts >= TIMESTAMP '2020-01-01 09:00:00' GROUP BY hour(ts) HAVING date(MAX(ts)) = DATE '2020-01-01'
"""


@contextmanager
def in_session_zone(spark, zone):
    before = zone_of(spark)
    spark.conf.set(ZONE, zone)
    try:
        yield
    finally:
        spark.conf.set(ZONE, before)


def line(time, value):
    return f"{time},{value}\n"


def found(engine):
    return sorted((row.h, row.total, row.latest) for row in engine.results("q").collect())


def test_a_stream_of_text_keeps_the_zone_that_it_was_declared_in(spark, tmp_path):
    """Made in Tokyo, it goes on in a session in UTC, told of it again or not, and from the command line."""
    lines, home, table = Lines(tmp_path / "in"), tmp_path / "home", tmp_path / "openings.csv"
    table.write_text("0,2019-12-31 12:00:00\n")
    text = STATEMENTS.format(path=lines.path, options="maxFilesPerTrigger '1'", table=table)
    lines.add(line("2020-01-01 08:00:00", 1) + line("2020-01-01 09:00:00", 2))
    with in_session_zone(spark, "Asia/Tokyo"):
        engine = windrow.Engine(home, spark=spark)
        engine.execute(text)
        engine.run(seal=False)
    assert zone_of(spark) == "UTC"
    lines.add(line("2020-01-01 10:00:00", 4))
    engine = windrow.Engine(home, spark=spark)
    engine.execute(text)
    engine.run(seal=False)
    lines.add(line("2020-01-01 11:00:00", 8))
    engine = windrow.Engine(home, spark=spark)
    engine.run(seal=False)
    assert engine.progress("s").watermark == 1_577_844_000_000_000  # two in the morning, in UTC
    lines.add(line("2020-01-01 12:00:00", 16))
    (tmp_path / "s.cql").write_text(text)
    ran = CliRunner().invoke(main, ["run", str(tmp_path / "s.cql"), "--home", str(home), "--seal"])
    assert ran.exit_code == 0, ran.output
    assert windrow.Engine(home, spark=spark).progress("s").late == 0
    assert found(engine) == [(h, 1 << h - 8, f"2020-01-01 {h:02}:00:00") for h in (9, 10, 11, 12)]
    since = {row.since.timestamp() for row in engine.results("q").collect()}
    assert since == {1_577_761_200}  # three in the morning, in UTC


def test_a_session_that_changes_its_zone_between_two_runs_changes_no_answer(spark, tmp_path):
    """Also where Spark computes the answers themselves, in a session that was the user's own."""
    lines = Lines(tmp_path / "in")
    lines.add(line("2020-01-01 09:00:00", 1))
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    engine.stream("s", lines.path, timestamp="ts", format="csv", schema="ts TIMESTAMP, v INT")
    engine.query("q", "SELECT hour(window_end) AS h, SUM(v) AS total FROM s [RANGE 1 HOUR SLIDE 1 HOUR]")
    lines.add(line("2020-01-01 11:00:00", 2))
    engine.run(seal=False)
    lines.add(line("2020-01-01 13:00:00", 4))
    with in_session_zone(spark, "Asia/Tokyo"):
        engine.run(seal=True)
    assert [(row.h, row.total) for row in engine.results("q").orderBy("total").collect()] == [
        (10, 1),
        (12, 2),
        (14, 4),
    ]


def test_what_the_user_says_of_the_zone_of_timestamps_holds(spark, tmp_path):
    lines, table = Lines(tmp_path / "in"), tmp_path / "openings.csv"
    table.write_text("0,2019-12-31 12:00:00\n")
    lines.add(line("2020-01-01 00:00:00", 1))
    with in_session_zone(spark, "Asia/Tokyo"), windrow.Engine(spark=spark) as engine:
        options = "TimeZone 'UTC'"
        engine.execute(STATEMENTS.format(path=lines.path, options=options, table=table))
        engine.run(seal=True)
        assert found(engine) == [(9, 1, "2020-01-01 09:00:00")]


@pytest.mark.parametrize("streaming", [True, False])
def test_a_dataframe_in_another_zone_is_refused(spark, tmp_path, streaming):
    files = Files(spark, tmp_path / "in")
    files.add(0, 40)
    frame = spark.read.parquet(str(files.path))
    if streaming:
        frame = spark.readStream.schema(frame.schema).parquet(str(files.path))
    query = "SELECT COUNT(*) AS n FROM events [RANGE 1 MINUTE SLIDE 1 MINUTE]"
    told = "stream 'events' is in the time zone UTC and the session of its DataFrame in Asia/Tokyo"
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    engine.stream("events", frame, timestamp="ts")
    engine.query("q", query)
    with in_session_zone(spark, "Asia/Tokyo"):
        with pytest.raises(windrow.SourceError, match=told):
            engine.run(seal=False)
        with pytest.raises(windrow.SourceError, match=told):
            windrow.Engine(tmp_path / "home", spark=spark).stream("events", frame, timestamp="ts")
    with in_session_zone(spark, "Etc/UTC"):  # the same by another name
        engine = windrow.Engine(tmp_path / "home", spark=spark)
        engine.stream("events", frame, timestamp="ts")
        engine.query("q", query)
        engine.run(seal=True)
    assert [row.n for row in engine.results("q").collect()] == [400]


def test_a_stream_without_a_zone_takes_that_of_the_session_that_declares_it_again(spark, tmp_path):
    """As one of an earlier format; a session that only reads on with it settles nothing."""
    (tmp_path / "in").mkdir()

    home = tmp_path / "home"

    def declare():
        engine = windrow.Engine(home, spark=spark)
        engine.stream("s", tmp_path / "in", timestamp="ts", format="csv", schema="ts TIMESTAMP, v INT")

    declare()
    forget_in_definition(home, "s", "zone")
    with in_session_zone(spark, "Asia/Tokyo"):
        engine = windrow.Engine(tmp_path / "home", spark=spark)
        engine.query("q", "SELECT SUM(v) AS total FROM s [RANGE 1 HOUR SLIDE 1 HOUR]")
        assert "zone" not in definition_of(home, "s")
        declare()
        assert definition_of(home, "s")["zone"] == "Asia/Tokyo"
    declare()
    assert definition_of(home, "s")["zone"] == "Asia/Tokyo"


def test_a_session_in_another_zone_leaves_the_session_alone(spark):
    assert in_zone(spark, None) is spark
    assert in_zone(spark, "Etc/UTC") is spark
    other = in_zone(spark, "Asia/Tokyo")
    assert (zone_of(other), zone_of(spark)) == ("Asia/Tokyo", "UTC")
    assert other.sql("SELECT hour(timestamp_seconds(0)) AS h").first().h == 9

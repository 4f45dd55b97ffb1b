"""Sources that change, and sources that are faster than the engine."""

from __future__ import annotations

import pytest

import windrow
from tests.streams import Files, Lines, answers, assert_answers, engine_on, events, same_events, text_engine


class Growing(Files):
    """Parquet files of other columns than those before."""

    def add_as(self, first, last, *columns):
        staging = self.path.parent / f"staging-{self.count}-grown"
        events(self.spark, first, last).selectExpr(*columns).coalesce(1).write.parquet(str(staging))
        (part,) = staging.glob("part-*.parquet")
        self.receive(part)


@pytest.fixture
def files(spark, tmp_path):
    files = Growing(spark, tmp_path / "in")
    files.add(0, 40)
    return files


def test_a_new_column_does_not_stop_the_stream(spark, files, tmp_path):
    engine_on(files, tmp_path / "home").run(seal=False)
    files.add_as(40, 60, "0 AS first", "*", "k * 2 AS more")
    engine = engine_on(files, tmp_path / "home")
    engine.run(seal=False)
    files.add(60, 90)  # and may be missing again
    engine = engine_on(files, tmp_path / "home")
    engine.run(seal=True)
    assert_answers(engine, same_events(0, 90))


def test_a_column_that_changes_its_type_is_named(spark, files, tmp_path):
    engine_on(files, tmp_path / "home").run(seal=False)
    files.add_as(40, 60, "ts", "k", "concat('v', v) AS v", "x")
    with pytest.raises(windrow.WindrowError, match=r"(?s)002\.parquet|column 'v' of 'events' is now"):
        engine_on(files, tmp_path / "home").run(seal=False)
    (files.path / "002.parquet").unlink()


def test_a_column_of_another_type_at_declaration_is_refused(spark, files, tmp_path):
    engine_on(files, tmp_path / "home").run(seal=False)
    for path in files.path.iterdir():
        path.unlink()
    files.add_as(40, 60, "ts", "k", "concat('v', v) AS v", "x")
    with pytest.raises(
        windrow.SourceError, match="column 'v' of 'events' is now string; the home knows it as double"
    ):
        engine_on(files, tmp_path / "home")


def test_a_csv_stream_may_gain_columns_at_its_end(spark, tmp_path):
    lines = Lines(tmp_path / "in")
    lines.add("2020-01-01 00:00:01,1\n")
    engine = text_engine(spark, lines, tmp_path / "home", schema="ts TIMESTAMP, v INT")
    engine.run(seal=False)
    lines.add("2020-01-01 00:00:02,2,new\n")
    engine = text_engine(spark, lines, tmp_path / "home", schema="ts TIMESTAMP, v INT, more STRING")
    engine.run(seal=True)
    assert answers(engine) == [(1, 3, 2)]
    with pytest.raises(windrow.SourceError, match="in a CSV file the order counts"):
        text_engine(spark, lines, tmp_path / "home", schema="v INT, ts TIMESTAMP, more STRING")
    with pytest.raises(windrow.SourceError, match="column 'more' of 's' is gone"):
        text_engine(spark, lines, tmp_path / "home", schema="ts TIMESTAMP, v INT")


def test_settings_may_change_where_they_change_no_answer(spark, files, tmp_path):
    engine_on(files, tmp_path / "home").run(seal=False)
    files.add(40, 60)
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    engine.stream("events", files.path, timestamp="ts", idle_timeout="1 minute", retain="1 day", max_dead=7)
    engine.run(seal=True)
    assert_answers(engine, same_events(0, 60))


def test_a_source_that_is_faster_than_the_engine_is_caught_up_with(spark, files, tmp_path):
    """Six files at once, then more while they are being read: one a batch, and none is lost."""
    for start in range(40, 100, 10):
        files.add(start, start + 10)
    engine = engine_on(files, tmp_path / "home")
    rows = []

    def more(report):
        rows.append(report.rows)
        if len(rows) == 3:
            files.add(100, 110)

    engine.on_epoch = more
    with engine.start(trigger="10 milliseconds") as live:
        live.process_available()
    assert rows == [400] + [100] * 7
    engine.run(seal=True)
    assert_answers(engine, same_events(0, 110))
    assert engine.progress("events").late == 0


def test_one_huge_file_is_one_batch_in_bounded_memory(spark, tmp_path):
    """What comes to the driver is a row a slice and key, however many rows the file has."""
    (tmp_path / "in").mkdir()
    spark.range(600_000).selectExpr(
        "timestamp_micros(id * 100) AS ts", "id % 5 AS k", "CAST(id % 7 AS DOUBLE) AS v", "'unused' AS x"
    ).coalesce(1).write.parquet(str(tmp_path / "staging"))
    (part,) = (tmp_path / "staging").glob("part-*.parquet")
    part.rename(tmp_path / "in" / "huge.parquet")
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    engine.stream("events", tmp_path / "in", timestamp="ts", options={"maxBytesPerTrigger": "1000"})
    engine.query("q", "SELECT k, COUNT(*) AS n FROM events [RANGE 30 SECONDS SLIDE 10 SECONDS] GROUP BY k")
    reports = []
    engine.on_epoch = reports.append
    engine.run(seal=False)
    assert [report.rows for report in reports] == [600_000]
    assert engine.status().queries[0].entries <= 5 * 6
    engine.run(seal=True)
    assert sum(row.n for row in engine.results("q").collect()) == 3 * 600_000

"""Late rows and dead letters: kept as tables, counted, and the stream goes on."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

import windrow
from tests.streams import SUM, Files, Lines, answers, engine_on, text_engine


@pytest.fixture
def lines(tmp_path):
    return Lines(tmp_path / "in")


GOOD = "2020-01-01 00:00:01,1,0.5\n"


def test_bad_lines_of_csv_are_dead_letters_and_close_nothing(spark, lines, tmp_path):
    bad = {
        "2020-01-01 00:00:02,two,0.5": "v is 'two', not INT",
        "2020-01-01 00:00:02,2,half": "unused is 'half', not DOUBLE",  # no query uses it
        "2020-01-01 00:00:02,2": "2 values where 3 columns are declared",
        "2020-01-01 00:00:02,2,0.5,more": "4 values where 3 columns are declared",
        "yesterday,2,0.5": "ts is 'yesterday', not TIMESTAMP",
        ",2,0.5": "ts is NULL",
        "+50000-01-01 00:00:00,2,0.5": "year 50000",
        "2020-01-01 00:00:02,99999999999,0.5": "v is '99999999999', not INT",
    }
    path = lines.add("\n".join([GOOD.strip(), *bad, "2020-01-01 00:00:03,4,0.5\n"]))
    engine = text_engine(spark, lines, tmp_path / "home", max_dead=10)
    engine.run(seal=False)
    assert engine.progress("s").watermark == int(datetime(2020, 1, 1, 0, 0, 3).timestamp() * 1e6)
    engine.run(seal=True)
    assert answers(engine) == [(1, 5, 2)]
    dead = engine.dead("s").collect()
    assert len(dead) == engine.progress("s").dead == engine.dead("s").count() == len(bad)
    for line, reason in bad.items():
        (row,) = [row for row in dead if reason in row._reason]
        assert row._raw == line or "NULL" in reason or "year" in reason
        assert row._file.endswith(f"/in/{path.name}")
        assert row._epoch == 0


def test_bad_lines_of_json_are_dead_letters(spark, lines, tmp_path):
    good = '{"ts": "2020-01-01T00:00:01", "v": 1, "unused": 0.5, "new": [1]}'
    bad = {
        '{"ts": "2020-01-01T00:00:02", "v": "two"}': "v is 'two', not INT",
        '{"ts": "2020-01-01T00:00:02", "v": 2': "not a JSON object",
        "nonsense": "not a JSON object",
        '{"v": 2}': "ts is NULL",
    }
    lines.add("\n".join([good, *bad, good]))
    engine = text_engine(spark, lines, tmp_path / "home", format="json", max_dead=10)
    engine.run(seal=True)
    assert answers(engine) == [(1, 2, 2)]
    dead = [row._reason for row in engine.dead("s").collect()]
    assert len(dead) == len(bad)
    for reason in bad.values():
        assert sum(reason in why for why in dead) == list(bad.values()).count(reason)


def test_before_1970_is_fine(spark, lines, tmp_path):
    lines.add("0002-01-01 00:00:01,1,0\n1820-01-01 00:00:01,2,0\n")
    engine = text_engine(spark, lines, tmp_path / "home")
    engine.run(seal=True)
    assert engine.progress("s").dead == 0
    assert [row.total for row in engine.results("q").orderBy("window_end").collect()] == [1, 2]


def test_a_row_ahead_of_the_clock_is_a_dead_letter(spark, lines, tmp_path):
    lines.add(f"{GOOD}2020-01-03 00:00:00,2,0\n")
    clock = datetime(2020, 1, 1, 0, 0, 2).timestamp()
    engine = windrow.Engine(tmp_path / "home", spark=spark, clock=lambda: clock)
    engine.stream(
        "s", lines.path, timestamp="ts", format="csv", schema="ts TIMESTAMP, v INT, x DOUBLE", skew="1 day"
    )
    engine.query("q", SUM)
    engine.run(seal=True)
    assert answers(engine) == [(1, 1, 1)]
    (dead,) = engine.dead("s").collect()
    assert "ahead of the clock" in dead._reason
    assert "1 day" in dead._reason


def test_dead_letters_and_late_rows_can_be_asked_about_in_sql(spark, lines, tmp_path):
    lines.add(f"{GOOD}broken\n2020-01-01 00:05:00,1,0\n")
    lines.add("2020-01-01 00:00:30,1,0\n2020-01-01 00:04:59,1,0\n2020-01-01 00:06:00,x,0\n")
    engine = text_engine(spark, lines, tmp_path / "home")
    engine.run(seal=True)
    engine.dead("s").createOrReplaceTempView("dead_letters")
    engine.late("s").createOrReplaceTempView("late_rows")
    counts = spark.sql("SELECT _epoch, count(*) AS n FROM dead_letters GROUP BY 1 ORDER BY 1").collect()
    assert [tuple(row) for row in counts] == [(0, 1), (1, 1)]
    ((most, n),) = spark.sql("SELECT max(_late_by), count(*) FROM late_rows").collect()
    assert (most, n) == (timedelta(minutes=4, seconds=30), 2)
    assert engine.progress("s").late == 2


def test_late_rows_say_how_late_and_from_where(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    files.add(0, 90)
    files.add(83, 86)
    engine = engine_on(files, tmp_path / "home", delay="5 seconds")
    engine.run(seal=True)
    late = engine.late("events").orderBy("ts").collect()
    assert [row._late_by.total_seconds() for row in late] == [round(1.9 - i / 10, 1) for i in range(19)]
    assert {row._file.rpartition("/")[2] for row in late} == {"002.parquet"}
    assert late[0].k == 830 % 5
    assert late[0].x is None  # a column that no query uses is not read
    assert {row._epoch for row in late} == {1}


def test_too_many_dead_letters_stop_the_stream_loudly(spark, lines, tmp_path):
    lines.add(f"{GOOD}bad 1\nbad 2\n")
    lines.add("2020-01-01 00:00:02,1,0\nbad 3\n")
    lines.add("2020-01-01 00:00:03,1,0\n")
    engine = text_engine(spark, lines, tmp_path / "home", max_dead=2)
    told = r"stream 's' has 3 dead letters, more than its MAX DEAD of 2; eng\.dead\('s'\) has them"
    with pytest.raises(windrow.SourceError, match=told):
        engine.run(seal=True)
    assert engine.dead("s").count() == 3  # what made it stop can be looked at
    with pytest.raises(windrow.SourceError, match=told):
        text_engine(spark, lines, tmp_path / "home", max_dead=2).run(seal=True)
    again = text_engine(spark, lines, tmp_path / "home", max_dead=10)
    again.run(seal=True)
    assert answers(again) == [(1, 3, 3)]


def test_a_batch_that_is_late_as_a_whole_is_kept(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    files.add(1000, 1010)
    files.add(0, 500)
    engine = engine_on(files, tmp_path / "home")
    engine.run(seal=True)
    assert engine.late("events").count() == 5000
    assert engine.results("q").where("window_end < timestamp_seconds(999)").count() == 0


def test_dead_letters_of_a_frame_are_kept_once_however_many_queries_read_it(spark, tmp_path):
    rows = spark.sql("SELECT timestamp_seconds(id) AS ts, id AS v FROM range(100) UNION ALL SELECT NULL, 7")
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    engine.stream("s", rows, timestamp="ts")
    for name in ("first", "second"):
        engine.query(name, SUM)
        engine.run(seal=True)
        assert [row._reason for row in engine.dead("s").collect()] == ["ts is NULL: a row without event time"]
    assert engine.results("second").count() == engine.results("first").count() == 2


SEMICOLONS = "2020-01-01 00:00:01;1;0,5\n2020-01-01 00:00:02;2;0,5\n2020-01-01 00:00:03;4;0,5\nts;v;unused\n"


def test_a_first_batch_that_is_mostly_dead_is_not_taken_in_and_the_stream_may_be_declared_anew(
    spark, lines, tmp_path
):
    path = lines.add(SEMICOLONS)
    engine = text_engine(spark, lines, tmp_path / "home")
    with pytest.raises(windrow.SourceError) as failed:
        engine.run(seal=False)
    assert str(failed.value).splitlines()[:6] == [
        "dead letters of stream 's': 4 of its first 4 rows, so none of them is taken in",
        "  3 × 2 values where 3 columns are declared",
        f"    2020-01-01 00:00:01;1;0,5 ({path})",
        "  1 × 1 value where 3 columns are declared",
        f"    ts;v;unused ({path})",
        "check how it is declared: the order and the types of its columns, and for text its header, its "
        "separator (sep) and its timestampFormat; then run it again, in this home too, which is as it was. "
        "If the rows are as they should be, say with MAX DEAD (max_dead) how many may be dead",
    ]
    assert (engine.status().epoch, engine.progress("s").rows, engine.dead("s").count()) == (-1, 0, 0)
    with engine.start() as live, pytest.raises(windrow.SourceError, match="4 of its first 4 rows"):
        live.process_available()
    # Other options, other types, and so other types of what the query of the home answers; the header is one
    # bad line of four.
    again = windrow.Engine(tmp_path / "home", spark=spark)
    again.stream(
        "s", lines.path, timestamp="ts", format="csv", schema="ts TIMESTAMP, v DOUBLE, unused STRING",
        options={"sep": ";"},
    )  # fmt: skip
    again.run(seal=True)
    assert answers(again) == [(1, 7.0, 3)]
    assert dict(again.results("q").dtypes)["total"] == "double"
    assert again.progress("s").dead == 1
    with pytest.raises(
        windrow.WindrowError, match="column 'unused' of 's' is now double"
    ):  # it has been read
        text_engine(spark, lines, tmp_path / "home", options={"sep": ";"})


def test_a_bad_file_may_be_taken_away_from_a_first_batch(spark, lines, tmp_path):
    """Spark has planned the batch, and does not insist on the file."""
    bad = lines.add(SEMICOLONS)
    engine = text_engine(spark, lines, tmp_path / "home")
    with pytest.raises(windrow.SourceError, match="4 of its first 4 rows"):
        engine.run(seal=True)
    bad.unlink()
    lines.add(GOOD)
    engine.run(seal=True)
    assert answers(engine) == [(1, 1, 1)]


def test_a_first_batch_that_is_mostly_dead_is_refused_of_a_frame_too(spark):
    """Half of it is not most of it, and who says how many may be dead has said so."""
    for rows, most in ((5, None), (6, None), (5, 3)):
        frame = spark.range(rows).selectExpr("IF(id < 3, NULL, timestamp_seconds(id)) AS ts", "id AS v")
        with windrow.Engine(spark=spark) as engine:
            engine.stream("s", frame, timestamp="ts", max_dead=most)
            engine.query("q", SUM)
            if (rows, most) == (5, None):
                with pytest.raises(windrow.SourceError, match=r"3 of its first 5 rows, .*\n  3 × ts is NULL"):
                    engine.run(seal=True)
                rows = 0
            else:
                engine.run(seal=True)
            assert engine.progress("s").rows == rows


def test_a_run_says_why_rows_are_dead_and_fails_if_most_of_them_are(spark, lines, tmp_path, caplog):
    """Reasons that differ in the value that they quote are one; the values that are quoted are of one row."""
    lines.add(GOOD * 6 + "".join(f"2020-01-01 00:00:02,x{i},0\n" for i in range(3)) + "broken\n")
    engine = text_engine(spark, lines, tmp_path / "home")
    engine.run(seal=False)
    told = [
        "dead letters of stream 's': 4 of 10 rows of this run; eng.dead('s') has them",
        "  3 × v is 'x0', not INT",
        f"    2020-01-01 00:00:02,x0,0 ({lines.path}/001.txt)",
        "  1 × 1 value where 3 columns are declared",
        f"    broken ({lines.path}/001.txt)",
    ]
    assert caplog.messages[-1].splitlines() == told
    lines.add(f"{GOOD}+12020-01-01 00:00:01,1,0\n+12021-01-01 00:00:01,1,0\n")
    with pytest.raises(windrow.SourceError) as failed:
        engine.run(seal=True)
    assert str(failed.value).splitlines()[:2] == [
        "dead letters of stream 's': 2 of 3 rows of this run; eng.dead('s') has them",
        "  2 × ts is in the year 12020: event time must be in the years 1 to 9999; milliseconds taken for seconds?",
    ]
    assert "everything is committed. To have these rows after all, correct them in files" in str(failed.value)
    assert answers(engine) == [(1, 7, 7)]
    assert engine.progress("s").dead == 6
    engine.run(seal=True)  # nothing came


def test_a_run_with_a_query_in_quarantine_says_why_rows_are_dead_too(spark, lines, tmp_path, caplog):
    lines.add(GOOD)
    engine = text_engine(spark, lines, tmp_path / "home")
    engine.query("broken", "SELECT SUM(1 / (v - 1)) AS x FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE]")
    with pytest.raises(windrow.QueryFailed):
        engine.run(seal=False)
    lines.add(f"{GOOD}one\ntwo\n")
    engine.sink("q", lambda epoch, answers: 1 / 0)
    with pytest.raises(
        windrow.QueryFailed, match=r"(?s)broken: Division by zero.*the sink of query 'q' failed"
    ):
        engine.run(seal=True)
    assert "dead letters of stream 's': 2 of 3 rows of this run" in caplog.text


def test_a_live_engine_says_why_rows_were_dead_when_it_stops(spark, lines, tmp_path, caplog):
    lines.add(GOOD)
    engine = text_engine(spark, lines, tmp_path / "home")
    with engine.start(trigger="50 milliseconds") as live:
        live.process_available()
        lines.add("broken\nalso\n")
        live.process_available()
        assert live.active
    assert "'s': 2 of 3 rows of this run; eng.dead('s') has them\n  2 × 1 value where" in caplog.messages[-1]

"""The engine's promises beside the answers: streams of files, restarts, seals, drops, homes, errors."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest

import windrow
from tests.harness.faults import TIDYING, at_steps, disturbed
from tests.harness.on_disk import committed_paths, set_format
from tests.harness.plans import declared_stream
from tests.harness.readers import columns_read
from tests.oracle import assert_same_answers, native
from tests.streams import SECOND, SQL, Files, assert_answers, engine_on, events, same_events
from windrow.api import engine as engine_module
from windrow.runtime.spark import patience
from windrow.slicing import Window


@pytest.fixture
def files(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    files.add(0, 40)
    files.add(40, 90)
    return files


def test_a_stream_of_files_gives_the_batch_answer(spark, files, tmp_path):
    engine = engine_on(files, tmp_path / "home")
    seen = []
    engine.on_epoch = seen.append
    engine.run(seal=True)
    assert_answers(engine, same_events(0, 90))
    assert [report.rows for report in seen] == [400, 500, 0]
    assert seen[0].watermark == 39_900_000
    assert seen[1].latest["q"]["n"].to_pylist() == [60] * 5


def test_stopping_and_restarting_continues_exactly(spark, files, tmp_path):
    """Every run in a new engine, one of them without news, then the seal."""
    home = tmp_path / "home"
    engine_on(files, home).run(seal=False)
    engine_on(files, home).run(seal=False)
    files.add(90, 100)
    engine = engine_on(files, home)
    engine.run(seal=False)
    unsealed = engine.results("q").count()
    files.add(100, 101)
    engine = engine_on(files, home)
    engine.run(seal=True)
    assert engine.results("q").count() > unsealed
    assert_answers(engine, same_events(0, 101))


def test_a_batch_that_spark_noted_and_did_not_plan_is_the_same_batch_later(spark, files, tmp_path):
    """Spark itself would put its file and the next one into one batch, against maxFilesPerTrigger."""
    home = tmp_path / "home"
    engine = engine_on(files, home)
    engine.run(seal=False)
    files.add(90, 100)
    offsets = home / "streams" / "events" / "offsets"
    (offsets / "2").mkdir()
    with pytest.raises(windrow.WindrowError, match="stream 'events' stopped"):
        engine.run(seal=False)
    (offsets / "2").rmdir()
    assert [path.name for path in (offsets.parent / "sources" / "0").glob("[0-9]*")].count("2") == 1
    (offsets / ".3.0-1-2.tmp").write_text("half a")
    files.add(100, 120)
    engine = engine_on(files, home)
    seen = []
    engine.on_epoch = seen.append
    engine.run(seal=True)
    assert [report.rows for report in seen] == [100, 200, 0]
    assert_answers(engine, same_events(0, 120))
    assert not list(offsets.glob("*.tmp"))


def test_sources_of_the_users_are_left_to_spark(spark, files, tmp_path):
    """The log of a frame with several sources, some of them used twice, is not for others to tidy."""
    rows = spark.readStream.schema("ts TIMESTAMP, k LONG, v DOUBLE").parquet(str(files.path))
    with disturbed(TIDYING, lambda *_: pytest.fail("not ours")):
        for _ in range(2):
            engine = windrow.Engine(tmp_path / "home", spark=spark)
            engine.stream("events", rows.where("k > 2").union(rows.where("k <= 2")), timestamp="ts")
            engine.query("q", SQL)
            engine.run(seal=False)
        engine.run(seal=True)
    assert_answers(engine, same_events(0, 90))


def test_a_home_knows_its_streams(spark, files, tmp_path):
    """A new engine need not be told of them again, and names them when one is misspelt."""
    engine_on(files, tmp_path / "home").run(seal=False)
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    with pytest.raises(windrow.WindrowError, match="no stream 'event'; did you mean events"):
        engine.late("event")
    engine.query("other", "SELECT COUNT(*) AS n FROM events [RANGE 1 SECOND SLIDE 1 SECOND]")
    files.add(90, 100)
    engine.run(seal=True)
    assert engine.results("other").count() == 10
    assert_answers(engine, same_events(0, 100))


def test_late_rows_have_the_types_of_the_stream_also_in_an_engine_that_does_not_know_it(
    spark, files, tmp_path
):
    engine = engine_on(files, tmp_path / "home")
    engine.run(seal=False)
    files.add(5, 6)
    engine.run(seal=False)
    told = [c for c in engine.late("events").dtypes if c[0] != "x"]
    assert told[0] == ("ts", "timestamp")
    assert windrow.Engine(tmp_path / "home", spark=spark).late("events").dtypes == told


def test_a_home_that_cannot_be_used_is_found_out_before_spark_is_started(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_module, "local_session", lambda: pytest.fail("Spark was started"))
    (tmp_path / "file").touch()
    with pytest.raises(windrow.HomeError, match="not empty"):
        windrow.Engine(tmp_path)


def test_an_unnamed_query_that_has_changed_says_how_it_got_its_name(spark, files, tmp_path):
    sql = "SELECT COUNT(*) AS n FROM events [RANGE 1 SECOND SLIDE 1 SECOND]"
    for text in (sql, sql.replace("COUNT(*)", "SUM(v)")):
        engine = windrow.Engine(tmp_path / "home", spark=spark)
        engine.stream("events", files.path, timestamp="ts")
        if text == sql:
            engine.execute(text)
    with pytest.raises(windrow.HomeError, match=r"drop .*home query_1\na SELECT without a name is called"):
        engine.execute(text)


def test_a_query_of_the_home_goes_on_until_it_is_dropped(spark, files, tmp_path):
    """An engine that is not told of it takes it up, or its answers would have a hole."""
    home = tmp_path / "home"
    engine_on(files, home).run(seal=False)
    files.add(90, 100)
    windrow.Engine(home, spark=spark).run(seal=False)
    files.add(100, 110)
    engine = windrow.Engine(home, spark=spark)
    engine.stream("events", files.path, timestamp="ts", options={"maxFilesPerTrigger": "1"})
    engine.query("other", "SELECT COUNT(*) AS n FROM events [RANGE 1 SECOND SLIDE 1 SECOND]")
    engine.run(seal=True)
    assert_answers(engine, same_events(0, 110))
    ends = [row.window_end.timestamp() for row in engine.results("other").collect()]
    assert sorted(ends) == list(range(101, 111))  # complete windows only: rows up to 99.9 came before it
    last = windrow.Engine(home, spark=spark)
    last.drop("Q")
    with pytest.raises(windrow.WindrowError, match="there is no query 'q'"):
        last.results("q")


def test_an_engine_that_takes_up_a_query_keeps_its_retain(spark, files, tmp_path):
    home = tmp_path / "home"
    first = engine_on(files, home)
    first.query("kept", SQL, retain="20 seconds")
    first.run(seal=False)
    files.add(90, 100)
    engine = windrow.Engine(home, spark=spark)
    engine.run(seal=True)
    assert engine.status().queries[1].retain == timedelta(seconds=20)


def test_a_stream_keeps_what_it_is(spark, files, tmp_path):
    home = tmp_path / "home"
    with windrow.Engine(home, spark=spark) as engine:
        engine.stream("events", events(spark, 0, 5), timestamp="ts")
        engine.query("q", SQL)
        engine.run(seal=True)
    told = "stream 'events' is defined otherwise in this home:\n.*static DataFrame"
    with pytest.raises(windrow.HomeError, match=told):
        engine_on(files, home)


def test_two_engines_can_take_turns(spark, files, tmp_path):
    home = tmp_path / "home"
    first, second = engine_on(files, home), engine_on(files, home)
    first.run(seal=False)
    files.add(90, 110)
    second.run(seal=False)
    files.add(110, 120)
    first.run(seal=False)
    second.run(seal=True)
    assert_answers(first, same_events(0, 120))


def test_names_are_the_same_in_any_case(spark, files, tmp_path):
    home = tmp_path / "home"
    engine_on(files, home, sql=SQL.replace("events", "Events")).run(seal=False)
    files.add(90, 100)
    engine = windrow.Engine(home, spark=spark)
    engine.run(seal=False)
    engine.run(seal=True)
    assert_answers(engine, same_events(0, 100))


def test_a_frame_is_sealed_for_all_its_queries(spark):
    with windrow.Engine(spark=spark) as engine:
        engine.stream("events", events(spark, 0, 20), timestamp="ts")
        engine.query("q", SQL)
        engine.run(seal=False)
        engine.query("later", SQL)
        engine.run()
        assert_answers(engine, same_events(0, 20))
        assert sorted(engine.results("later").collect()) == sorted(engine.results("q").collect())


def test_strings_when_the_first_batch_has_none(spark, files, tmp_path):
    engine = engine_on(
        files, tmp_path / "home", sql="SELECT MAX(x) AS x FROM events [RANGE 5 S SLIDE 5 S] WHERE k = 9"
    )
    engine.run(seal=True)
    assert engine.results("q").count() == 0


def test_rows_below_the_watermark_are_late_and_counted(spark, files, tmp_path):
    home = tmp_path / "home"
    engine_on(files, home, delay="5 seconds").run(seal=False)
    files.add(83, 86)  # the watermark is at 84.9
    engine = engine_on(files, home, delay="5 seconds")
    engine.run(seal=True)
    assert engine.progress("events").late == 19
    assert engine.progress("events").rows == 930
    in_time = same_events(83, 86).slice(19)
    assert_answers(engine, pa.concat_tables([same_events(0, 90), in_time]))


def test_rows_that_come_after_a_seal_are_late(spark, files, tmp_path, caplog):
    home = tmp_path / "home"
    engine_on(files, home).run(seal=True)
    files.add(90, 95)
    engine = engine_on(files, home)
    assert not caplog.records
    engine.run(seal=True)
    assert "stream 'events' was sealed in this home by an earlier run" in caplog.text
    assert_answers(engine, same_events(0, 90))
    assert engine.progress("events").late == 50
    with pytest.raises(windrow.WindrowError, match="stream 'events' is sealed in this home"):
        engine.query("new", SQL)


def test_a_live_engine_answers_as_rows_come(spark, files, tmp_path):
    engine = engine_on(files, tmp_path / "home")
    with engine.start(trigger="100 milliseconds") as live:
        live.process_available()
        before = engine.results("q").count()
        files.add(90, 130)
        live.process_available()
        assert live.active
        assert engine.results("q").count() > before
        engine.query("more", "SELECT MAX(v) AS most FROM events [RANGE 1 SECOND SLIDE 1 SECOND]")
        files.add(130, 140)
        live.process_available()
        assert engine.results("more").count() == 9  # windows that began after it came
        engine.drop("more")
        with pytest.raises(windrow.HomeError, match="another engine is running on"):
            engine_on(files, tmp_path / "home").run(seal=True)
    assert not live.active
    engine.run(seal=True)
    assert_answers(engine, same_events(0, 140))


def test_only_the_columns_in_use_are_read(spark, files, tmp_path):
    engine = engine_on(files, tmp_path / "home")
    assert "scan events: ts, k, v" in engine.explain()
    assert columns_read(engine, "events") == ["ts", "k", "v"]


def test_null_and_absurd_timestamps_enter_no_window_and_move_nothing(spark, tmp_path):
    df = spark.sql(
        "SELECT * FROM VALUES (TIMESTAMP '2020-01-01 00:00:01', 1), (NULL, 2), "
        "(TIMESTAMP '5000-01-01 00:00:00', 4), (TIMESTAMP '1820-01-01 00:00:00', 8) AS t(ts, v)"
    )
    with windrow.Engine(spark=spark) as engine:
        engine.stream("events", df, timestamp="ts", skew="1 day")
        engine.query("q", "SELECT SUM(v) AS total FROM events [RANGE 1 MINUTE SLIDE 1 MINUTE]")
        engine.query(
            "positive", "SELECT SUM(v) AS total FROM events [RANGE 1 MINUTE SLIDE 1 MINUTE] WHERE v > 0"
        )
        engine.run()
        for name in engine.queries:
            assert sorted(row.total for row in engine.results(name).collect()) == [1, 8]
        assert engine.progress("events").dead == 2
        assert engine.progress("events").rows == 4


def test_a_query_added_after_a_run_over_a_frame_sees_the_whole_frame(spark):
    with windrow.Engine(spark=spark) as engine:
        engine.stream("events", events(spark, 0, 20), timestamp="ts")
        engine.query("q", SQL)
        engine.run()
        first = sorted(engine.results("q").collect())
        engine.query("again", SQL)
        engine.run()
        assert sorted(engine.results("again").collect()) == first
        assert sorted(engine.results("q").collect()) == first


def test_having_and_expressions_over_aggregates_are_sparks(spark):
    df = events(spark, 0, 50)
    with windrow.Engine(spark=spark) as engine:
        engine.stream("events", df, timestamp="ts")
        engine.query(
            "q",
            "SELECT k * 2 AS twice, ROUND(SUM(v) / COUNT(*), 3) AS mean, concat('k', k) AS label FROM events "
            "[RANGE 20 SECONDS SLIDE 10 SECONDS] WHERE v > -0.5 GROUP BY k HAVING MAX(v) > 0.99 AND k <> 3",
        )
        engine.run()
        aggs = {"sum": "SUM(v)", "n": "COUNT(*)", "most": "MAX(v)"}
        expected = native(df.where("v > -0.5"), Window(20 * SECOND, 10 * SECOND), ["k"], aggs)
        expected = expected.where("most > 0.99 AND k <> 3").selectExpr(
            "window_start",
            "window_end",
            "k * 2 AS twice",
            "ROUND(sum / n, 3) AS mean",
            "concat('k', k) AS label",
        )
        assert sorted(engine.results("q").collect()) == sorted(expected.collect())


def test_a_table_enriches_a_stream(spark):
    df = events(spark, 0, 50)
    names = spark.createDataFrame([(0, "zero"), (1, "one"), (1, "uno")], "k INT, name STRING")
    with windrow.Engine(spark=spark) as engine:
        engine.stream("events", df, timestamp="ts")
        engine.table("names", names)
        window = "[RANGE 20 SECONDS SLIDE 10 SECONDS]"
        engine.query(
            "inner",
            f"SELECT name, COUNT(*) AS n FROM events {window} JOIN names n ON events.k = n.k GROUP BY name",
        )
        engine.query(
            "left",
            f"SELECT name, COUNT(*) AS n FROM events {window} e LEFT JOIN names ON e.k = names.k GROUP BY name",
        )
        engine.run()
        for kind in ("inner", "left"):
            joined = df.join(names, "k", kind)
            expected = native(joined, Window(20 * SECOND, 10 * SECOND), ["name"], {"n": "COUNT(*)"})
            assert assert_same_answers(engine.results(kind), expected, ["name"]) > 10


def test_a_sink_gets_the_answers_with_their_epoch(spark, files, tmp_path):
    got = []
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    engine.stream("events", files.path, timestamp="ts", options={"maxFilesPerTrigger": "1"})
    engine.query("q", SQL, sink=lambda epoch, answers: got.append((epoch, answers)))
    engine.run(seal=True)
    assert sum(len(answers) for _, answers in got) == engine.results("q").count()
    assert {epoch for epoch, _ in got} == {0, 1, 2}


def test_a_failing_epoch_leaves_nothing_and_the_next_attempt_goes_on(spark, files, tmp_path, monkeypatch):
    home = tmp_path / "home"
    reached = []

    def full(step):
        reached.append(step)
        if step == "files forced to disk" and reached.count(step) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(patience, "PAUSES", ())
    failing = engine_on(files, home)
    told = r"epoch 1 could not be committed to .*: no space left on device; free some, and start again: nothing is lost"
    with at_steps(full), pytest.raises(windrow.HomeError, match=told):
        failing.run(seal=True)
    engine = engine_on(files, home)
    engine.run(seal=True)
    assert_answers(engine, same_events(0, 90))
    assert committed_paths(home) == {
        path for path in home.rglob("*") if path.suffix in (".parquet", ".slices")
    }


def test_a_query_that_fails_in_spark_says_which_and_why(spark):
    with windrow.Engine(spark=spark) as engine:
        engine.stream("events", events(spark, 0, 5), timestamp="ts")
        engine.query("broken", "SELECT SUM(1 / (k - 3)) AS x FROM events [RANGE 1 SECOND SLIDE 1 SECOND]")
        with pytest.raises(windrow.QueryFailed, match=r"^broken: Division by zero"):
            engine.run()


def test_names_and_definitions_are_checked(spark, files, tmp_path):
    engine = engine_on(files, tmp_path / "home")
    with pytest.raises(windrow.WindrowError, match="there is a stream called 'events' already"):
        engine.table("Events", events(spark, 0, 1))
    with pytest.raises(windrow.StatementError, match="there is a query called 'q' already"):
        engine.query("Q", SQL)
    with pytest.raises(windrow.WindrowError, match=r"there is no query 'queue'; registered: q"):
        engine.results("queue")
    with pytest.raises(windrow.WindrowError, match=r"there is no stream 'event'; did you mean events\?"):
        engine.progress("event")
    with pytest.raises(windrow.HomeError, match="there is a query 'q' already"):
        engine_on(files, tmp_path / "home", sql=SQL.replace("30", "31"))
    engine.run(seal=False)
    with pytest.raises(windrow.HomeError, match="stream 'events' is defined otherwise in this home"):
        engine_on(files, tmp_path / "home", delay="1 hour")
    engine.drop("q")
    with pytest.raises(windrow.WindrowError, match="there are no queries to run"):
        engine.run(seal=True)
    engine.query("q", SQL.replace("30", "31"))
    assert engine.queries == ["q"]


def test_sources_are_checked(spark, tmp_path):
    engine = windrow.Engine(spark=spark)
    df = events(spark, 0, 1)
    with pytest.raises(windrow.WindrowError, match=r"no column 'tss' for its event time\ndid you mean ts\?"):
        engine.stream("s", df, timestamp="tss")
    with pytest.raises(
        windrow.WindrowError, match="column 'k' of 's' is int64; event time must be a TIMESTAMP"
    ):
        engine.stream("s", df, timestamp="k")
    with pytest.raises(windrow.SourceError, match=r"there is no '.*nowhere'"):
        engine.stream("s", tmp_path / "nowhere", timestamp="ts")
    with pytest.raises(windrow.SourceError, match="unknown format 'xml'; there are parquet, csv, json"):
        engine.stream("s", tmp_path, timestamp="ts", format="xml")
    with pytest.raises(windrow.SourceError, match="a source is a Spark DataFrame or a path, not int"):
        engine.stream("s", 3, timestamp="ts")
    (tmp_path / "empty").mkdir()
    with pytest.raises(windrow.SourceError, match="cannot read parquet from"):
        engine.stream("s", tmp_path / "empty", timestamp="ts")
    engine.stream("s", df, timestamp="ts")
    engine.query("q", "SELECT COUNT(*) FROM s [RANGE 1 DAY SLIDE 1 DAY]")
    with pytest.raises(
        windrow.SourceError, match="'s' is a static DataFrame, so there is nothing to wait for"
    ):
        engine.start()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda e, df: e.stream("s", df, timestamp="ts", delay=10),
            "a duration is text such as '10 minutes'",
        ),
        (lambda e, df: e.query("q", 42), "the second argument is SQL text, not int"),
        (
            lambda e, df: e.query("q", SQL, sink="out"),
            r"a sink is a function of \(epoch, answers\), not 'out'",
        ),
        (
            lambda e, df: e.stream("s", "in", timestamp="ts", format="csv"),
            "CSV files do not say what their columns",
        ),
        (lambda e, df: e.stream("s", "tests/cli", timestamp="ts"), "cannot read parquet from"),
        (lambda e, df: windrow.Engine("tests"), "is not a home, and it is not empty"),
    ],
)
def test_wrong_arguments_are_named(spark, call, message):
    with windrow.Engine(spark=spark) as engine, pytest.raises(windrow.WindrowError, match=message):
        call(engine, events(spark, 0, 1))


def test_a_timedelta_is_a_duration(spark):
    with windrow.Engine(spark=spark) as engine:
        engine.stream("s", events(spark, 0, 1), timestamp="ts", delay=timedelta(minutes=1))
        assert declared_stream(engine, "s").delay == 60 * SECOND


def test_statements_are_kept_all_or_none(spark, tmp_path):
    events(spark, 0, 20).drop("x").write.option("header", "true").csv(str(tmp_path / "in"))
    stream = (
        f"CREATE STREAM readings (ts TIMESTAMP, k BIGINT, v DOUBLE) FROM CSV '{tmp_path / 'in'}' "
        "OPTIONS (header 'true') TIMESTAMP ts DELAY 5 SECONDS;"
    )
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    with pytest.raises(windrow.StatementError, match=r"unknown column 'w' \(line 2, column 30\)"):
        engine.execute(
            f"{stream} CREATE QUERY ok AS SELECT COUNT(*) FROM readings [RANGE 5 S SLIDE 5 S];\nCREATE QUERY q AS SELECT MAX(w) FROM readings [RANGE 5 S SLIDE 5 S]"
        )
    assert engine.queries == []
    stream = stream.replace("DELAY 5", "DELAY 6")  # and another definition is no conflict
    names = engine.execute(f"{stream} SELECT COUNT(*) AS n FROM readings [RANGE 10 SECONDS SLIDE 10 SECONDS]")
    assert names == ["query_1"]
    engine.run(seal=True)
    assert [row.n for row in engine.results("query_1").collect()] == [100, 100]
    with pytest.raises(windrow.StatementError, match="unknown stream or table 'nothing'"):
        engine.execute("SELECT COUNT(*) FROM nothing [RANGE 1 S SLIDE 1 S]")
    assert engine.queries == ["query_1"]


def test_a_failing_execute_keeps_what_the_home_had(spark, files, tmp_path):
    home = tmp_path / "home"
    engine_on(files, home).run(seal=False)
    again = windrow.Engine(home, spark=spark)
    again.stream("events", files.path, timestamp="ts", options={"maxFilesPerTrigger": "1"})
    with pytest.raises(windrow.StatementError):
        again.execute(f"CREATE QUERY q AS {SQL}; SELECT nonsense FROM events [RANGE 1 S SLIDE 1 S]")
    engine = engine_on(files, home)
    engine.run(seal=True)
    assert_answers(engine, same_events(0, 90))


def test_results_of_an_earlier_engine_can_be_read_at_once(spark, files, tmp_path):
    first = engine_on(files, tmp_path / "home")
    first.run(seal=True)
    later = windrow.Engine(tmp_path / "home", spark=spark)
    assert later.queries == ["q"]
    assert later.progress("events").rows == 900
    assert sorted(later.results("Q").collect()) == sorted(first.results("q").collect())
    with pytest.raises(windrow.WindrowError, match="there is no query 'p'"):
        later.results("p")


def test_a_batch_compiles_no_code_of_its_own(spark, files, tmp_path):
    """A watermark that stood in the generated code would make Spark compile every batch anew."""
    compiled = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
    counts = []
    for number in range(9, 15):
        files.add(number * 10, number * 10 + 10)
    engine = engine_on(files, tmp_path / "home")
    engine.on_epoch = lambda report: counts.append(compiled.getCount())
    engine.run(seal=True)
    assert counts[-2] == counts[3]


def test_home_of_another_format_is_refused(spark, tmp_path):
    windrow.Engine(tmp_path / "home", spark=spark).close()
    set_format(tmp_path / "home", 99)
    with pytest.raises(
        windrow.HomeError, match="has format 99 and this Windrow reads up to 7; use a newer Windrow"
    ):
        windrow.Engine(tmp_path / "home", spark=spark)
    (tmp_path / "file").write_text("not a directory")
    with pytest.raises(windrow.HomeError, match=r"cannot use .* as a home"):
        windrow.Engine(tmp_path / "file", spark=spark)


def test_closing_an_engine_stops_what_runs(spark, files, tmp_path):
    with engine_on(files, tmp_path / "home") as engine:
        live = engine.start(trigger="100 milliseconds")
        live.process_available()
    assert not live.active
    with engine_on(files, tmp_path / "home") as later:  # nobody holds the home any more
        later.run(seal=True)
        assert_answers(later, same_events(0, 90))

"""A query that fails while it runs is found, set aside with its error, and does not take the others with it."""

from __future__ import annotations

import re
from contextlib import ExitStack

import pytest

import windrow
from tests.harness.faults import answers_failing, at_steps
from tests.streams import SQL, Files, assert_answers, engine_on, same_events
from windrow.api.clients import resume_queries
from windrow.runtime.spark import patience

WINDOW = "[RANGE 10 SECONDS SLIDE 10 SECONDS]"
# Each goes well until second 40, where k - 3, the cast or the sum fails; `share` puts it into the pass of q.
BROKEN = {
    "division": f"SELECT k, SUM(1 / (CASE WHEN ts >= TIMESTAMP '1970-01-01 00:00:40Z' THEN k - 3 ELSE 1 END)) AS x FROM events {WINDOW} GROUP BY k",
    "cast": f"SELECT MAX(CAST(IF(ts >= TIMESTAMP '1970-01-01 00:00:40Z', x, '1') AS INT)) AS x FROM events {WINDOW}",
    "overflow in the JVM": f"SELECT SUM(IF(ts >= TIMESTAMP '1970-01-01 00:00:40Z', 9223372036854775807, 1)) AS x FROM events {WINDOW}",
    "overflow of a window": "SELECT SUM(IF(unix_micros(ts) IN (41000000, 51000000), 9223372036854775000, 1)) AS x FROM events [RANGE 20 SECONDS SLIDE 10 SECONDS]",
    "having": f"SELECT k, COUNT(*) AS n FROM events {WINDOW} GROUP BY k HAVING 1 / (COUNT(*) - 20) > 0",
    "with q": SQL.replace(
        "SUM(v)", "SUM(1 / (CASE WHEN ts >= TIMESTAMP '1970-01-01 00:00:40Z' THEN k - 3 ELSE 1 END))"
    ),
}
WHY = {
    "division": "Division by zero",
    "cast": "The value 'unused' of the type .STRING. cannot be cast to .INT.",
    "overflow in the JVM": "[Oo]verflow",
    "overflow of a window": "SUM.* does not fit in int64",
    "having": "Division by zero",
    "with q": "Division by zero",
}


@pytest.fixture
def files(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    for start in range(0, 80, 20):
        files.add(start, start + 20)
    return files


IN_TASKS = [pytest.param(kind, 2, id=f"{kind}, in tasks") for kind in ("overflow of a window", "having")]


@pytest.mark.parametrize(("kind", "nodes"), [*((kind, 1) for kind in BROKEN), *IN_TASKS])
def test_the_culprit_is_set_aside_and_the_others_are_answered(spark, files, tmp_path, kind, nodes):
    engine = engine_on(files, tmp_path / "home", nodes=nodes)
    engine.query("broken", BROKEN[kind])
    engine.query("other", f"SELECT COUNT(*) AS n FROM events {WINDOW} WHERE k > 1")
    reports = []
    engine.on_epoch = reports.append
    with pytest.raises(
        windrow.QueryFailed, match=f"^broken: {WHY[kind]}.*\n.*is quarantined; the others are answered"
    ):
        engine.run(seal=True)
    assert_answers(engine, same_events(0, 80))
    assert sorted(row.n for row in engine.results("other").collect()) == [60] * 8
    assert engine.progress("events").rows == 800
    assert [list(report.quarantined) for report in reports].count(["broken"]) == 1
    (status,) = [query for query in engine.status().queries if query.name == "broken"]
    assert status.condition == "quarantined"
    assert re.search(WHY[kind], status.quarantined)
    assert "query broken is quarantined: " in engine.explain()


def test_it_keeps_what_it_had_answered_and_does_not_run_again(spark, files, tmp_path, caplog):
    engine = engine_on(files, tmp_path / "home")
    engine.query("broken", BROKEN["division"])
    with pytest.raises(windrow.QueryFailed):
        engine.run(seal=False)
    before = sorted(engine.results("broken").collect())
    # Windows up to second 30 were complete before the batch with second 40 came.
    assert {row.window_end.timestamp() for row in before} == {10, 20, 30}
    files.add(80, 100)
    again = windrow.Engine(tmp_path / "home", spark=spark)
    told = r"^broken: Division by zero.*\(since epoch 2\)\nit is quarantined; the others are answered \(q\)"
    for seal in (False, True):  # as often as it is run
        with pytest.raises(windrow.QueryFailed, match=told):
            again.run(seal=seal)
    assert "query 'broken' is quarantined since epoch 2 and does not run: Division by zero" in caplog.text
    assert sorted(again.results("broken").collect()) == before
    assert_answers(again, same_events(0, 100))
    (state,) = [query for query in again.status().queries if query.name == "broken"]
    assert (state.entries, state.sealed) == (0, False)


def test_dropping_it_lets_another_begin(spark, files, tmp_path):
    engine = engine_on(files, tmp_path / "home")
    engine.query("broken", BROKEN["division"])
    with pytest.raises(windrow.QueryFailed):
        engine.run(seal=False)
    engine.drop("broken")
    engine.query("broken", f"SELECT COUNT(*) AS n FROM events {WINDOW}")
    files.add(80, 100)
    engine.run(seal=True)
    assert [row.n for row in engine.results("broken").collect()] == [100, 100]  # those that began after it


def test_a_live_engine_goes_on(spark, files, tmp_path):
    engine = engine_on(files, tmp_path / "home")
    engine.query("broken", BROKEN["cast"])
    with engine.start(trigger="50 milliseconds") as live:
        live.process_available()
        assert live.active
    assert engine.status().queries[1].condition == "quarantined"
    with pytest.raises(windrow.QueryFailed, match="broken: "):
        engine.run(seal=True)
    assert_answers(engine, same_events(0, 80))


def test_a_source_that_cannot_be_read_is_no_fault_of_a_query(spark, files, tmp_path, monkeypatch):
    monkeypatch.setattr(patience, "PAUSES", (0.0,))
    (files.path / "005.parquet").write_bytes(b"PAR1 this is not Parquet PAR1")
    engine = engine_on(files, tmp_path / "home")
    with pytest.raises(windrow.SourceError, match=r"stream 'events' cannot be read: .*005\.parquet"):
        engine.run(seal=True)
    assert engine.status().queries[0].condition == "active"
    assert engine.progress("events").rows == 800
    (files.path / "005.parquet").unlink()


FOR_A_WHILE = f"SELECT COUNT(*) AS n, SUM(1 / IF(unix_micros(ts) BETWEEN 40000000 AND 49000000, 0, 1)) AS x FROM events {WINDOW}"
COUNTED = f"SELECT COUNT(*) AS n FROM events {WINDOW}"


def ends(engine, name):
    return sorted(row.window_end.timestamp() for row in engine.results(name).collect())


def condition(engine, name):
    (found,) = [query for query in engine.status().queries if query.name == name]
    return found.condition, found.complete_after and found.complete_after.timestamp()


@pytest.fixture
def failing_once():
    """Answers of a query cannot be made, the first two times that they come from an epoch on."""
    with ExitStack() as failing:
        yield lambda name, number: failing.enter_context(answers_failing(name, number))


@pytest.mark.parametrize("by", ["the engine", "another process", "another engine"])
def test_a_query_that_is_resumed_goes_on(spark, files, tmp_path, by):
    engine = engine_on(files, tmp_path / "home")
    engine.query("broken", FOR_A_WHILE)
    with engine.start(
        trigger="50 milliseconds"
    ) as live:  # which, other than run(), does not raise at its end
        live.process_available()
    assert ends(engine, "broken") == [10, 20, 30]
    if by == "the engine":
        engine.resume("Broken")
    elif by == "another process":
        assert resume_queries(tmp_path / "home", ["broken"]) == "resumed"
    else:
        windrow.Engine(tmp_path / "home", spark=spark).resume("broken")
    assert condition(engine, "broken") == ("waiting", None)
    files.add(80, 100)
    engine.run(seal=False)
    assert condition(engine, "broken") == ("active", 79.9)
    engine.run(seal=True)
    assert ends(engine, "broken") == [
        10,
        20,
        30,
        90,
        100,
    ]  # what it had answered, and what it is complete for
    assert_answers(engine, same_events(0, 100))


def test_one_that_is_resumed_answers_what_others_hold_and_nothing_twice(spark, files, tmp_path, failing_once):
    """Its tree has the slices of the windows that it missed, and of those that it has had."""
    longer = "SELECT COUNT(*) AS most FROM events [RANGE 200 SECONDS SLIDE 10 SECONDS]"
    engine = engine_on(files, tmp_path / "home", sql=longer)
    engine.query("counted", COUNTED)
    failing_once("n", 2)
    with pytest.raises(windrow.QueryFailed, match=r"^counted: it cannot be"):
        engine.run(seal=False)
    assert ends(engine, "counted") == [10, 20, 30]
    engine.resume("counted")
    files.add(80, 100)
    engine.run(seal=True)
    assert ends(engine, "counted") == list(range(10, 101, 10))
    assert [row.n for row in engine.results("counted").collect()] == [100] * 10


def test_one_that_is_resumed_as_soon_as_it_is_quarantined_runs_again(spark, files, tmp_path):
    """Between the commit of its quarantine and the end of that epoch."""
    engine = engine_on(files, tmp_path / "home")
    engine.query("broken", FOR_A_WHILE)

    def resume(step):
        if step == "epoch committed" and condition(engine, "broken")[0] == "quarantined":
            engine.resume("broken")

    with at_steps(resume):
        engine.run(seal=False)  # and nothing is left to complain of at its end
    assert condition(engine, "broken") == ("active", 59.9)


def test_a_live_engine_resumes_a_query(spark, files, tmp_path):
    engine = engine_on(files, tmp_path / "home")
    engine.query("broken", FOR_A_WHILE)
    with engine.start(trigger="50 milliseconds") as live:
        live.process_available()
        assert condition(engine, "broken")[0] == "quarantined"
        assert resume_queries(tmp_path / "home", ["broken"]) == "resumed"
        files.add(80, 100)
        live.process_available()
        assert condition(engine, "broken") == ("active", 79.9)
    engine.run(seal=True)
    assert ends(engine, "broken") == [10, 20, 30, 90, 100]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_over_a_frame_it_begins_again(spark, tmp_path, failing_once, elsewhere):
    engine = windrow.Engine(tmp_path / "home", spark=spark)
    engine.stream("events", spark.createDataFrame(same_events(0, 40)), timestamp="ts")
    engine.query("q", SQL)
    engine.query("counted", COUNTED)
    failing_once("n", 1)
    engine.run(seal=False)  # epoch 0 answers the windows up to the watermark
    assert ends(engine, "counted") == [10, 20, 30]
    with pytest.raises(windrow.QueryFailed, match=r"^counted: it cannot be"):
        engine.run(seal=True)
    assert condition(engine, "counted")[0] == "quarantined"
    if elsewhere:
        resume_queries(tmp_path / "home", ["counted"])
    else:
        engine.resume("counted")
    engine.run(seal=True)
    assert ends(engine, "counted") == [10, 20, 30, 40]
    assert condition(engine, "counted") == ("sealed", None)
    assert_answers(engine, same_events(0, 40))


def test_what_cannot_be_resumed(spark, files, tmp_path):
    engine = engine_on(files, tmp_path / "home")
    engine.query("broken", FOR_A_WHILE)
    with pytest.raises(windrow.WindrowError, match="query 'broken' is not quarantined: it runs, or waits"):
        engine.resume("broken")
    with pytest.raises(windrow.WindrowError, match=r"there is no query 'brokem'; did you mean broken\?"):
        engine.resume("brokem")
    with pytest.raises(windrow.QueryFailed):
        engine.run(seal=True)
    with pytest.raises(
        windrow.WindrowError, match="query 'q' is not quarantined: it has been answered whole"
    ):
        engine.resume("q")
    told = "query 'broken' cannot go on: stream 'events' is sealed in this home, and no rows come any more"
    with pytest.raises(windrow.WindrowError, match=told):
        engine.resume("broken")
    assert condition(engine, "broken")[0] == "quarantined"

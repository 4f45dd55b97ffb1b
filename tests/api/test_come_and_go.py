"""Queries come and go while a stream runs: those that stay notice nothing, those that come are complete
from where they say on, and what cannot be done disturbs nobody."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from tests.examples import examples
from tests.harness.faults import ACCEPTING, ANALYSIS, at_steps, disturbed
from tests.harness.on_disk import committed_files, committed_query
from tests.harness.plans import stages_asked_for_at_once
from tests.harness.readers import readers_stay, turn_taken
from tests.oracle import assert_same_answers, recomputed, weights
from tests.streams import SECOND, SQL, Files, assert_answers, engine_on, same_events
from windrow.api.clients import add_queries, drop_queries, named_query, queries_in
from windrow.api.homes import home_status
from windrow.slicing import Window

QUERIES = {  # the second one needs a column that the others do not
    "sums": (Window(20 * SECOND, 5 * SECOND), ["k"], {"total": "SUM(v)"}),
    "texts": (Window(9 * SECOND, 3 * SECOND), [], {"most": "MAX(x)", "n": "COUNT(*)"}),
    "counts": (Window(4 * SECOND, 4 * SECOND), ["k"], {"n": "COUNT(*)", "least": "MIN(v)"}),
}


def sql_of(window, keys, aggs):
    listed = ", ".join([*keys, *(f"{sql} AS {name}" for name, sql in aggs.items())])
    seconds = f"RANGE {window.range // SECOND} SECONDS SLIDE {window.slide // SECOND} SECONDS"
    return f"SELECT {listed} FROM events [{seconds}]" + (f" GROUP BY {', '.join(keys)}" if keys else "")


@pytest.fixture
def files(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    files.add(0, 40)
    return files


def assert_complete_from_there_on(engine, name, rows):
    """The answers are DuckDB's, of the windows that begin after the rows that had come before the query."""
    window, keys, aggs = QUERIES[name]
    (known,) = [query for query in engine.status().queries if query.name == name]
    expected = recomputed(rows, window, keys, aggs | weights("v"))
    if known.complete_after is not None:
        since = known.complete_after.timestamp()
        expected = [row for row in expected if row["window_start"].timestamp() > since]
    tolerances = {"total": "_abs_v"} if "total" in aggs else {}
    return assert_same_answers(engine.results(name), expected, keys, tolerances)


@settings(settings.get_profile("spark"), max_examples=examples(2))
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["rows", *QUERIES]), st.booleans()), min_size=4, max_size=6
    ).filter(lambda steps: len({what for what, _ in steps} - {"rows"}) > 1)
)
def test_queries_come_and_go_at_any_moment(spark, tmp_path_factory, steps):
    """A step brings rows, or a query that is not there and drops one that is; it waits for them or not."""
    place = tmp_path_factory.mktemp("come-and-go")
    files = Files(spark, place / "in")
    files.add(0, 15)
    engine, last = engine_on(files, place / "home"), 15
    with engine.start(trigger="50 milliseconds") as live:
        for what, waits in steps:
            if what == "rows":
                files.add(last, last := last + 12)
            elif what in engine.queries:
                engine.drop(what)
            else:
                engine.query(what, sql_of(*QUERIES[what]))
            if waits:
                live.process_available()
                (known,) = [q for q in engine.status().queries if q.name == what] or [None]
                if known is not None and known.started and known.complete_after is not None:
                    assert known.complete_after.timestamp() * 1e6 <= engine.progress("events").latest
        assert live.active
    files.add(last, last := last + 15)
    engine.run(seal=True)
    assert_answers(engine, same_events(0, last))
    for name in engine.queries:
        if name != "q":
            assert_complete_from_there_on(engine, name, same_events(0, last))


def test_a_query_that_needs_another_column_has_the_reader_read_it(spark, files, tmp_path):
    """From its checkpoint, between two batches: nothing is lost, nothing comes twice."""
    engine = engine_on(files, tmp_path / "home")
    with engine.start(trigger="50 milliseconds") as live:
        live.process_available()
        latest = engine.progress("events").latest
        engine.query("texts", sql_of(*QUERIES["texts"]))
        live.process_available()
        files.add(40, 70)
        live.process_available()
        assert live.active
    engine.run(seal=True)
    (texts,) = [query for query in engine.status().queries if query.name == "texts"]
    assert texts.complete_after.timestamp() * 1e6 == latest
    assert assert_complete_from_there_on(engine, "texts", same_events(0, 70)) > 5
    assert_answers(engine, same_events(0, 70))
    assert engine.progress("events").rows == 700


def test_a_query_on_a_stream_that_is_not_read_has_it_read(spark, files, tmp_path):
    other = Files(spark, tmp_path / "other")
    other.add(0, 20)
    engine = engine_on(files, tmp_path / "home")
    with engine.start(trigger="50 milliseconds") as live:
        live.process_available()
        engine.stream("others", other.path, timestamp="ts")
        engine.query("more", "SELECT COUNT(*) AS n FROM others [RANGE 5 SECONDS SLIDE 5 SECONDS]")
        live.process_available()
        assert engine.results("more").count() == 3
    engine.run(seal=True)
    assert engine.results("more").count() == 4
    assert_answers(engine, same_events(0, 40))


@pytest.mark.parametrize(("name", "since"), [("counts", 39.9), ("texts", 59.9)])
def test_a_query_begins_between_two_batches_that_have_what_it_needs(spark, files, tmp_path, name, since):
    """A batch waits for its turn when a query comes, and a heartbeat gets in first. Either may begin with
    the query, but then the other must have it too; and this batch was read without the column `x`."""
    engine = engine_on(files, tmp_path / "home")
    with engine.start(trigger="50 milliseconds") as live:
        live.process_available()
        with readers_stay(engine):
            with turn_taken(engine, "events") as turn:
                files.add(40, 60)
                turn.wait_for_batch()
                engine.query(name, sql_of(*QUERIES[name]))
                turn.beat()
            live.process_available()
        live.process_available()
        files.add(60, 80)
        live.process_available()
    engine.run(seal=True)
    (known,) = [query for query in engine.status().queries if query.name == name]
    assert known.complete_after.timestamp() == since
    assert assert_complete_from_there_on(engine, name, same_events(0, 80)) > 5


def test_a_drop_in_the_middle_of_an_epoch_leaves_nothing_behind(spark, files, tmp_path):
    engine = engine_on(files, tmp_path / "home")
    engine.query("sums", sql_of(*QUERIES["sums"]))
    schema = committed_query(tmp_path / "home", "sums").schema_id

    def drop(step):
        if step == "files written" and "sums" in engine.queries:
            engine.drop("sums")

    with at_steps(drop):
        engine.run(seal=True)
    assert engine.queries == ["q"]
    assert committed_files(tmp_path / "home", "results", owner=schema) == []
    assert_answers(engine, same_events(0, 40))

    # the last one of its stream: its slices go with it
    files = Files(spark, tmp_path / "more")
    files.add(0, 40)
    engine = engine_on(files, tmp_path / "home2")

    def drop_q(step):
        if step == "files written" and engine.queries:
            engine.drop("q")

    with at_steps(drop_q):
        engine.run(seal=False)
    assert home_status(tmp_path / "home2").bytes == {}


def test_nothing_that_is_thrown_at_a_running_engine_disturbs_it(spark, files, tmp_path):
    """From several threads of its process, and as other processes do, while rows come."""
    home = tmp_path / "home"
    engine = engine_on(files, home)
    ok = sql_of(*QUERIES["counts"])

    def refused(ask):
        with pytest.raises(windrow.WindrowError) as raised:
            ask()
        return str(raised.value)

    with engine.start(trigger="50 milliseconds") as live, ThreadPoolExecutor(6) as clients:
        told = [
            clients.submit(refused, ask)
            for ask in (
                lambda: engine.drop("nobody"),
                lambda: engine.query("Q", ok),
                lambda: engine.query("bad", ok.replace("MIN(v)", "MIN(w)")),
                lambda: drop_queries(home, ["qq"]),
                lambda: add_queries(home, [named_query("q", ok)]),
                lambda: add_queries(home, [named_query("bad", ok.replace("MIN(v)", "MIN(w)"))]),
                lambda: add_queries(home, [named_query("worse", ok.replace("MIN(v)", "MIN(v + ARRAY(1))"))]),
                lambda: add_queries(home, [named_query("astray", ok.replace("events", "event"))]),
                lambda: add_queries(
                    home,
                    queries_in(
                        f"CREATE QUERY good AS {ok};\nCREATE QUERY half AS\n  {ok.replace('MIN(v)', 'MIN(w)')};"
                    ),
                ),
            )
        ]
        racing = [
            clients.submit(add_queries, home, [named_query(name, ok)]) for name in ("counts", "counts", "two")
        ]
        files.add(40, 60)
        errors = [racer.exception() for racer in racing]
        assert [error is None for error in errors].count(False) == 1
        assert "'counts' already" in str(next(error for error in errors if error is not None))
        files.add(60, 75)
        live.process_available()
        assert live.active
        assert drop_queries(home, ["TWO"]) == "dropped"
        assert "two" not in engine.queries
    drop, taken, unknown, close, again, column, types, stream, together = [future.result() for future in told]
    assert "there is no query 'nobody'" in drop
    assert "there is a query called 'q' already" in taken
    assert "unknown column 'w' (line 1, column" in unknown
    assert "there is no query 'qq'; did you mean q?" in close
    assert "there is a query 'q' already" in again
    assert unknown == column
    assert "(line 1, column" in types
    assert "^^^" in types
    assert "unknown stream or table 'event'" in stream
    assert "did you mean events?" in stream
    assert "unknown column 'w' (line 3, column" in together
    engine.run(seal=True)
    assert engine.queries == ["q", "counts"]
    assert home_status(home).requests == ()
    assert_answers(engine, same_events(0, 75))
    assert_complete_from_there_on(engine, "counts", same_events(0, 75))


def test_what_was_asked_for_while_no_engine_ran_is_done_by_the_next(spark, files, tmp_path, caplog):
    """What Spark then refuses is kept, with the reason, and the others run."""
    home = tmp_path / "home"
    engine_on(files, home).run(seal=False)
    assert add_queries(home, [named_query("counts", sql_of(*QUERIES["counts"]), "1 hour")]) == "kept"
    assert (
        add_queries(home, [named_query("sums", sql_of(*QUERIES["sums"]).replace("SUM(v)", "SUM(ARRAY(v))"))])
        == "kept"
    )
    assert [(r.name, r.condition) for r in home_status(home).requests] == [
        ("counts", "waiting"),
        ("sums", "waiting"),
    ]
    files.add(40, 60)
    engine = windrow.Engine(home, spark=spark)
    engine.run(seal=True)
    assert engine.queries == ["q", "counts"]
    (sums,) = engine.status().requests
    assert (sums.name, sums.condition) == ("sums", "refused")
    assert "it was asked to add query 'sums', and that is refused: " in caplog.text
    assert "^" in sums.refused
    assert_answers(engine, same_events(0, 60))
    assert assert_complete_from_there_on(engine, "counts", same_events(0, 60)) == 25


def test_a_crash_before_the_answer_is_a_crash_before_the_change(spark, files, tmp_path):
    home = tmp_path / "home"
    engine_on(files, home).run(seal=False)
    add_queries(home, [named_query("counts", sql_of(*QUERIES["counts"]))])

    def die(*_):
        raise KeyboardInterrupt

    with disturbed(ACCEPTING, die), pytest.raises(KeyboardInterrupt):
        windrow.Engine(home, spark=spark).run(seal=True)
    assert [query.name for query in home_status(home).queries] == ["q"]
    assert [request.condition for request in home_status(home).requests] == ["waiting"]
    engine = windrow.Engine(home, spark=spark)
    engine.run(seal=True)
    assert engine.queries == ["q", "counts"]
    assert engine.status().requests == ()


def test_many_queries_are_registered_by_one_question_to_spark(spark, files, tmp_path):
    """They differ in RANGE and SLIDE only, which are no business of Spark's."""
    engine = engine_on(files, tmp_path / "home")
    engine.query("counts", sql_of(*QUERIES["counts"]))
    many = [
        f"CREATE QUERY counts_{r}_{s} AS {sql_of(Window(r * SECOND, s * SECOND), *QUERIES['counts'][1:])}"
        for r in range(1, 8)
        for s in range(1, 8)
    ]
    with disturbed(ANALYSIS, lambda *_: pytest.fail("asked again")):
        assert len(engine.execute(";\n".join(many))) == 49
        assert len(engine.queries) == 51
        later = windrow.Engine(tmp_path / "home", spark=spark)
        assert later.explain() == engine.explain()


def test_threads_that_ask_at_once_have_one_stage_of_a_stream(files, tmp_path):
    """A plan may be shown while a thread begins to read: each would have its own idea of how far the stream is."""
    first, second = stages_asked_for_at_once(engine_on(files, tmp_path / "home"), "events")
    assert first is second


def test_dropping_and_adding_under_the_same_name_is_another_query(spark, files, tmp_path):
    engine = engine_on(files, tmp_path / "home")
    with engine.start(trigger="50 milliseconds") as live:
        live.process_available()
        engine.drop("q")
        engine.query("q", SQL.replace("SUM(v)", "SUM(v) + 1"))
        files.add(40, 41)
        live.process_available()
    engine.run(seal=True)
    answers = engine.results("q").collect()
    assert len(answers) == 5
    assert {row.window_start.second for row in answers} == {40}  # none of the first one's

"""Requests: waiting or answered, never both and never neither; one of two who want a name gets it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pyarrow as pa
import pytest

from tests.harness.on_disk import add_query
from windrow import StatementError, WindrowError
from windrow.api.clients import add_queries, drop_queries, named_query, queries_in, resume_queries
from windrow.api.homes import home_status
from windrow.runtime.home.home import Home
from windrow.runtime.home.records import NewQuery, Refusal
from windrow.runtime.home.requests import Requests, Withdrawn

SQL = "SELECT COUNT(*) AS n FROM readings [RANGE 1 HOUR SLIDE 1 MINUTE]"
SCHEMA = pa.schema([("window_end", pa.timestamp("us")), ("n", pa.int64())])


@pytest.fixture
def home(tmp_path):
    """A home with the stream `readings` (ts, sensor, value) and the query `hourly` on it."""
    with closing(Home(tmp_path / "home")) as home:
        types = {"ts": "timestamp[us, tz=UTC]", "sensor": "string", "value": "double"}
        home.define("readings", "stream", {"types": types, "timestamp": "ts"})
        add_query(home.catalog, "hourly", SQL, "readings", SCHEMA)
        yield home


def names(home):
    return [query.name for query in home.catalog.queries()]


def asked(home):
    return [(request.name, request.condition) for request in home_status(home.path).requests]


def add(home, group, then=lambda: None):
    """What an engine does with a request."""
    with home.catalog.transaction() as database:
        new = [NewQuery(request.name, request.sql, ("readings",), SCHEMA) for request in group]
        home.catalog.insert_queries(database, new)
        Requests.accept(database, group)
        then()


def die():
    raise KeyboardInterrupt


def test_one_of_many_who_want_a_name_gets_it(home):
    def ask(number):
        try:
            return add_queries(home.path, [named_query("daily", SQL), named_query(f"own_{number}", SQL)])
        except WindrowError as error:
            return str(error)

    with ThreadPoolExecutor(8) as clients:
        told = list(clients.map(ask, range(8)))
    assert told.count("kept") == 1
    assert {text for text in told if text != "kept"} == {
        "somebody has asked for a query 'daily' already; use another name"
    }
    winner = told.index("kept")
    assert asked(home) == [("daily", "waiting"), (f"own_{winner}", "waiting")]  # and no half of the others


def test_the_change_and_the_answer_are_one(home):
    requests = Requests(home.catalog)
    numbers = requests.ask_to_add([("daily", SQL, None)], 0)
    (group,) = requests.waiting()
    with pytest.raises(KeyboardInterrupt):
        add(home, group, die)
    assert names(home) == ["hourly"]
    assert requests.waiting() == [group]
    assert requests.take_answers(numbers) is None
    add(home, group)
    assert names(home) == ["hourly", "daily"]
    assert requests.waiting() == []
    assert requests.take_answers(numbers) == {"daily": None}


def test_what_was_withdrawn_while_it_was_being_done_is_not_done(home):
    requests = Requests(home.catalog)
    requests.ask_to_add([("daily", SQL, None)], 0)
    (group,) = requests.waiting()
    assert requests.ask_to_drop(["DAILY"], 0) == []  # nothing left to ask
    with pytest.raises(Withdrawn):
        add(home, group)
    assert names(home) == ["hourly"]


def test_together_means_all_or_none(home):
    requests = Requests(home.catalog)
    first = requests.ask_to_add([("a", SQL, None), ("b", SQL, 5), ("c", SQL, None)], 0)
    requests.ask_to_add([("d", SQL, None)], 0)
    group, (alone,) = requests.waiting()
    assert [(request.name, request.retain) for request in group] == [("a", None), ("b", 5), ("c", None)]
    assert alone.name == "d"
    with home.catalog.transaction() as database:
        Requests.refuse(database, group, group[1], StatementError("unknown column 'n'", SQL, 7, 8, "sorry"))
    answers = requests.take_answers(first)
    assert answers["b"] == Refusal("unknown column 'n'", 7, 8, "sorry")
    assert answers["a"] == answers["c"]
    assert answers["a"].companion
    assert "because 'b' was refused" in answers["a"].problem


def test_a_refusal_that_nobody_waited_for_is_shown_until_its_name_is_used(home):
    requests = Requests(home.catalog)
    for forget in (
        lambda: drop_queries(home.path, ["Odd"]),
        lambda: requests.ask_to_add([("odd", SQL, None)], 0),
    ):
        requests.ask_to_add([("odd", "SELECT n", None)], 0)
        (group,) = requests.waiting()
        with home.catalog.transaction() as database:
            Requests.refuse(database, group, group[0], StatementError("unknown column 'n'", "SELECT n", 7, 8))
        (shown,) = home_status(home.path).requests
        assert shown.condition == "refused"
        assert shown.refused == "unknown column 'n' (line 1, column 8)\n\n    SELECT n\n           ^"
        forget()
    assert asked(home) == [("odd", "waiting")]


def test_answers_that_nobody_comes_for_go(home):
    requests = Requests(home.catalog)
    requests.ask_to_drop(["hourly"], 0)
    (group,) = requests.waiting()
    with home.catalog.transaction() as database:
        home.forget_queries(database, home.catalog.queries(), 0)
        Requests.accept(database, group)
    assert home.catalog.rows("SELECT count(*) FROM requests") == [(1,)]
    requests.ask_to_add([("daily", SQL, None)], 1_000)
    assert home.catalog.rows("SELECT name FROM requests") == [("daily",)]


def test_a_name_is_free_as_soon_as_its_drop_is_asked_for(home):
    with home.running():
        assert drop_queries(home.path, ["hourly"], wait=False) == "asked"
        assert add_queries(home.path, [named_query("hourly", SQL)], wait=False) == "asked"
    assert [(r.kind, r.name) for (r,) in Requests(home.catalog).waiting()] == [
        ("drop", "hourly"),
        ("add", "hourly"),
    ]


def test_a_drop_is_done_at_once_where_no_engine_runs(home):
    add_queries(home.path, [named_query("daily", SQL)])
    with pytest.raises(WindrowError, match=r"no query 'dayly'; did you mean daily\?"):
        drop_queries(home.path, ["hourly", "dayly"])
    assert names(home) == ["hourly"]
    assert drop_queries(home.path, ["hourly", "Daily"]) == "dropped"
    assert names(home) == []
    assert asked(home) == []


def test_a_drop_that_an_engine_did_not_come_to_is_done_when_it_has_stopped(home):
    with ThreadPoolExecutor(1) as client:
        with home.running():
            done = client.submit(drop_queries, home.path, ["hourly"])
            while not Requests(home.catalog).waiting():
                assert not done.done()
        assert done.result() == "dropped"
    assert names(home) == []
    assert Requests(home.catalog).waiting() == []


def quarantine(home, *queries):
    """Let queries have failed, in epoch 7."""
    for name in queries:
        if name not in names(home):
            add_query(home.catalog, name, SQL, "readings", SCHEMA)
        home.catalog.rows(
            "UPDATE queries SET started = 1, quarantined = 'it fails', quarantined_epoch = 7, answers = 5, "
            "latest_end = 9, complete_after = 3 WHERE name = ?",
            name,
        )


def conditions(home):
    return {query.name: query.condition for query in home_status(home.path).queries}


def test_a_query_is_resumed_at_once_where_no_engine_runs(home):
    quarantine(home, "daily", "weekly")
    with pytest.raises(WindrowError, match="query 'hourly' is not quarantined"):
        resume_queries(home.path, ["daily", "hourly"])
    with pytest.raises(WindrowError, match=r"no query 'weakly'; did you mean weekly\?"):
        resume_queries(home.path, ["daily", "weakly"])
    assert conditions(home) == {"hourly": "waiting", "daily": "quarantined", "weekly": "quarantined"}
    assert resume_queries(home.path, ["daily", "Weekly", "daily"]) == "resumed"
    assert conditions(home) == {"hourly": "waiting", "daily": "waiting", "weekly": "waiting"}
    daily = home.catalog.query("daily")
    assert (daily.answers, daily.latest_end, daily.complete_after) == (5, 9, None)  # what it answered stays


def test_an_engine_that_runs_is_asked_to_resume(home):
    quarantine(home, "daily")
    with ThreadPoolExecutor(1) as client, home.running():
        assert resume_queries(home.path, ["daily"], wait=False) == "asked"
        with pytest.raises(WindrowError, match="there is a query 'daily' already"):  # a resume frees no name
            add_queries(home.path, [named_query("daily", SQL)], wait=False)
        (group,) = Requests(home.catalog).waiting()
        assert [(request.kind, request.name) for request in group] == [("resume", "daily")]
        with home.transaction() as database:
            Requests.refuse(database, group, group[0], WindrowError("its stream is sealed"))
        done = client.submit(resume_queries, home.path, ["daily"])
        while not (waiting := Requests(home.catalog).waiting()):
            assert not done.done()
        with home.transaction() as database:
            Requests.refuse(database, waiting[0], waiting[0][0], WindrowError("its stream is sealed"))
        with pytest.raises(WindrowError, match="its stream is sealed"):
            done.result()
    assert conditions(home)["daily"] == "quarantined"


def test_a_resume_that_an_engine_did_not_come_to_is_done_when_it_has_stopped(home):
    quarantine(home, "daily")
    with ThreadPoolExecutor(1) as client:
        with home.running():
            done = client.submit(resume_queries, home.path, ["daily"])
            while not Requests(home.catalog).waiting():
                assert not done.done()
        assert done.result() == "resumed"
    assert conditions(home)["daily"] == "waiting"
    assert Requests(home.catalog).waiting() == []


@pytest.mark.parametrize(
    ("name", "sql", "message"),
    [
        ("HOURLY", SQL, r"there is a query 'hourly' already:\n  SELECT COUNT.*\n.*windrow query drop"),
        (" ", SQL, "a query needs a name"),
        ("q", f"CREATE QUERY q AS {SQL}", r"a query is one SELECT \(line 1, column 1\)"),
        ("q", "DROP hourly", "DROP is not a statement"),
        ("q", SQL.replace("readings", "reading"), r"unknown stream or table 'reading' .*\n.*\n.*\n.*\^+\n.*did you mean readings"),
        ("q", SQL.replace("*", "valu"), r"unknown column 'valu' .*\n.*\n.*\n.*\^{4}\ndid you mean value"),
        ("q", SQL.replace(" [RANGE 1 HOUR SLIDE 1 MINUTE]", ""), "stream 'readings' needs a window"),
    ],
)  # fmt: skip
def test_what_a_home_alone_can_tell_is_told_at_once(home, name, sql, message):
    with pytest.raises(WindrowError, match=message):
        add_queries(home.path, [named_query(name, sql)])
    assert asked(home) == []


def test_what_only_spark_can_tell_waits_for_it(home):
    for number, sql in enumerate((
        "SELECT my_mean(value) AS m FROM readings [RANGE 1 HOUR SLIDE 1 MINUTE]",
        "SELECT SUM(sensor) AS m FROM readings [RANGE 1 HOUR SLIDE 1 MINUTE]",
        "SELECT COUNT(t.x) AS m FROM readings [RANGE 1 HOUR SLIDE 1 MINUTE] JOIN t ON t.x = value",
    )):  # fmt: skip
        assert add_queries(home.path, [named_query(f"q{number}", sql)]) == "kept"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"CREATE QUERY a AS {SQL};\n{SQL}", r"a query needs a name \(line 2"),
        (f"CREATE QUERY a AS {SQL};\nCREATE QUERY A AS {SQL}", r"query called 'A' already \(line 2, column 14\)"),
        ("CREATE STREAM s FROM PARQUET 'x' TIMESTAMP ts", "only queries can be added to a home"),
        ("-- nothing", "there are no queries"),
    ],
)  # fmt: skip
def test_a_file_has_named_queries_and_nothing_else(text, message):
    with pytest.raises(WindrowError, match=message):
        queries_in(text)

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.request import urlopen
from xml.etree import ElementTree

import pytest

from tests.homes import CLOCK, DELAYS, REASON, make_home
from windrow.api.clients import drop_queries
from windrow.api.engine import Engine
from windrow.api.homes import as_json, check_that_none_runs, home_status
from windrow.errors import HomeError, QueryFailed, WindrowError
from windrow.runtime.home.catalog import Catalog
from windrow.runtime.home.home import Home

STATEMENTS = """
    CREATE STREAM readings (ts TIMESTAMP, sensor STRING, value INT)
      FROM CSV '{folder}' OPTIONS (header 'true') TIMESTAMP ts;
    CREATE QUERY top AS SELECT sensor, MAX(value) AS top FROM readings [RANGE 2 MINUTES SLIDE 1 MINUTE] GROUP BY sensor;
    CREATE QUERY ratio AS SELECT SUM(value / (value - 5)) AS ratio FROM readings [RANGE 2 MINUTES SLIDE 1 MINUTE];
"""
FIRST = "ts,sensor,value\n2024-01-01T00:00:10Z,a,1\n2024-01-01T00:01:10Z,a,5\nsome day,a,5\n"
SECOND = "ts,sensor,value\n2024-01-01T00:00:20Z,a,9\n2024-01-01T00:01:20Z,b,7\n"
NOW = datetime(2024, 1, 1, 0, 3, 20, tzinfo=UTC)


@pytest.fixture
def place(tmp_path):
    make_home(tmp_path / "home")
    return tmp_path / "home"


def test_an_engine_says_how_it_is_doing_and_so_does_its_home(spark, tmp_path):
    folder = tmp_path / "readings"
    folder.mkdir()
    with Engine(tmp_path / "home", clock=NOW.timestamp) as eng:
        eng.execute(STATEMENTS.format(folder=folder))
        assert (eng.status().epoch, eng.status().watermark, eng.status().streams[0].rows) == (-1, None, 0)
        for name, text in (("1.csv", FIRST), ("2.csv", SECOND)):
            (folder / name).write_text(text)
            with pytest.raises(QueryFailed, match="ratio"):
                eng.run(seal=False)
        status = eng.status()
        with eng.serve_metrics(0) as server, urlopen(server.url) as answer:
            metrics = answer.read().decode()
    (stream,) = status.streams
    assert (stream.name, stream.rows, stream.late, stream.dead) == ("readings", 5, 1, 1)
    assert stream.watermark == status.watermark == datetime(2024, 1, 1, 0, 1, 20, tzinfo=UTC)
    assert stream.lag == timedelta(minutes=2)
    assert stream.rate == 5 / 60
    top, ratio = status.queries
    assert (top.condition, top.answers, ratio.condition) == ("active", 1, "quarantined")
    assert top.latest_end == datetime(2024, 1, 1, 0, 1, tzinfo=UTC)
    assert top.entries > 0
    assert top.state_bytes > 0
    assert "Division by zero" in ratio.quarantined
    assert ratio.quarantined_epoch == 0
    assert status.bytes["results"] > 0
    assert {"results", "slices", "late", "dead"} <= status.files.keys()
    assert home_status(tmp_path / "home", NOW.timestamp) == status
    assert 'windrow_stream_rows_total{stream="readings"} 5.0' in metrics
    assert 'windrow_query_quarantined{query="ratio",stream="readings"} 1.0' in metrics


def test_a_home_can_be_asked_while_an_engine_runs_on_it(place):
    idle = home_status(place, lambda: CLOCK)
    assert not idle.running
    check_that_none_runs(place)
    home = Home(place)
    with home.running():
        before = home_status(place, lambda: CLOCK)
        assert before == replace(idle, running=True)
        with pytest.raises(HomeError, match="another engine is running on"):
            check_that_none_runs(place)
        with home.catalog.transaction() as database:
            database.execute("UPDATE progress SET rows = 0")
            assert home_status(place, lambda: CLOCK) == before  # not yet committed
    home.close()


def test_a_status_as_json(place):
    found = json.loads(json.dumps(as_json(home_status(place, lambda: CLOCK)), allow_nan=False))
    assert found["clock"] == "2023-11-14T22:13:20.000000Z"
    assert found["streams"][0]["lag"] == 120
    assert found["bytes"] == {"results": 1_000}
    assert [(q["name"], q["condition"], q["quarantined"]) for q in found["queries"]] == [
        ("delays", "active", None),
        ("broken", "quarantined", REASON),
    ]
    assert found["queries"][0]["sql"] == DELAYS
    assert found["queries"][0]["retain"] == 30 * 86_400


def test_a_status_in_a_notebook(place):
    status = home_status(place, clock=lambda: CLOCK)
    status = replace(status, streams=(replace(status.streams[0], name="<flights>"), *status.streams[1:]))
    page = ElementTree.fromstring(status._repr_html_())
    streams, queries = page.iter("table")
    assert ["".join(row.itertext()) for row in streams.iter("tr")][1].startswith("<flights>1,200")
    cells = [[cell.text for cell in row] for row in queries.iter("tr")]
    assert cells[1][:4] == ["delays", "flights", "active", "42"]
    assert cells[2][:3] == ["broken", "flights", "quarantined"]
    told = [line.text for line in page.iter("p")]
    assert told[0] == "no engine is running, epoch 0"
    assert told[1] == f"broken failed in epoch 0: {REASON}"


def test_a_dropped_query_is_gone_and_the_others_stay(place):
    delays, _ = home_status(place, lambda: CLOCK).queries
    drop_queries(place, ["BROKEN"])
    after = home_status(place, lambda: CLOCK)
    assert after.queries == (delays,)
    assert after.bytes == {"results": 1_000}  # the results of the other one lie there too
    drop_queries(place, ["delays"])
    assert home_status(place, lambda: CLOCK).bytes == {}
    with pytest.raises(WindrowError, match="this home has none"):
        drop_queries(place, ["delays"])


@pytest.mark.parametrize(
    ("wrong", "hint"), [("delay", "did you mean delays?"), ("xyz", "this home has: delays, broken")]
)
def test_a_query_that_is_not_there(place, wrong, hint):
    with pytest.raises(WindrowError) as raised:
        drop_queries(place, [wrong])
    assert str(raised.value) == f"there is no query '{wrong}'; {hint}"


@pytest.mark.parametrize(
    "ask", [home_status, lambda home: drop_queries(home, ["delays"])], ids=["status", "drop"]
)
def test_nothing_is_made_where_there_is_no_home(tmp_path, ask):
    with pytest.raises(HomeError, match="there is no home at"):
        ask(tmp_path / "nowhere")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(HomeError, match=r"is not a home: it has no catalog\.db"):
        ask(tmp_path)
    with pytest.raises(HomeError, match="is not a home"):
        ask(tmp_path / "notes.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(("format", "message"), [(4, "of an earlier Windrow"), (99, "use a newer Windrow")])
def test_a_home_of_another_format_is_left_alone(place, format, message):
    catalog = Catalog(place / "catalog.db")
    with catalog.transaction() as database:
        database.execute("UPDATE about SET format = ?", (format,))
    catalog.close()
    with pytest.raises(HomeError, match=message):
        home_status(place)
    catalog = Catalog(place / "catalog.db")
    assert catalog.format() == format
    catalog.close()


@pytest.mark.parametrize(
    ("content", "message"), [(b"", "is empty"), (b"not a database, " * 99, "is damaged")]
)
def test_a_catalog_that_is_none(tmp_path, content, message):
    (tmp_path / "catalog.db").write_bytes(content)
    with pytest.raises(HomeError, match=message):
        home_status(tmp_path)
    assert (tmp_path / "catalog.db").read_bytes() == content


def test_a_home_can_be_asked_without_spark(place):
    program = (
        "import sys; from windrow.api.homes import home_status; home_status(sys.argv[1]); "
        "sys.exit(bool({'pyspark', 'pandas', 'matplotlib', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(place)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr

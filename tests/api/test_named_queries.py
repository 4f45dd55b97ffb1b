"""Queries FROM the results of queries: as if these were a stream, whose rows come when results do; whatever becomes
of the query that is named."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

import windrow
from tests.api.many_statements import answered, assert_right, assert_same_results
from tests.api.random_queries import random_cuts, random_streams
from tests.harness.plans import plans_of
from tests.streams import Files, engine_on, same_events
from tests.window_contents import Asked, WindowContents
from windrow.api.clients import add_queries, queries_in

NAMED = {
    "filtered": "SELECT k, n * 2 AS n, i FROM a WHERE n > 0",
    "counted": "SELECT k, COUNT(*) AS n, window_start AS since, window_end AS until FROM a [RANGE 3 SECONDS SLIDE 2 SECONDS] GROUP BY k",
    "joined": "SELECT l.k, r.n FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS] l JOIN b [RANGE 4 SECONDS SLIDE 2 SECONDS] r USING (k)",
    "paired": "SELECT l.k, r.n FROM a [RANGE 4 SECONDS INTERNAL] l JOIN b [RANGE 4 SECONDS INTERNAL] r USING (k)",
    "different": "SELECT DISTINCT k FROM a [UNBOUNDED]",
    "told": "SELECT k, SUM(n) AS n FROM a [RANGE 5 SECONDS INTERNAL] GROUP BY k",
    "nested": "SELECT k, MAX(n) AS n FROM counted [RANGE 6 SECONDS SLIDE 2 SECONDS] GROUP BY k",
}  # fmt: skip
ASKED = {
    "filtered": [
        "SELECT k, SUM(n) AS total FROM filtered [RANGE 10 SECONDS SLIDE 4 SECONDS] GROUP BY k",
        "SELECT f.k, b.n FROM filtered [RANGE 6 SECONDS] f JOIN b [RANGE 3 SECONDS] ON f.i = b.i",
        "SELECT l.n, r.n AS m FROM filtered [RANGE 4 SECONDS] l JOIN filtered [RANGE 2 SECONDS] r ON l.k = r.k",
    ],
    "counted": [
        "SELECT k, MAX(n) AS most, MAX(until) AS last, MIN(since) AS first FROM counted [RANGE 5 SECONDS SLIDE 4 SECONDS] GROUP BY k",
        "SELECT k, n FROM counted [RANGE 5 SECONDS SLIDE 1 SECOND]",
        "SELECT c.n, b.n AS m FROM counted [RANGE 3 SECONDS] c JOIN b [RANGE 2 SECONDS] ON c.k = b.k",
        "SELECT DISTINCT n FROM counted [RANGE 4 SECONDS]",
        "SELECT SUM(n) AS total FROM counted [RANGE 4 SECONDS] {if any}",
        "SELECT ISTREAM k, n FROM counted [RANGE 2 SECONDS]",
    ],
    "joined": ["SELECT COUNT(*) AS n FROM joined [RANGE 7 SECONDS SLIDE 3 SECONDS] {if any}"],
    "paired": [
        "SELECT k, COUNT(*) AS pairs FROM paired [RANGE 8 SECONDS SLIDE 3 SECONDS] GROUP BY k",
        "SELECT n FROM paired [RANGE 3 SECONDS] UNION ALL SELECT n FROM b [RANGE 3 SECONDS]",
    ],
    "different": ["SELECT d.k, b.n FROM different [RANGE 6 SECONDS] d JOIN b [RANGE 6 SECONDS] ON d.k = b.k"],
    "told": ["SELECT k, MAX(n) AS most FROM told [RANGE 5 SECONDS] GROUP BY k"],
    "nested": ["SELECT k, n FROM nested [RANGE 4 SECONDS] WHERE n > 1"],
}  # fmt: skip
STATEMENTS = [(name, Asked(text)) for name, texts in ASKED.items() for text in texts]


def as_stream(results: pa.Table) -> pa.Table:
    """Results as the rows of a stream, of the time at which they come."""
    if "window_end" in results.column_names:
        whole = results["window_end"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        times = pa.array([end - 1 for end in whole.to_pylist()]).cast(pa.timestamp("us", "UTC"))
    else:
        times = results["_ts"]
    kept = results.drop_columns([c for c in results.column_names if c.startswith(("_", "window_"))])
    return kept.append_column("ts", times)


@pytest.fixture(scope="module")
def cut():
    """Two streams, in a few epochs."""
    random = Random(4)
    streams = random_streams(random)
    return streams, random_cuts(random, streams, 6)


def numbered(text: str) -> str:
    """A text with the names that `engine_for` gives to queries."""
    for number, name in enumerate(NAMED):
        text = text.replace(name, f"q{number}")
    return text


@pytest.fixture(scope="module")
def results(spark, cut, tmp_path_factory):
    """The results of all, over the streams in pieces and with two restarts, and over the streams in one piece."""
    from tests.oracle import interpreting

    streams, epochs = cut
    texts = [*NAMED.values(), *(asked.text for _, asked in STATEMENTS)]
    every = [Asked(numbered(text)) for text in texts]
    with interpreting(spark):
        home = tmp_path_factory.mktemp("homes")
        pieces = answered(spark, home / "pieces", every, epochs, restarts={1, 3})
        return pieces, answered(spark, home / "whole", every, [streams])


@pytest.mark.parametrize("place", range(len(STATEMENTS)), ids=[str(asked) for _, asked in STATEMENTS])
def test_the_results_of_a_query_are_as_those_of_a_stream(cut, results, place):
    """DuckDB has the rows that the named query has answered, each at its time, as one more stream."""
    streams, _ = cut
    name, asked = STATEMENTS[place]
    named = list(NAMED).index(name)
    contents = WindowContents(streams | {name: as_stream(results[0][named])})
    in_pieces, whole = (one[len(NAMED) + place] for one in results)
    assert len(in_pieces) > 0
    assert_right(asked, in_pieces, contents)
    assert_same_results(asked, in_pieces, whole)


def test_rows_of_rows_without_a_window(spark, cut, tmp_path):
    _, epochs = cut
    plain, nested = answered(
        spark,
        tmp_path,
        [Asked("SELECT k, n FROM a WHERE n > 0"), Asked("SELECT n FROM q0 WHERE k = 'p'")],
        epochs,
    )
    expected = [row["n"] for row in plain.to_pylist() if row["k"] == "p"]
    assert sorted(nested["n"].to_pylist()) == sorted(expected) != []


# names

POSITIVE = "SELECT k, v FROM events WHERE v > 0"
TOTAL = "SELECT k, SUM(CAST(v * 100 AS BIGINT)) AS total FROM positive [RANGE 30 SECONDS SLIDE 10 SECONDS] GROUP BY k"
ALONE = "SELECT k, SUM(CAST(v * 100 AS BIGINT)) AS total FROM events [RANGE 30 SECONDS SLIDE 10 SECONDS] WHERE v > 0 GROUP BY k"
MOST = "SELECT k, MAX(total) AS most FROM total [RANGE 1 MINUTE SLIDE 20 SECONDS] GROUP BY k"
SCRIPT = f"""
CREATE QUERY positive AS {POSITIVE};
CREATE QUERY total AS {TOTAL} -- by ten
;
CREATE QUERY most AS
  {MOST};
"""


@pytest.fixture
def files(spark, tmp_path):
    files = Files(spark, tmp_path / "in")
    files.add(0, 40)
    return files


@pytest.fixture
def home(files, tmp_path):
    """A home with the queries of the script, and one that has to have the answers of `total`."""
    engine = engine_on(files, tmp_path / "home")
    assert engine.execute(SCRIPT) == ["positive", "total", "most"]
    engine.query("alone", ALONE)
    engine.run(seal=False)
    return tmp_path / "home"


def rows_of(engine, name):
    answers = engine.results(name).toArrow()
    kept = answers.select([c for c in answers.column_names if c not in ("_query", "_epoch")])
    return sorted(map(repr, kept.to_pylist()))


def test_who_selects_from_a_query_goes_on_without_it(spark, files, home):
    """What is kept of it names the query no longer: it may be dropped, and another come under its name."""
    engine = windrow.Engine(home, spark=spark)
    engine.drop("positive")
    files.add(40, 70)
    engine.run(seal=False)
    engine.query("positive", POSITIVE.replace("v > 0", "v > 0.5"))
    assert plans_of(engine)["total"] == plans_of(engine)["alone"]  # so slices answer it
    with pytest.raises(windrow.HomeError, match="there is a query 'total' already"):
        windrow.Engine(home, spark=spark).query("total", TOTAL)  # it would mean something else now
    files.add(70, 90)
    again = windrow.Engine(home, spark=spark)
    again.run(seal=True)
    assert rows_of(again, "total") == rows_of(again, "alone") != []
    totals = as_stream(again.results("total").toArrow())
    assert_right(Asked(MOST), again.results("most").toArrow(), WindowContents({"total": totals}))


def test_a_script_that_is_run_again_finds_its_queries(spark, files, home):
    files.add(40, 70)
    engine = windrow.Engine(home, spark=spark)
    assert engine.execute(SCRIPT) == ["positive", "total", "most"]
    engine.run(seal=True)
    assert sorted(engine.queries) == ["alone", "most", "positive", "q", "total"]
    assert rows_of(engine, "total") == rows_of(engine, "alone") != []


def test_a_name_is_looked_up_in_the_home(spark, files, home):
    """Neither an engine that has not taken its queries up, nor one that another process asks, needs be told."""
    engine = windrow.Engine(home, spark=spark)
    engine.query("few", "SELECT k FROM POSITIVE WHERE v > 0.5")
    more = "CREATE QUERY more AS SELECT k, total FROM total [RANGE 20 SECONDS]"
    both = f"{more.replace('SECONDS', 'SECONDS INTERNAL')}; CREATE QUERY most_of_more AS SELECT MAX(total) AS m FROM more [NOW]"
    assert add_queries(home, queries_in(both)) == "kept"
    with pytest.raises(windrow.StatementError, match=r"unknown stream or table 'totl'"):
        add_queries(home, queries_in(more.replace("FROM total", "FROM totl")))
    files.add(40, 70)
    engine.run(seal=True)
    expected = [
        k for k, v in zip(*(same_events(40, 70)[c].to_pylist() for c in "kv"), strict=True) if v and v > 0.5
    ]
    assert sorted(engine.results("few").toArrow()["k"].to_pylist()) == sorted(expected) != []
    assert engine.status().requests == ()
    assert engine.results("more").count() > 0
    assert engine.results("most_of_more").count() > 0


def test_who_comes_late_begins_when_all_windows_are_full(spark, files, home):
    """First that of the query which is named, then the one over its results."""
    engine = windrow.Engine(home, spark=spark)
    engine.query("late", MOST)
    files.add(40, 200)
    engine.run(seal=True)
    late, most = rows_of(engine, "late"), rows_of(engine, "most")
    first = engine.results("late").toArrow()["window_end"].cast(pa.int64()).to_pylist()
    seconds = min(first) / 1_000_000
    assert 40 + 30 + 60 <= seconds <= 40 + 30 + 60 + 20
    all_from_then_on = engine.results("most").where(f"window_end >= timestamp_seconds({seconds})")
    assert late == [row for row in most if row in set(late)]
    assert len(late) == all_from_then_on.count()


def test_what_is_wrong_is_shown_in_the_statement_as_it_is_written(spark, home):
    engine = windrow.Engine(home, spark=spark)
    text = """CREATE QUERY fine AS SELECT k FROM positive;
        CREATE QUERY wrong AS
            SELECT k FROM total [RANGE 1 HOUR] WHERE sum > 1"""
    with pytest.raises(windrow.StatementError, match=r"unknown column 'sum' \(line 3, column 54\)"):
        engine.execute(text)
    engine.query(
        "pairs", "SELECT l.k FROM events [RANGE 9 SECONDS] l JOIN events [RANGE 9 SECONDS] r USING (k)"
    )
    with pytest.raises(
        windrow.StatementError, match=r"its results end at times of their own \(weak\)"
    ) as caught:
        engine.query("of_pairs", "SELECT COUNT(*) AS n FROM pairs [RANGE 1 HOUR]")
    error = caught.value
    assert error.text[error.start : error.end] == "pairs"
    with pytest.raises(windrow.StatementError, match="unknown stream or table 'itself'"):
        engine.query("itself", "SELECT k FROM itself")
    assert "fine" not in engine.queries

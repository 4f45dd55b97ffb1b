"""Queries over several windows, with SLIDE and without: their results are those that DuckDB recomputes over the
contents of the windows at every instant, and no cut of the streams into batches shows in them."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.api.many_statements import answered, assert_right, assert_same_results, engine_for, feed_one
from tests.api.random_queries import DELAY, random_cuts, random_statement, random_streams
from tests.examples import examples
from tests.harness.micro_batches import feeding
from tests.window_contents import (
    Asked,
    Change,
    WindowContents,
    check_takings_back,
    comparable,
    states,
    timed,
    with_whole_times,
    without_empty,
)

SECOND = 1_000_000
STATEMENTS = [
    Asked(text)
    for text in (
        # rows of one window
        "SELECT k, n FROM a [RANGE 10 SECONDS]",
        "SELECT * FROM a [NOW]",
        "SELECT n * 2 AS m, x FROM a [UNBOUNDED] WHERE k = 'p'",
        "SELECT k, n FROM a [RANGE 10 SECONDS SLIDE 4 SECONDS]",
        "SELECT ISTREAM k FROM a [RANGE 10 SECONDS]",
        "SELECT DSTREAM k FROM a [RANGE 10 SECONDS]",
        "SELECT RSTREAM(*) FROM a [RANGE 3 SECONDS] WHERE n > 0",
        # joins
        "SELECT a.k, b.n FROM a [RANGE 10 SECONDS], b [RANGE 10 SECONDS] WHERE a.k = b.k",
        "SELECT l.k, r.n FROM a [RANGE 10 SECONDS] l JOIN a [RANGE 5 SECONDS] r ON l.i = r.i AND l.n < r.n",
        "SELECT k, l.x, r.n FROM a [RANGE 6 SECONDS] l JOIN b [NOW] r USING (k)",
        "SELECT l.n, r.n AS m FROM a [RANGE 2 SECONDS] l, b [RANGE 2 SECONDS] r WHERE l.n < r.n",
        "SELECT l.x, r.n, s.i FROM a [RANGE 5 SECONDS] l, b [RANGE 9 SECONDS] r, b [RANGE 3 SECONDS] s WHERE l.k = r.k AND r.n = s.n",
        "SELECT l.x + r.x AS both FROM a [RANGE 5 SECONDS SLIDE 3 SECONDS] l JOIN b [RANGE 5 SECONDS SLIDE 3 SECONDS] r ON l.k = r.k",
        "SELECT ISTREAM l.k FROM a [RANGE 5 SECONDS SLIDE 3 SECONDS] l JOIN b [RANGE 8 SECONDS SLIDE 3 SECONDS] r ON l.k = r.k",
        "SELECT l.k FROM a [RANGE 8 SECONDS] l LEFT SEMI JOIN b [RANGE 5 SECONDS] r ON l.k = r.k AND l.n < r.n",
        # duplicates and sets
        "SELECT DISTINCT k FROM a [RANGE 7 SECONDS]",
        "SELECT DISTINCT x FROM b [UNBOUNDED]",
        "SELECT ISTREAM(DISTINCT k, i) FROM a [RANGE 7 SECONDS]",
        "SELECT DISTINCT l.k FROM a [RANGE 7 SECONDS] l JOIN b [RANGE 7 SECONDS] r ON l.i = r.i",
        "SELECT DISTINCT k FROM a [RANGE 7 SECONDS SLIDE 3 SECONDS OFFSET 1 SECOND]",
        "SELECT k FROM a [RANGE 7 SECONDS] UNION SELECT k FROM b [RANGE 4 SECONDS]",
        "SELECT n FROM a [RANGE 7 SECONDS] UNION ALL SELECT n FROM b [RANGE 7 SECONDS]",
        "SELECT x FROM a [RANGE 7 SECONDS] INTERSECT SELECT x FROM b [RANGE 4 SECONDS]",
        "SELECT k, i FROM a [RANGE 9 SECONDS SLIDE 4 SECONDS] INTERSECT SELECT k, i FROM b [RANGE 9 SECONDS SLIDE 4 SECONDS]",
        "SELECT k, n FROM a [RANGE 6 SECONDS] WHERE EXISTS (SELECT 1 FROM b [RANGE 6 SECONDS] WHERE b.k = a.k)",
        "SELECT k, n FROM a [RANGE 6 SECONDS] WHERE EXISTS (SELECT 1 FROM b [RANGE 6 SECONDS] WHERE b.k = a.k AND b.n > a.n)",
        "SELECT k, n FROM a [RANGE 6 SECONDS] WHERE n IN (SELECT n FROM b [RANGE 6 SECONDS])",
        # one below another
        "WITH pairs AS (SELECT l.k, r.n FROM a [RANGE 8 SECONDS] l JOIN b [RANGE 8 SECONDS] r ON l.k = r.k) SELECT DISTINCT k FROM pairs WHERE n > 0",
        "SELECT d.k, b.n FROM (SELECT DISTINCT k FROM a [RANGE 9 SECONDS]) d JOIN b [RANGE 4 SECONDS] ON d.k = b.k",
        # groups, at every change
        "SELECT COUNT(*) AS n FROM a [RANGE 5 SECONDS] {if any}",
        "SELECT MAX(x) AS most, MIN(x) AS least FROM a [RANGE 5 SECONDS] {if any}",
        "SELECT k, SUM(n) AS total, AVG(x) AS mean, COUNT(DISTINCT i) AS kinds FROM a [RANGE 10 SECONDS] GROUP BY k",
        "SELECT k, COUNT(*) AS n FROM a [UNBOUNDED] GROUP BY k",
        "SELECT l.k, COUNT(*) AS n, SUM(r.x) AS total FROM a [RANGE 8 SECONDS] l JOIN b [RANGE 8 SECONDS] r ON l.k = r.k GROUP BY l.k HAVING COUNT(*) > 1",
        "SELECT COUNT(*) AS n FROM (SELECT DISTINCT k, i FROM a [RANGE 8 SECONDS]) d {if any}",
        "SELECT k FROM a [RANGE 10 SECONDS] GROUP BY k HAVING COUNT(*) > 1",
        "SELECT COUNT(*) AS n FROM a [RANGE 5 SECONDS] GROUP BY k",
        "SELECT ISTREAM k, COUNT(*) AS n FROM a [RANGE 5 SECONDS] GROUP BY k",
        "SELECT DSTREAM k, COUNT(*) AS n FROM a [RANGE 5 SECONDS] GROUP BY k",
        # groups, at each evaluation
        "SELECT l.k, COUNT(*) AS n, MAX(r.x) AS most FROM a [RANGE 8 SECONDS SLIDE 2 SECONDS] l JOIN b [RANGE 8 SECONDS SLIDE 2 SECONDS] r ON l.k = r.k GROUP BY l.k",
        "SELECT p.k, p.n / q.n AS ratio FROM (SELECT k, COUNT(*) AS n FROM a [RANGE 9 SECONDS SLIDE 3 SECONDS] GROUP BY k) p JOIN (SELECT k, COUNT(*) AS n FROM b [RANGE 6 SECONDS SLIDE 3 SECONDS] GROUP BY k) q ON p.k = q.k",
        "SELECT MAX(n) AS most FROM (SELECT k, COUNT(*) AS n FROM a [RANGE 9 SECONDS SLIDE 3 SECONDS] GROUP BY k) p {if any}",
        "SELECT DSTREAM k, SUM(n) AS total FROM a [RANGE 9 SECONDS SLIDE 4 SECONDS] GROUP BY k",
    )
]  # fmt: skip


@pytest.fixture(scope="module")
def cut():
    """Two streams, in a few epochs."""
    random = Random(17)
    streams = random_streams(random)
    return streams, random_cuts(random, streams, 5)


@pytest.fixture(scope="module")
def results(spark, cut, tmp_path_factory):
    """The results of all statements over the cut streams, and, by the same names, over the streams in one piece."""
    from tests.oracle import interpreting

    streams, epochs = cut
    with interpreting(spark):
        home = tmp_path_factory.mktemp("homes")
        return [
            answered(spark, home / str(n), STATEMENTS, batches)
            for n, batches in enumerate((epochs, [streams]))
        ]


@pytest.mark.parametrize("number", range(len(STATEMENTS)), ids=[str(one) for one in STATEMENTS])
def test_an_answer_at_an_instant_is_that_of_duckdb_over_the_windows_then(cut, results, number):
    streams, _ = cut
    in_pieces, whole = (of[number] for of in results)
    assert_right(STATEMENTS[number], in_pieces, WindowContents(streams))
    assert_same_results(STATEMENTS[number], in_pieces, whole)


@pytest.mark.usefixtures("interpreted")
@settings(settings.get_profile("spark"), max_examples=examples(2))
@given(seed=st.integers(0, 1 << 32))
def test_random_statements_over_random_streams_in_random_pieces(spark, tmp_path_factory, seed):
    random = Random(seed)
    streams = random_streams(random)
    statements = [random_statement(random) for _ in range(20)]
    epochs = random_cuts(random, streams, 5)
    home = tmp_path_factory.mktemp("homes")
    in_pieces = answered(spark, home / "pieces", statements, epochs, restarts={random.randint(1, 4)})
    whole = answered(spark, home / "whole", statements, [streams])
    contents = WindowContents(streams)
    for asked, one, other in zip(statements, in_pieces, whole, strict=True):
        assert_right(asked, one, contents)
        assert_same_results(asked, one, other)


VIEWED = [
    Asked("SELECT a.k, b.n FROM a [RANGE 10 SECONDS], b [RANGE 6 SECONDS] WHERE a.k = b.k"),
    Asked("SELECT DISTINCT n FROM a [RANGE 10 SECONDS]"),
    Asked("SELECT k, SUM(n) AS total FROM a [RANGE 10 SECONDS] GROUP BY k"),
    Asked(
        "SELECT l.k, COUNT(*) AS n FROM a [RANGE 9 SECONDS SLIDE 4 SECONDS] l JOIN b [RANGE 9 SECONDS SLIDE 4 SECONDS] r ON l.k = r.k GROUP BY l.k"
    ),
]


@pytest.mark.usefixtures("interpreted")
def test_a_view_is_the_answer_at_an_instant(spark, cut, tmp_path):
    """While rows still come: just before the watermark, or at any instant before it; after the seal, at any."""
    streams, epochs = cut
    contents = WindowContents(streams)
    with engine_for(spark, tmp_path, {name: rows.schema for name, rows in streams.items()}, VIEWED) as engine:
        with feeding(engine, *streams) as feed:
            batches = dict.fromkeys(streams, 0)
            for epoch in epochs:
                feed_one(feed, spark, epoch, batches)
            watermark = min(latest(rows) for rows in streams.values()) - DELAY * SECOND
            for number, asked in enumerate(VIEWED):
                for at, told in ((watermark - 1, None), (watermark - 2 * SECOND, watermark - 2 * SECOND)):
                    assert viewed(engine, number, asked, told) == expected_view(contents, asked, at), (
                        asked,
                        at,
                    )
            for name in streams:
                feed.seal(name)
        end = max(map(latest, streams.values()))
        for number, asked in enumerate(VIEWED):
            for at, told in ((end, None), (end + 3 * SECOND, end + 3 * SECOND)):
                assert viewed(engine, number, asked, told) == expected_view(contents, asked, at), (asked, at)


def latest(rows):
    """The latest event time of a stream, in microseconds."""
    return max(with_whole_times(rows)["ts"].to_pylist())


def viewed(engine, number, asked, at):
    """The answer at an instant, as an engine gives it."""
    told = {} if at is None else {"at": datetime.fromtimestamp(0, UTC) + timedelta(microseconds=at)}
    rows = engine.view(f"q{number}", **told).toArrow()
    rows = rows.select([name for name in rows.column_names if not name.startswith(("_", "window_"))])
    return Counter(comparable(row.values()) for row in rows.to_pylist())


def expected_view(contents, asked, at):
    """The answer at an instant, or of the last evaluation that is not after the next one."""
    if asked.slide is None:
        return contents.at_instants(asked, [at])[at]
    answers = contents.evaluations(asked)
    return answers[max(end for end in answers if end <= at + 1)]


COMING = [
    Asked("SELECT a.k, b.n FROM a [RANGE 5 SECONDS], b [RANGE 3 SECONDS] WHERE a.k = b.k"),
    Asked("SELECT DISTINCT n FROM a [RANGE 5 SECONDS]"),
    Asked("SELECT k, SUM(n) AS total, COUNT(*) AS n FROM a [RANGE 5 SECONDS] GROUP BY k"),
    Asked("SELECT ISTREAM k FROM a [RANGE 5 SECONDS] WHERE n > 0"),
    Asked("SELECT DSTREAM k FROM a [RANGE 5 SECONDS] WHERE n > 0"),
    Asked("SELECT l.k, COUNT(*) AS n FROM a [RANGE 5 SECONDS SLIDE 2 SECONDS] l JOIN b [RANGE 3 SECONDS SLIDE 2 SECONDS] r ON l.k = r.k GROUP BY l.k"),
]  # fmt: skip


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("seed", [1, 3])
def test_a_query_that_comes_late_begins_when_its_longest_window_is_full(spark, tmp_path, seed):
    random = Random(seed)
    streams = random_streams(random)
    epochs = random_cuts(random, streams, 5)
    comes = random.randint(1, len(epochs) - 1)
    contents = WindowContents(streams)
    batches = dict.fromkeys(streams, 0)
    schemas = {name: rows.schema for name, rows in streams.items()}
    with engine_for(spark, tmp_path, schemas, COMING) as engine, feeding(engine, *streams) as feed:
        for number, epoch in enumerate(epochs):
            if number == comes:
                for place, asked in enumerate(COMING):
                    engine.query(f"late{place}", asked.cql)
            feed_one(feed, spark, epoch, batches)
        for name in streams:
            feed.seal(name)
        known = {query.name: query for query in engine.status().queries}
        for place, asked in enumerate(COMING):
            complete_after = known[f"late{place}"].complete_after
            begins = whole(complete_after) + max(window.range for window in asked.windows)
            assert_right_from(asked, engine.results(f"late{place}").toArrow(), contents, begins)


def whole(when):
    """An instant, in microseconds."""
    return (when - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)


def assert_right_from(asked, results, contents, begins):
    """See that there is nothing before an instant, and from there on all that DuckDB has; what is new or gone is
    so compared with what was told before."""
    if asked.slide is not None:
        found, expected = timed(results, "window_end"), contents.evaluations(asked)
    elif asked.delivery != "R":
        found, expected = timed(results, "_ts"), contents.differences(asked)[asked.delivery]
        expected.pop(begins, None)
        found.pop(begins, None)
    else:
        changes = Change.of(results)
        check_takings_back(changes, asked.takes_back)
        assert all(change.ts >= begins for change in changes), asked
        expected = contents.at_instants(asked, {begins, *contents.changes_at(asked)})
        found = states(changes, expected)
    later = {at: rows for at, rows in expected.items() if at >= begins + (asked.slide is not None)}
    assert without_empty(found) == without_empty(later), asked
    assert any(later.values()), asked

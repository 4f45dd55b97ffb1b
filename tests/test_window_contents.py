"""The judge of `window_contents` judged: by hand-made examples, and by SQL that is written out."""

from __future__ import annotations

from collections import Counter
from random import Random

import duckdb
import pyarrow as pa
import pytest

from tests.api.random_queries import random_join, random_statement, random_streams
from tests.window_contents import Asked, Change, WindowContents, check_takings_back, states

SECOND = 1_000_000
S = pa.table({"ts": [0, 2 * SECOND, 2 * SECOND], "k": ["p", "q", "p"], "n": [1, 2, 3]})
T = pa.table({"ts": [-1 * SECOND, 1 * SECOND], "k": ["p", "p"], "n": [10, 20]})


@pytest.fixture
def contents():
    return WindowContents({"s": S, "t": T})


def seconds(answers):
    """Answers by the second, those that are not empty."""
    return {at / SECOND: sorted(rows.elements()) for at, rows in answers.items() if rows}


def test_a_row_is_in_a_window_from_its_time_on_until_the_range_is_over(contents):
    answers = contents.answers(Asked("SELECT n FROM s [RANGE 3 SECONDS]"))
    expected = {0: [(1,)], 2: [(1,), (2,), (3,)], 3: [(2,), (3,)], 5: []}
    assert {at: sorted(answers[at * SECOND].elements()) for at in expected} == expected
    assert answers[2 * SECOND - 1] == {(1,): 1}
    assert answers[5 * SECOND - 1] == {(2,): 1, (3,): 1}
    assert answers[-1] == answers[5 * SECOND + 1] == {}


def test_now_and_unbounded(contents):
    now = contents.answers(Asked("SELECT n FROM s [NOW]"))
    assert seconds(now) == {0: [(1,)], 2: [(2,), (3,)]}
    ever = contents.answers(Asked("SELECT n FROM s [UNBOUNDED]"))
    assert seconds(ever)[2] == [(1,), (2,), (3,)]


def test_an_evaluation_is_of_the_last_instant_before(contents):
    asked = Asked("SELECT n FROM s [RANGE 3 SECONDS SLIDE 1 SECOND OFFSET 500 MS]")
    assert seconds(contents.evaluations(asked)) == {
        0.5: [(1,)],
        1.5: [(1,)],
        2.5: [(1,), (2,), (3,)],
        3.5: [(2,), (3,)],
        4.5: [(2,), (3,)],
    }
    on_the_second = Asked("SELECT n FROM s [RANGE 1 SECOND SLIDE 1 SECOND]")
    assert seconds(contents.evaluations(on_the_second)) == {1: [(1,)], 3: [(2,), (3,)]}


def test_differences_are_by_value(contents):
    differences = contents.differences(Asked("SELECT ISTREAM k FROM s [RANGE 2 SECONDS]"))
    # at 2, one p goes and another comes
    assert seconds(differences["I"]) == {0: [("p",)], 2: [("q",)]}
    assert seconds(differences["D"]) == {4: [("p",), ("q",)]}
    differences = contents.differences(Asked("SELECT ISTREAM k FROM s [RANGE 2 SECONDS SLIDE 2 SECONDS]"))
    assert seconds(differences["I"]) == {2: [("p",)], 4: [("q",)]}
    assert seconds(differences["D"]) == {6: [("p",), ("q",)]}


def test_an_aggregate_has_no_row_while_there_is_nothing(contents):
    counted = contents.answers(Asked("SELECT COUNT(*) AS n FROM s [RANGE 1 SECOND] {if any}"))
    assert counted[0] == {(1,): 1}
    assert counted[SECOND] == {}


def test_when_a_pair_comes_and_ends(contents):
    text = "SELECT s.n, t.n AS m FROM s [RANGE 2 SECONDS{}] JOIN t [RANGE 4 SECONDS{}] ON s.k = t.k"
    expected = {(0, 2, (1, 10)), (1, 2, (1, 20)), (2, 3, (3, 10)), (2, 4, (3, 20))}
    assert lifetimes(contents, text.format("", "")) == expected
    internal = lifetimes(contents, text.format(" INTERNAL", " INTERNAL"))
    assert internal == {(comes, None, row) for comes, _, row in expected}
    by_s = lifetimes(contents, text.format("", " INTERNAL"))
    assert by_s == {(0, 2, (1, 10)), (1, 2, (1, 20)), (2, 4, (3, 10)), (2, 4, (3, 20))}


def lifetimes(contents, text):
    found = contents.lifetimes(Asked(text))
    assert set(found.values()) == {1}
    return {(comes // SECOND, None if ends is None else ends // SECOND, row) for comes, ends, row in found}


def test_changes_amount_to_the_answers_that_they_are_of():
    changes = [Change(1, 0, 3, ("a",)), Change(1, 1, None, ("b",)), Change(-1, 2, None, ("b",))]
    check_takings_back(changes, may=True)
    assert states(changes, range(-1, 4)) == {
        -1: {}, 0: {("a",): 1}, 1: {("a",): 1, ("b",): 1}, 2: {("a",): 1}, 3: {}
    }  # fmt: skip
    with pytest.raises(AssertionError, match="taken back"):
        check_takings_back(changes, may=False)
    with pytest.raises(AssertionError, match="never given"):
        check_takings_back([*changes, Change(-1, 3, 4, ("a",))], may=True)
    with pytest.raises(AssertionError, match="comes and goes"):
        check_takings_back([Change(1, 0, 3, ("a",)), Change(-1, 0, 3, ("a",))], may=True)
    with pytest.raises(AssertionError, match="more is taken back"):
        states([Change(-1, 0, None, ("a",))], [0])


def test_random_statements_run_and_most_have_answers():
    answers = Counter()
    for seed in range(12):
        random = Random(seed)
        contents = WindowContents(random_streams(random))
        for _ in range(10):
            asked = random_statement(random)
            found = contents.answers(asked) if asked.slide is None else contents.evaluations(asked)
            answers[any(found.values())] += 1
            contents.lifetimes(random_join(random))
    assert answers[True] > 3 * answers[False]


def test_one_by_one_or_all_at_once():
    """The lateral join has the answers of the statement with each instant written into it."""
    random = Random(3)
    streams = random_streams(random)
    contents = WindowContents(streams)
    with duckdb.connect() as database:
        for name, rows in streams.items():
            ts = rows["ts"].cast(pa.int64())
            database.register(name, rows.set_column(0, "ts", ts))
        for _ in range(20):
            asked = random_statement(random)
            for at, rows in list(contents.answers(asked).items())[::37]:
                alone = database.sql(asked.sql(str(at))).fetchall()
                assert sum(rows.values()) == len(alone), asked


def test_the_lifetimes_of_pairs_amount_to_the_answers():
    """Two ways to the same answers, where no window is INTERNAL; a pair that is left out is noticed."""
    noticed = 0
    for seed in range(10):
        random = Random(seed)
        contents = WindowContents(random_streams(random))
        asked = Asked(random_join(random).text.replace(" INTERNAL", ""))
        found = contents.lifetimes(asked).elements()
        changes = [Change(1, comes, ends, row) for comes, ends, row in found]
        answers = contents.answers(asked)
        assert states(changes, answers) == answers
        noticed += bool(changes) and states(changes[1:], answers) != answers
    assert noticed > 5

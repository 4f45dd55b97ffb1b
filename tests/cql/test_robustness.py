"""Whatever the text, `parse` gives statements or a StatementError with a place inside the text."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from windrow.cql import Query, parse, span
from windrow.errors import StatementError

VALID = [
    "CREATE STREAM flights FROM PARQUET 'flights/' TIMESTAMP ts DELAY 10 MINUTES",
    """CREATE STREAM r (ts TIMESTAMP, s STRUCT<a: INT, b: ARRAY<DECIMAL(10, 2)>>, m MAP<STRING, INT>)
    FROM CSV 'in/' OPTIONS (header 'true', a.b = 1) TIMESTAMP ts DELAY 30 SECONDS SKEW 1 HOUR
    IDLE TIMEOUT 5 MINUTES RETAIN 7 DAYS MAX DEAD 100""",
    """CREATE TABLE airlines (code STRING, name VARCHAR(80)) FROM JSON "a.json" OPTIONS (multiLine true)""",
    """CREATE QUERY delays RETAIN 30 DAYS AS
    SELECT /*+ FINAL(two_stacks) */ origin, AVG(dep_delay) AS delay, COUNT(DISTINCT x)
    FROM flights [RANGE 6 HOURS SLIDE 5 MINUTES OFFSET 1.5 S] AS f
    WHERE a[0] > -1 GROUP BY origin HAVING n > 1""",
    """SELECT CASE WHEN a THEN 'b' ELSE "c" END, CAST(d AS ARRAY<INT>), EXTRACT(HOUR FROM ts), -- e
        SUM(x) OVER (PARTITION BY y ORDER BY z ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), `q r`.s
    FROM f [RANGE 1 H SLIDE 1 H], LATERAL (SELECT 1)
    JOIN g [RANGE 2 H SLIDE 1 H] h ON f.x = h.x AND y IN (1, 2) AND z = INTERVAL 1 DAY
    WHERE NOT EXISTS (SELECT 1 FROM k [RANGE 1 D SLIDE 1 D]) AND ts > TIMESTAMP '2013-01-01' LIMIT 5""",
    """WITH w AS (SELECT ISTREAM(DISTINCT a, b) FROM f [RANGE 1 H INTERNAL] LEFT SEMI JOIN g [NOW] USING (a))
    SELECT DSTREAM * FROM (SELECT a FROM w UNION ALL (SELECT b FROM h [UNBOUNDED] INTERSECT SELECT 1)) AS x
    WHERE (a, b) IN (SELECT a, b FROM k [RANGE UNBOUNDED SLIDE 1 D INTERNAL]) UNION SELECT RSTREAM a FROM f""",
]
SIGNS = ["[", "]", "(", ")", "<", ">", "'", '"', "`", ",", ";", ".", "::", "--", "/*", "*/", "/*+", "-", "*"]
OTHERS = """|> -> => { } $ @ ? \\ \0 é ROWS UNION WITH PIVOT UNPIVOT LATERAL VIEW TABLESAMPLE VALUES VERSION
    OF SHOW DROP EXPLAIN SET EMIT CHANGES ISTREAM NULL 1e5 0x1F 5S X'1' r'a' 1. .5"""
WORDS = [*SIGNS, *OTHERS.split(), *sorted({word for text in VALID for word in text.split()})]


def refusal(text: str) -> StatementError | None:
    try:
        parse(text)
    except StatementError as error:
        return error
    return None


def check(text: str) -> None:
    error = refusal(text)
    if error is not None:
        assert error.text == text
        assert 0 <= error.start <= error.end <= len(text)
        assert error.problem
        assert "sqlglot" not in str(error)
        assert "Token" not in error.problem
        return
    for statement in parse(text):
        assert text[statement.start : statement.end].strip()
        if isinstance(statement, Query):
            assert text[statement.start : statement.end].endswith(statement.select_sql)
            (again,) = parse(statement.select_sql)  # queries are kept as text
            assert isinstance(again, Query)
            assert again.select == statement.select
            for node in statement.select.walk():
                start, end = span(node)
                assert (start, end) == (0, 0) or statement.start <= start < end <= statement.end


@pytest.mark.parametrize("text", VALID)
def test_the_valid_ones_are_valid(text: str) -> None:
    assert len(parse(text)) == 1


@given(st.text())
def test_any_text(text: str) -> None:
    check(text)


@given(st.lists(st.sampled_from(WORDS), max_size=20).map(" ".join))
@example("SELECT /*+ */ a FROM f")
@example("SELECT a FROM f [RANGE")
def test_any_words(text: str) -> None:
    check(text)


@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_any_words_after_select(text: str) -> None:
    check(f"SELECT a FROM f {text}")
    check(f"SELECT {text}")


@given(st.sampled_from(VALID), st.data())
def test_a_statement_cut_off(text: str, data: st.DataObject) -> None:
    check(text[: data.draw(st.integers(0, len(text)))])
    check(text[data.draw(st.integers(0, len(text))) :])


@given(st.sampled_from(VALID), st.data())
def test_a_statement_with_a_piece_replaced(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 10)))
    check(text[:start] + data.draw(st.sampled_from(["", " ", *WORDS])) + text[end:])


@given(st.sampled_from(VALID), st.randoms(use_true_random=False), st.integers(1, 5))
def test_a_statement_with_words_swapped(text: str, random: Random, swaps: int) -> None:
    words = text.split()
    for _ in range(swaps):
        i, j = (random.randrange(len(words)) for _ in range(2))
        words[i], words[j] = words[j], words[i]
    check(" ".join(words))

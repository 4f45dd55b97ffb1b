"""Errors that are found after parsing can still underline what they are about."""

from __future__ import annotations

import pytest
from sqlglot import exp

from windrow.cql import Query, name_span, parse, span

TEXT = """CREATE TABLE t FROM JSON 'x';
SELECT /*+ FINAL(slick_deque) */ f.origin AS o, MAX(dep_delay + 1) FILTER (WHERE dep_delay > 0),
       CAST(a AS INT), my_function(b), SUM(c) OVER (PARTITION BY d), CASE WHEN e THEN 1 END, CURRENT_DATE
FROM `my db`.flights [RANGE 6 HOURS SLIDE 5 MINUTES] AS f
WHERE x BETWEEN 10 AND 200 AND s = 'it''s'"""


@pytest.fixture(scope="module")
def select() -> exp.Select:
    query = parse(TEXT)[1]
    assert isinstance(query, Query)
    return query.select


def cut(place: tuple[int, int]) -> str:
    return TEXT[place[0] : place[1]]


@pytest.mark.parametrize(
    ("kind", "whole", "name"),
    [
        (exp.Column, "f.origin", "f.origin"),
        (exp.Max, "MAX(dep_delay + 1)", "MAX"),
        (
            exp.Filter,
            "MAX(dep_delay + 1) FILTER (WHERE dep_delay > 0)",
            "MAX(dep_delay + 1) FILTER (WHERE dep_delay > 0)",
        ),
        (exp.TryCast, "CAST(a AS INT)", "CAST"),
        (exp.Window, "SUM(c) OVER (PARTITION BY d)", "SUM(c) OVER (PARTITION BY d)"),
        (exp.Sum, "SUM(c)", "SUM"),
        (exp.Case, "CASE WHEN e THEN 1 END", "CASE"),
        (exp.CurrentDate, "CURRENT_DATE", "CURRENT_DATE"),
        (exp.Table, "`my db`.flights [RANGE 6 HOURS SLIDE 5 MINUTES] AS f", "`my db`.flights"),
        (exp.Between, "x BETWEEN 10 AND 200", "x BETWEEN 10 AND 200"),
        (exp.Hint, "/*+ FINAL(slick_deque) */", "/*+ FINAL(slick_deque) */"),
    ],
)
def test_the_place_of_a_node(select: exp.Select, kind: type[exp.Expr], whole: str, name: str) -> None:
    node = select.find(kind)
    assert node is not None
    assert (cut(span(node)), cut(name_span(node))) == (whole, name)


NESTED = """
WITH w AS (SELECT DISTINCT a FROM f [RANGE 5 MINUTES])
SELECT ISTREAM(x.a, COUNT(DISTINCT b)) FROM (SELECT a, b FROM g [NOW]) AS x
  LEFT SEMI JOIN (w AS y) USING (a), h [NOW] AS z(c, d)
WHERE (a, c) NOT IN (SELECT a, c FROM i [UNBOUNDED]) AND EXISTS (SELECT 1 FROM k [NOW] WHERE e IN (1, 2))
GROUP BY x.a
UNION ALL (SELECT a, b FROM l [NOW] INTERSECT SELECT b, a FROM m [NOW] WHERE a IS NULL)"""


@pytest.mark.parametrize(
    ("kind", "places"),
    [
        (exp.Union, [NESTED.strip()]),
        (exp.Intersect, ["SELECT a, b FROM l [NOW] INTERSECT SELECT b, a FROM m [NOW] WHERE a IS NULL"]),
        (exp.With, ["WITH w AS (SELECT DISTINCT a FROM f [RANGE 5 MINUTES])"]),
        (exp.CTE, ["w AS (SELECT DISTINCT a FROM f [RANGE 5 MINUTES])"]),
        (
            exp.Subquery,
            [
                "(SELECT a, b FROM g [NOW]) AS x",
                "(w AS y)",
                "(SELECT a, c FROM i [UNBOUNDED])",
                "(SELECT a, b FROM l [NOW] INTERSECT SELECT b, a FROM m [NOW] WHERE a IS NULL)",
            ],
        ),
        (exp.Exists, ["EXISTS (SELECT 1 FROM k [NOW] WHERE e IN (1, 2))"]),
        (exp.In, ["(a, c) NOT IN (SELECT a, c FROM i [UNBOUNDED])", "e IN (1, 2)"]),
        (exp.Distinct, ["DISTINCT", "b"]),
        (exp.Join, ["LEFT SEMI JOIN (w AS y) USING (a)", "h [NOW] AS z(c, d)"]),
        (exp.TableAlias, ["w", "x", "y", "z(c, d)"]),
        (exp.Tuple, ["(a, c)"]),
        (
            exp.Select,
            [
                "SELECT DISTINCT a FROM f [RANGE 5 MINUTES]",
                NESTED[: NESTED.index("\nUNION")].split("\n", 2)[2],
                "SELECT a, b FROM g [NOW]",
                "SELECT a, c FROM i [UNBOUNDED]",
                "SELECT 1 FROM k [NOW] WHERE e IN (1, 2)",
                "SELECT a, b FROM l [NOW]",
                "SELECT b, a FROM m [NOW] WHERE a IS NULL",
            ],
        ),
    ],
)
def test_the_places_of_larger_nodes(kind: type[exp.Expr], places: list[str]) -> None:
    (query,) = parse(NESTED)
    assert isinstance(query, Query)
    found = sorted(span(node) for node in query.select.find_all(kind))
    assert [NESTED[start:end] for start, end in found] == places


def test_the_place_of_an_unknown_function_and_of_a_hint(select: exp.Select) -> None:
    names = {cut(name_span(node)): cut(span(node)) for node in select.find_all(exp.Anonymous)}
    assert names == {"my_function": "my_function(b)", "FINAL": "FINAL(slick_deque)"}


def test_places_survive_a_copy(select: exp.Select) -> None:
    assert [span(node) for node in select.copy().walk()] == [span(node) for node in select.walk()]


def test_a_node_that_was_made_later_has_no_place() -> None:
    assert span(exp.column("a")) == name_span(exp.Max(this=exp.column("a"))) == (0, 0)

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


def test_the_place_of_an_unknown_function_and_of_a_hint(select: exp.Select) -> None:
    names = {cut(name_span(node)): cut(span(node)) for node in select.find_all(exp.Anonymous)}
    assert names == {"my_function": "my_function(b)", "FINAL": "FINAL(slick_deque)"}


def test_places_survive_a_copy(select: exp.Select) -> None:
    assert [span(node) for node in select.copy().walk()] == [span(node) for node in select.walk()]


def test_a_node_that_was_made_later_has_no_place() -> None:
    assert span(exp.column("a")) == name_span(exp.Max(this=exp.column("a"))) == (0, 0)

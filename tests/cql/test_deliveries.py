"""RSTREAM, ISTREAM and DSTREAM: where they may stand, and that a column may have such a name."""

from __future__ import annotations

import copy
import pickle

import pytest
from sqlglot import exp
from sqlglot.optimizer.qualify import qualify

from windrow.cql import DSTREAM, ISTREAM, RSTREAM, Query, delivery_node, delivery_of, parse, span


def tree(text: str) -> exp.Query:
    (query,) = parse(text)
    assert isinstance(query, Query)
    return query.select


def deliveries(text: str) -> list[str]:
    """The deliveries of all SELECTs of a query, in the order in which their lists begin."""
    selects = sorted(tree(text).find_all(exp.Select), key=lambda select: span(select.selects[0]))
    return [delivery_of(select) for select in selects]


@pytest.mark.parametrize(
    ("written", "delivery", "spark"),
    [
        ("SELECT a FROM s [NOW]", RSTREAM, "SELECT a FROM s"),
        ("SELECT RSTREAM a FROM s [NOW]", RSTREAM, "SELECT a FROM s"),
        ("SELECT ISTREAM * FROM s [NOW]", ISTREAM, "SELECT * FROM s"),
        ("SELECT ISTREAM *, a FROM s [NOW]", ISTREAM, "SELECT *, a FROM s"),
        ("SELECT ISTREAM * EXCEPT (a) FROM s [NOW]", ISTREAM, "SELECT * EXCEPT (a) FROM s"),
        ("SELECT ISTREAM(*) FROM s [NOW]", ISTREAM, "SELECT * FROM s"),
        ("SELECT Dstream (*) FROM s [NOW]", DSTREAM, "SELECT * FROM s"),
        ("SELECT ISTREAM s.* FROM s [NOW]", ISTREAM, "SELECT s.* FROM s"),
        ("SELECT ISTREAM(DISTINCT a) FROM s [NOW]", ISTREAM, "SELECT DISTINCT a FROM s"),
        ("SELECT ISTREAM DISTINCT a, b FROM s [NOW]", ISTREAM, "SELECT DISTINCT a, b FROM s"),
        ("SELECT DISTINCT ISTREAM a FROM s [NOW]", ISTREAM, "SELECT DISTINCT a FROM s"),
        ("SELECT DSTREAM ALL a FROM s [NOW]", DSTREAM, "SELECT a FROM s"),
        ("SELECT ISTREAM(a, b) FROM s [NOW]", ISTREAM, "SELECT a, b FROM s"),
        ("SELECT istream(f(a, b), (c)) FROM s [NOW]", ISTREAM, "SELECT F(a, b), (c) FROM s"),
        ("SELECT ISTREAM(a + 1 AS x) FROM s [NOW]", ISTREAM, "SELECT a + 1 AS x FROM s"),
        ("SELECT ISTREAM a + 1 AS x FROM s [NOW]", ISTREAM, "SELECT a + 1 AS x FROM s"),
        ("SELECT ISTREAM (a + b) * 2 AS c FROM s [NOW]", ISTREAM, "SELECT (a + b) * 2 AS c FROM s"),
        ("SELECT ISTREAM (a), b FROM s [NOW]", ISTREAM, "SELECT (a), b FROM s"),
        ("SELECT ISTREAM(-a) FROM s [NOW]", ISTREAM, "SELECT -a FROM s"),
        ("SELECT ISTREAM NOT a FROM s [NOW]", ISTREAM, "SELECT NOT a FROM s"),
        ("SELECT ISTREAM 'a', 1 FROM s [NOW]", ISTREAM, "SELECT 'a', 1 FROM s"),
        (
            "SELECT ISTREAM CASE WHEN a THEN b END FROM s [NOW]",
            ISTREAM,
            "SELECT CASE WHEN a THEN b END FROM s",
        ),
        ("SELECT ISTREAM COUNT(*) FROM s [NOW]", ISTREAM, "SELECT COUNT(*) FROM s"),
        ("SELECT ISTREAM(COUNT(*)) FROM s [NOW] GROUP BY a", ISTREAM, "SELECT COUNT(*) FROM s GROUP BY a"),
        ("SELECT ISTREAM `istream` FROM s [NOW]", ISTREAM, "SELECT `istream` FROM s"),
        ("SELECT ISTREAM istream FROM s [NOW]", ISTREAM, "SELECT istream FROM s"),
        ("SELECT ISTREAM /* new */ a FROM s [NOW]", ISTREAM, "SELECT a FROM s"),
        ("SELECT /*+ FINAL(daba) */ ISTREAM(a) FROM s [NOW]", ISTREAM, "SELECT /*+ FINAL(daba) */ a FROM s"),
        ("SELECT ISTREAM restore - 1 FROM s [NOW]", ISTREAM, "SELECT restore - 1 FROM s"),
        ("SELECT ISTREAM(1)", ISTREAM, "SELECT 1"),
    ],
)
def test_a_delivery_leaves_plain_spark_sql(written: str, delivery: str, spark: str) -> None:
    select = tree(written)
    assert delivery_of(select) == delivery
    assert select.sql(dialect="spark", comments=False) == spark


@pytest.mark.parametrize(
    "written",
    [
        "SELECT istream FROM s",
        "SELECT istream, a FROM s",
        "SELECT istream AS b FROM s",
        "SELECT DISTINCT istream FROM s",
        "SELECT istream.a FROM s AS istream",
        "SELECT istream.* FROM s AS istream",
        "SELECT istream[0] FROM s",
        "SELECT `istream` + 1 FROM s",
        "SELECT istream * 2 FROM s",
        "SELECT istream / 2 FROM s",
        "SELECT istream % 2 FROM s",
        "SELECT istream || 'a' FROM s",
        "SELECT istream = 1 AND a FROM s",
        "SELECT istream < 1 OR a FROM s",
        "SELECT istream IS NULL FROM s",
        "SELECT istream IN (1, 2) FROM s",
        "SELECT NOT istream IN (1, 2) FROM s",
        "SELECT istream BETWEEN 1 AND 2 FROM s",
        "SELECT istream LIKE 'a' FROM s",
        "SELECT istream NOT LIKE 'a' FROM s",
        "SELECT rstream, dstream, wstream FROM s",
        "SELECT a, istream FROM s WHERE istream > 1 GROUP BY istream",
        "SELECT istream UNION SELECT istream",
        "SELECT a FROM (SELECT istream)",
        "SELECT istream",
    ],
)
def test_a_column_may_have_the_name_of_a_delivery(written: str) -> None:
    assert set(deliveries(written)) == {RSTREAM}
    assert tree(written).sql(dialect="spark") == written


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("SELECT ISTREAM(a) FROM s [NOW] UNION SELECT DSTREAM b FROM t [NOW]", [ISTREAM, DSTREAM]),
        ("SELECT ISTREAM(a) UNION ALL SELECT b FROM t [NOW]", [ISTREAM, RSTREAM]),
        ("(SELECT ISTREAM(a)) INTERSECT (SELECT DSTREAM(a))", [ISTREAM, DSTREAM]),
        ("SELECT a FROM (SELECT ISTREAM(a) FROM s [NOW]) AS x", [RSTREAM, ISTREAM]),
        ("SELECT ISTREAM(a) FROM (SELECT a FROM s [NOW]) AS x", [ISTREAM, RSTREAM]),
        ("WITH x AS (SELECT DSTREAM a FROM s [NOW]) SELECT ISTREAM a FROM x", [DSTREAM, ISTREAM]),
        ("SELECT a FROM s [NOW] WHERE a IN (SELECT DSTREAM(a) FROM t [NOW])", [RSTREAM, DSTREAM]),
        ("SELECT a FROM s [NOW] WHERE EXISTS (SELECT ISTREAM a FROM t [NOW])", [RSTREAM, ISTREAM]),
        ("SELECT ISTREAM (SELECT MAX(b) FROM t) AS m FROM s [NOW]", [ISTREAM, RSTREAM]),
        ("CREATE QUERY q AS WITH x AS (SELECT 1) SELECT DSTREAM(*) FROM x", [RSTREAM, DSTREAM]),
        ("CREATE QUERY istream AS SELECT ISTREAM istream FROM istream [NOW]", [ISTREAM]),
    ],
)
def test_every_select_has_a_delivery_of_its_own(written: str, expected: list[str]) -> None:
    assert deliveries(written) == expected


def test_the_place_of_a_delivery() -> None:
    text = "SELECT 1;\nSELECT /* new */ Istream(DISTINCT a) FROM s [NOW]"
    query = parse(text)[1]
    assert isinstance(query, Query)
    word = delivery_node(query.select)
    assert word is not None
    start, end = span(word)
    assert text[start:end] == "Istream"
    assert delivery_node(tree("SELECT a FROM s [NOW]")) is None


def test_deliveries_survive_copies_and_rewrites() -> None:
    select = tree("SELECT DSTREAM(a) FROM (SELECT ISTREAM(a) FROM s [NOW]) AS x")
    for other in (
        select.copy(),
        copy.deepcopy(select),
        pickle.loads(pickle.dumps(select)),
        select.transform(lambda node: node),
        qualify(select.copy(), schema={"s": {"a": "int"}}, dialect="spark"),
    ):
        assert [delivery_of(found) for found in other.find_all(exp.Select)] == [DSTREAM, ISTREAM]


def test_trees_that_differ_in_a_delivery_differ() -> None:
    assert tree("SELECT ISTREAM a FROM s [NOW]") != tree("SELECT DSTREAM a FROM s [NOW]")
    assert tree("SELECT ISTREAM a FROM s [NOW]") != tree("SELECT a FROM s [NOW]")
    assert tree("SELECT ISTREAM a FROM s [NOW]") == tree("select istream(a) from s [now]")

"""Windows: what they say, and that they stay on their tables whatever sqlglot does to the tree."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp
from sqlglot.optimizer.optimizer import optimize
from sqlglot.optimizer.qualify import qualify

from windrow.cql import Query, RowWindowNode, TimeWindowNode, format_duration, parse, span, window_of
from windrow.cql.durations import DAY, HOUR, LONGEST, MILLISECOND, MINUTE, SECOND
from windrow.errors import StatementError


def select(text: str) -> exp.Query:
    (query,) = parse(text)
    assert isinstance(query, Query)
    return query.select


Window = tuple[int | None, int | None, int]
"""A window's RANGE (None: for ever), SLIDE (None: continuous) and OFFSET."""


def windows(tree: exp.Expr) -> dict[str, Window | None]:
    """The window of every table, by the table's name; none of them is INTERNAL."""
    found: dict[str, Window | None] = {}
    for table in tree.find_all(exp.Table):
        window = window_of(table)
        assert not isinstance(window, RowWindowNode)
        assert window is None or not window.internal
        found[table.name] = (window.range, window.slide, window.offset) if window is not None else None
    return found


def only_window(written: str) -> TimeWindowNode:
    """The window that a text says."""
    window = select(f"SELECT a FROM s {written} AS x").find(TimeWindowNode)
    assert window is not None
    return window


def row_window(tree: exp.Expr) -> tuple[int, int, list[str]]:
    """The window of rows of a query, and the keys that it counts by."""
    window = tree.find(RowWindowNode)
    assert window is not None
    return window.rows, window.slide, [key.sql(dialect="spark", comments=False) for key in window.keys]


@pytest.mark.parametrize(
    ("written", "window"),
    [
        ("[RANGE 6 HOURS SLIDE 5 MINUTES]", (6 * HOUR, 5 * MINUTE, 0)),
        ("[range 6 hours slide 5 minutes]", (6 * HOUR, 5 * MINUTE, 0)),
        ("[RANGE 1 DAY SLIDE 1 HOUR OFFSET 15 MINUTES]", (DAY, HOUR, 15 * MINUTE)),
        ("[RANGE 1 DAY SLIDE 1 HOUR OFFSET 0 SECONDS]", (DAY, HOUR, 0)),
        ("[RANGE 1 DAY SLIDE 1 HOUR OFFSET 3 HOURS]", (DAY, HOUR, 3 * HOUR)),
        ("[SLIDE 1 HOUR RANGE 1 DAY]", (DAY, HOUR, 0)),
        ("[RANGE 1 MIN SLIDE 1 HOUR]", (MINUTE, HOUR, 0)),
        ("[RANGE 1.5 SECONDS SLIDE 250 MS]", (1500 * MILLISECOND, 250 * MILLISECOND, 0)),
        ("[RANGE 1.5S SLIDE 250MS]", (1500 * MILLISECOND, 250 * MILLISECOND, 0)),
        ("[RANGE 1 HOUR 30 MINUTES SLIDE 1 S]", (90 * MINUTE, SECOND, 0)),
        ("[\n RANGE 6 /* h */ HOURS -- and\n SLIDE 5 MINUTES ]", (6 * HOUR, 5 * MINUTE, 0)),
    ],
)
def test_a_window_is_microseconds(written: str, window: tuple[int, int, int]) -> None:
    tree = select(f"SELECT a FROM flights {written} AS f JOIN airlines ON f.x = airlines.x")
    assert windows(tree) == {"flights": window, "airlines": None}


@pytest.mark.parametrize(
    ("written", "range_", "slide", "internal", "shown"),
    [
        ("[RANGE 5 MINUTES]", 5 * MINUTE, None, False, "[RANGE 5 MINUTES]"),
        ("[RANGE 5 MINUTES INTERNAL]", 5 * MINUTE, None, True, "[RANGE 5 MINUTES INTERNAL]"),
        ("[INTERNAL RANGE 300 SECONDS]", 5 * MINUTE, None, True, "[RANGE 5 MINUTES INTERNAL]"),
        (
            "[RANGE 5 MINUTES SLIDE 1 MINUTE INTERNAL]",
            5 * MINUTE,
            MINUTE,
            True,
            "[RANGE 5 MINUTES SLIDE 1 MINUTE INTERNAL]",
        ),
        (
            "[slide 1 minute internal range 5 minutes]",
            5 * MINUTE,
            MINUTE,
            True,
            "[RANGE 5 MINUTES SLIDE 1 MINUTE INTERNAL]",
        ),
        ("[NOW]", 1, None, False, "[NOW]"),
        ("[now /* or never */ internal]", 1, None, True, "[NOW INTERNAL]"),
        ("[RANGE 1 MICROSECOND]", 1, None, False, "[NOW]"),
        ("[NOW SLIDE 1 SECOND]", 1, SECOND, False, "[NOW SLIDE 1 SECOND]"),
        ("[UNBOUNDED]", None, None, False, "[UNBOUNDED]"),
        ("[RANGE UNBOUNDED]", None, None, False, "[UNBOUNDED]"),
        ("[INTERNAL range unbounded]", None, None, True, "[UNBOUNDED INTERNAL]"),
        ("[SLIDE 1 HOUR UNBOUNDED]", None, HOUR, False, "[UNBOUNDED SLIDE 1 HOUR]"),
    ],
)
def test_windows_without_slide_or_end(
    written: str, range_: int | None, slide: int | None, internal: bool, shown: str
) -> None:
    window = only_window(written)
    assert (window.range, window.slide, window.offset, window.internal) == (range_, slide, 0, internal)
    assert str(window) == shown
    assert only_window(shown) == window


NESTED = """
    WITH a AS (SELECT x FROM one [RANGE 1 SECOND]), b AS (SELECT x FROM two [NOW])
    SELECT * FROM (SELECT x FROM three [RANGE 3 SECONDS] UNION ALL SELECT x FROM four [UNBOUNDED]) AS c
    JOIN five [RANGE 5 SECONDS] AS d ON c.x = d.x JOIN six [RANGE 6 SECONDS] USING (x),
    (SELECT DISTINCT x FROM seven [RANGE 7 SECONDS] INTERSECT SELECT x FROM eight [RANGE 8 SECONDS]) AS e
    LEFT SEMI JOIN nine [RANGE 9 SECONDS] AS f ON e.x = f.x
    WHERE EXISTS (SELECT 1 FROM ten [RANGE 10 SECONDS] AS g WHERE g.x = d.x)
      AND d.x IN (SELECT x FROM eleven [RANGE 11 SECONDS])
    UNION SELECT x FROM twelve [RANGE 12 SECONDS]"""
NESTED_RANGES = {
    "one": SECOND, "two": 1, "three": 3 * SECOND, "four": None, "five": 5 * SECOND, "six": 6 * SECOND,
    "seven": 7 * SECOND, "eight": 8 * SECOND, "nine": 9 * SECOND, "ten": 10 * SECOND, "eleven": 11 * SECOND,
    "twelve": 12 * SECOND,
}  # fmt: skip


def test_a_window_stands_behind_any_stream_of_a_query() -> None:
    tree = select(NESTED)
    assert windows(tree) == {name: (range_, None, 0) for name, range_ in NESTED_RANGES.items()}
    assert windows(pickle.loads(pickle.dumps(tree))) == windows(tree)


def test_trees_that_differ_in_what_ends_differ() -> None:
    written = ["[NOW]", "[NOW INTERNAL]", "[UNBOUNDED]", "[RANGE 1 HOUR]", "[RANGE 1 HOUR SLIDE 1 HOUR]"]
    trees = [select(f"SELECT a FROM s {window}") for window in written]
    assert all((one == other) == (one is other) for one in trees for other in trees)


@given(st.none() | st.integers(1, LONGEST), st.none() | st.integers(1, LONGEST), st.booleans(), st.booleans())
def test_any_window_without_slide_or_end_is_read_and_kept(
    range_: int | None, slide: int | None, internal: bool, reverse: bool
) -> None:
    clauses = ["RANGE UNBOUNDED" if range_ is None else f"RANGE {format_duration(range_)}"]
    clauses += [] if slide is None else [f"SLIDE {format_duration(slide)}"]
    clauses += ["INTERNAL"][:internal]
    window = only_window(f"[{' '.join(clauses[::-1] if reverse else clauses)}]")
    assert (window.range, window.slide, window.offset, window.internal) == (range_, slide, 0, internal)
    assert only_window(str(window)) == window == window.copy()


def test_the_place_of_a_window() -> None:
    text = "SELECT 1; SELECT a FROM f [RANGE 1 H SLIDE 1 H] g"
    query = parse(text)[1]
    assert isinstance(query, Query)
    window = query.select.find(TimeWindowNode)
    assert window is not None
    start, end = span(window)
    assert text[start:end] == "[RANGE 1 H SLIDE 1 H]"
    assert str(window) == "[RANGE 1 HOUR SLIDE 1 HOUR]"


JOINED = """
    SELECT f.a, COUNT(*) AS n
    FROM flights [RANGE 6 HOURS SLIDE 5 MINUTES OFFSET 1 MINUTE] AS f
    JOIN (SELECT b FROM weather [RANGE 1 HOUR SLIDE 5 MINUTES]) AS w ON f.a = w.b
    WHERE f.a > 1 GROUP BY f.a"""
JOINED_WINDOWS = {"flights": (6 * HOUR, 5 * MINUTE, MINUTE), "weather": (HOUR, 5 * MINUTE, 0)}


def test_windows_survive_copies_and_rewrites() -> None:
    tree = select(JOINED)
    assert windows(tree) == JOINED_WINDOWS
    assert windows(tree.copy()) == JOINED_WINDOWS
    assert windows(copy.deepcopy(tree)) == JOINED_WINDOWS
    assert windows(pickle.loads(pickle.dumps(tree))) == JOINED_WINDOWS
    renamed = tree.transform(
        lambda node: exp.column("c", node.table) if isinstance(node, exp.Column) else node
    )
    assert windows(renamed) == JOINED_WINDOWS
    schema: dict[str, object] = {"flights": {"a": "int"}, "weather": {"b": "int"}}
    assert windows(qualify(tree.copy(), schema=schema, dialect="spark")) == JOINED_WINDOWS
    assert windows(optimize(tree.copy(), schema=schema, dialect="spark")) == JOINED_WINDOWS


def test_trees_that_differ_in_a_window_differ() -> None:
    one, other = (select(f"SELECT a FROM f [RANGE {n} HOURS SLIDE 1 HOUR]") for n in (1, 2))
    assert one != other
    assert one == select("select a from f [RANGE 60 MINUTES SLIDE 60 MINUTES]")


@given(st.integers(1, LONGEST), st.integers(1, LONGEST), st.integers(0, LONGEST))
def test_any_window_is_read_and_kept(range_: int, slide: int, offset: int) -> None:
    clauses = (
        f"RANGE {format_duration(range_)} SLIDE {format_duration(slide)} OFFSET {format_duration(offset)}"
    )
    tree = select(f"SELECT a FROM f [{clauses}] AS g")
    expected = {"f": (range_, slide, offset)}
    assert windows(tree) == windows(tree.copy()) == windows(tree.transform(lambda node: node)) == expected
    window = tree.find(TimeWindowNode)
    assert windows(select(f"SELECT a FROM f {window}")) == expected
    assert tree.sql(dialect="spark") == "SELECT a FROM f AS g"


@pytest.mark.parametrize(
    ("written", "window"),
    [
        ("[ROWS 100 SLIDE 10]", (100, 10, [])),
        ("[slide 010 rows 1]", (1, 10, [])),
        ("[ROWS 4611686018427387904 SLIDE 1]", (1 << 62, 1, [])),
        ("[PARTITION BY origin ROWS 100 SLIDE 10]", (100, 10, ["origin"])),
        ("[ROWS 100 PARTITION BY f.origin, `odd name` SLIDE 10]", (100, 10, ["f.origin", "`odd name`"])),
        (
            "[partition by lower(a || 'ROWS'), b /* two */\n ROWS 2 SLIDE 3]",
            (2, 3, ["LOWER(a || 'ROWS')", "b"]),
        ),
    ],
)
def test_a_window_of_rows_survives_copies_and_rewrites(
    written: str, window: tuple[int, int, list[str]]
) -> None:
    tree = select(f"SELECT a FROM flights {written} AS f WHERE a > 1")
    assert tree.sql(dialect="spark") == "SELECT a FROM flights AS f WHERE a > 1"
    for copied in (tree, tree.copy(), pickle.loads(pickle.dumps(tree)), tree.transform(lambda node: node)):
        assert row_window(copied) == window
    found = tree.find(RowWindowNode)
    assert found is not None
    assert row_window(select(f"SELECT a FROM flights {found} AS f")) == window


def test_the_places_of_a_window_of_rows_and_of_its_keys() -> None:
    text = "SELECT 1; SELECT a FROM f [PARTITION BY f.k, upper(l) ROWS 5 SLIDE 1] g"
    query = parse(text)[1]
    assert isinstance(query, Query)
    window = query.select.find(RowWindowNode)
    assert window is not None
    places = [span(window), *map(span, window.keys)]
    assert [text[start:end] for start, end in places] == [
        "[PARTITION BY f.k, upper(l) ROWS 5 SLIDE 1]",
        "f.k",
        "upper(l)",
    ]


def test_a_number_too_long_to_be_read_is_too_large() -> None:
    with pytest.raises(StatementError, match=r"at most 2\^62"):
        parse(f"SELECT a FROM f [ROWS {'9' * 5_000} SLIDE 1]")


def test_a_key_may_have_brackets_of_its_own() -> None:
    tree = select("SELECT a FROM flights [PARTITION BY tags['gate'], spots[0] ROWS 3 SLIDE 1] GROUP BY 1")
    assert row_window(tree) == (3, 1, ["tags['gate']", "spots[0]"])

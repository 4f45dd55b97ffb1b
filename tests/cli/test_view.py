"""`windrow view`, and how changes are printed."""

from __future__ import annotations

import re
import sys
from io import StringIO
from types import SimpleNamespace

import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyspark.sql.pandas.types import from_arrow_schema
from rich.console import Console

from tests.changes_at_rest import INSTANT, SECOND, STRICT, TIMES, Changing, Life
from windrow.api.watching import Watch
from windrow.cli.main import main
from windrow.cli.run import show_unnamed
from windrow.cli.terminal import answers_table
from windrow.runtime.home.results import latest_answers

HISTORY = [
    Life(("b", 2.5, [1.0]), 0, 60 * SECOND, 60 * SECOND),
    Life(("a", None, None), 0),
    Life(("c", 1.0, []), 10 * SECOND, 20 * SECOND),
]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home called `home` in the current directory, whose query `open` is answered up to a minute."""
    monkeypatch.chdir(tmp_path)
    changing = Changing(tmp_path / "home", queries=["open"])
    changing.lives(60 * SECOND, HISTORY)
    changing.close()
    return "home"


def typed(*arguments):
    """A command that needs no Spark."""
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


def test_a_view_is_the_rows_that_are_there_up_to_where_the_query_is_answered(home):
    result = typed("view", home, "open")
    assert result.exit_code == 0, result.output
    assert result.stdout == "k\tx\ttags\na\tNULL\tNULL\nb\t2.5\t[1.0]\n"
    assert result.stderr == "open: 2 rows at 1970-01-01 00:00:59.999999\n"


def test_a_view_of_an_earlier_instant(home):
    result = typed("view", home, "OPEN", "--at", "1970-01-01 01:00:15+01:00")
    assert result.stdout.splitlines()[1:] == ["a\tNULL\tNULL", "b\t2.5\t[1.0]", "c\t1.0\t[]"]
    assert typed("view", home, "open", "--at", "1969-12-31").stdout == "k\tx\ttags\n"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["opne"], "error: there is no query 'opne'; did you mean open?\n"),
        (["open", "--at", "noon"], "error: 'noon' is no instant; write it as 2024-01-31 12:00,"),
        (
            ["open", "--at", "1970-01-01 00:01"],
            "error: the answer of query 'open' at 1970-01-01 00:01:00 is not final yet: it is answered before "
            "1970-01-01 00:01:00, and rows of that time may still come\n",
        ),
    ],
)
def test_what_cannot_be_viewed_is_said(home, arguments, error):
    result = typed("view", home, *arguments)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith(error)


def test_where_there_is_no_home_none_is_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "there is no home" in typed("view", "home", "q").stderr
    assert not (tmp_path / "home").exists()


# how changes are printed

CHANGES = [
    {"_op": 1, "_ts": 0, "_exp": 3_600 * SECOND, "k": "a", "x": 2.5},
    {"_op": 1, "_ts": 60 * SECOND, "_exp": None, "k": "b", "x": None},
    {"_op": -1, "_ts": 120 * SECOND, "_exp": 3_600 * SECOND, "k": "a", "x": 2.5},
    {"_op": 1, "_ts": 120 * SECOND, "_exp": 3_600 * SECOND, "k": "a", "x": 3.5},
]


def table_of(changes):
    schema = pa.schema([*TIMES, ("k", pa.string()), ("x", pa.float64())])
    columns = {name: [row[name] for row in changes] for name in schema.names}
    return pa.table(
        [pa.array(columns[f.name], pa.int64()).cast(f.type) if f.type == INSTANT else columns[f.name]
         for f in schema],
        schema=schema,
    )  # fmt: skip


def test_changes_are_signs_with_the_time_first_and_how_long_they_stay_last():
    console = Console(width=80, record=True, file=StringIO())
    console.print(answers_table(table_of(CHANGES)))
    lines = [line.split() for line in console.export_text().splitlines() if line.strip()]
    assert lines[0] == ["at", "k", "x", "until"]
    assert [" ".join(line) for line in lines[2:]] == [
        "+ 1970-01-01 00:00 a 2.5 1970-01-01 01:00",
        "+ 1970-01-01 00:01 b NULL",
        "− 1970-01-01 00:02 a 2.5",
        "+ 1970-01-01 00:02 a 3.5 1970-01-01 01:00",
    ]


def test_a_run_prints_the_last_changes_in_the_order_of_their_time(spark, capsys, monkeypatch):
    table = table_of(CHANGES[::-1])
    engine = SimpleNamespace(
        unnamed_queries=["query_1"],
        status=lambda: SimpleNamespace(queries=[]),
        results=lambda name: spark.createDataFrame(table, from_arrow_schema(table.schema)),
    )
    show_unnamed(engine, 3)
    printed = capsys.readouterr()
    lines = [line.split("\t") for line in printed.out.splitlines()]
    assert lines[0] == ["_op", "_ts", "_exp", "k", "x"]
    assert [(line[0], line[1][-5:]) for line in lines[1:]] == [
        ("1", "01:00"),
        ("-1", "02:00"),
        ("1", "02:00"),
    ]
    assert printed.err == "query_1: the last 3 of 4 changes; --rows 0 prints all\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    show_unnamed(engine, 0)
    printed = capsys.readouterr()
    assert re.search(r"− +1970-01-01 00:02 +a", printed.out)
    assert printed.err.startswith("query_1: 4 changes\n+: a row comes")


def test_a_watch_shows_the_last_changes(tmp_path):
    changing = Changing(tmp_path / "home", STRICT, queries=["open"])
    changing.lives(60 * SECOND, HISTORY)
    watch = Watch("open", 2, lambda: latest_answers(changing.home, "open"))
    watch.look()
    assert str(watch).splitlines() == [
        "open: latest 2 answers",
        "   at                   k    x  tags  until",
        "+  1970-01-01 00:00:10  c  1.0  []",
        "−  1970-01-01 00:00:20  c  1.0  []",
    ]
    assert "−</td>" in watch._repr_html_()
    changing.close()

"""Bad statements: each is refused with the problem, its place, the text underlined and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from windrow.cql import parse
from windrow.errors import StatementError


def bad_statements() -> list[list[str]]:
    """(statement, underline, problem, hint) for every block of the file beside this one."""
    blocks = (Path(__file__).parent / "bad_statements.txt").read_text(encoding="utf-8").strip().split("\n\n")
    return [[*block.split("\n"), ""][:4] for block in blocks if not block.startswith("#")]


BAD = bad_statements()


@pytest.mark.parametrize(
    "before", ["", "SELECT 1; -- one; two\nSELECT a /* ; */ FROM f;\n  "], ids=["", "in a file"]
)
@pytest.mark.parametrize(("statement", "underline", "problem", "hint"), BAD, ids=[block[0] for block in BAD])
def test_a_bad_statement(before: str, statement: str, underline: str, problem: str, hint: str) -> None:
    with pytest.raises(StatementError) as caught:
        parse(before + statement)
    error = caught.value
    assert (error.problem, error.hint) == (problem, hint)
    assert error.text == before + statement
    assert error.line == before.count("\n") + 1
    assert error.column == underline.index("^") + 1 + len(before.split("\n")[-1])
    at_the_end = error.start == error.end == len(error.text)
    assert error.end - error.start == (0 if at_the_end else underline.count("^"))


def test_an_error_shows_its_line_and_underlines_the_place() -> None:
    with pytest.raises(StatementError) as caught:
        parse("SELECT origin\nFROM flights [RANGE 6 HOURS SLIDE 5 MINUTS]\nGROUP BY origin")
    assert str(caught.value).split("\n") == [
        "unknown unit 'MINUTS' (line 2, column 37)",
        "",
        "    FROM flights [RANGE 6 HOURS SLIDE 5 MINUTS]",
        "                                        ^^^^^^",
        "did you mean MINUTES?",
    ]


def test_text_that_never_ends_is_shown_where_it_begins() -> None:
    text = "SELECT 1;\nSELECT 'a,\n b FROM f"
    with pytest.raises(StatementError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (2, 8)
    assert text[caught.value.start : caught.value.end] == "'a,"


@pytest.mark.parametrize("statement", ["SELECT " + "(" * 5000, "CREATE TABLE t (c " + "ARRAY<" * 5000])
def test_deep_nesting_is_an_error_not_a_crash(statement: str) -> None:
    with pytest.raises(StatementError, match="nested too deeply"):
        parse(statement)


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    for statement, *_ in BAD:
        with pytest.raises(StatementError):
            parse(statement)
    parse("SELECT a -> '2013-01-01' FROM f")  # sqlglot has doubts about such a path
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []

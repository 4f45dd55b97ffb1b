"""The window behind a stream's name: `flights [RANGE 6 HOURS SLIDE 5 MINUTES OFFSET 1 MINUTE]`, or one
of rows: `flights [PARTITION BY origin ROWS 100 SLIDE 10]`.

A window is a node of the syntax tree, under the key "window" of its table. It survives copying,
transforming and sqlglot's optimizer; Spark's generator does not know the key and writes the table
without it, which is the plain Spark SQL that the JVM stage runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sqlglot import Token, TokenType, exp

from windrow.cql.cursor import Cursor
from windrow.cql.durations import format_duration
from windrow.cql.row_windows import KEYS, ROWS, RowWindowNode, is_of_rows, read_row_window
from windrow.cql.tokens import span_of
from windrow.errors import StatementError, suggestion

if TYPE_CHECKING:
    from windrow.cql.row_windows import ReadList

CLAUSES = ("RANGE", "SLIDE", "OFFSET")
# Parts of the language that are designed and not built; "syntax error" would be a lie about them.
PLANNED = {
    "UNBOUNDED": "an unbounded window",
    "NOW": "a window of one instant (NOW)",
    "INTERNAL": "an INTERNAL window",
}
EXAMPLE = "[RANGE 6 HOURS SLIDE 5 MINUTES]"
_STOPS = frozenset(CLAUSES) | PLANNED.keys()


class TimeWindowNode(exp.Expression):
    """`[RANGE r SLIDE s OFFSET o]`, in microseconds. Its place is in `meta`, as sqlglot keeps places."""

    arg_types: ClassVar[dict[str, bool]] = {"range": True, "slide": True, "offset": True}

    @property
    def range(self) -> int:
        return int(self.args["range"])

    @property
    def slide(self) -> int:
        return int(self.args["slide"])

    @property
    def offset(self) -> int:
        return int(self.args["offset"])

    def __str__(self) -> str:
        clauses = {"RANGE": self.range, "SLIDE": self.slide} | (
            {"OFFSET": self.offset} if self.offset else {}
        )
        return f"[{' '.join(f'{word} {format_duration(size).upper()}' for word, size in clauses.items())}]"


def window_of(table: exp.Table) -> TimeWindowNode | RowWindowNode | None:
    """The window of a table in a query; None if it has none."""
    window = table.args.get("window")
    return window if isinstance(window, TimeWindowNode | RowWindowNode) else None


def read_window(
    text: str, tokens: list[Token], read_list: ReadList
) -> tuple[TimeWindowNode | RowWindowNode, int]:
    """Read the window at the start of `tokens`, which begin with `[`: the node and its token count.

    `read_list` reads expressions with commas between them.
    """
    opening, count = tokens[0], _closing(text, tokens)
    start, end = opening.start, tokens[count - 1].end + 1
    cursor = Cursor(text, tokens[1 : count - 1])
    window = (
        read_row_window(cursor, (start, end), read_list)
        if is_of_rows(cursor)
        else _read_time_window(cursor, (start, end))
    )
    # sqlglot's own convention: the end is the last character, not the one behind it.
    window.meta.update(line=opening.line, col=opening.col, start=start, end=end - 1)
    return window, count


def _read_time_window(cursor: Cursor, span: tuple[int, int]) -> TimeWindowNode:
    text = cursor.text
    sizes: dict[str, int] = {}
    while cursor.current is not None:
        clause = cursor.word()
        _refuse_unknown(cursor, clause)
        if clause.lower() in sizes:
            raise cursor.error(f"{clause} is given twice", f"keep one {clause}")
        cursor.advance()
        if cursor.current is None:
            # Without its "]" the cursor would say that the statement ends here, which is not so.
            problem = f"{clause} needs a duration"
            raise StatementError(problem, text, *span_of(cursor.previous), f"such as {clause} 5 MINUTES")
        sizes[clause.lower()] = cursor.duration(clause, _STOPS, EXAMPLE, zero=clause == "OFFSET")
    if "range" not in sizes:
        problem = "SLIDE and OFFSET need a RANGE" if sizes else "this window is empty"
        raise StatementError(problem, text, *span, f"write it as {EXAMPLE}")
    if "slide" not in sizes:
        problem = "a window without SLIDE (a continuous query) is not supported yet"
        raise StatementError(problem, text, *span, f"add a SLIDE, as in {EXAMPLE}")
    return TimeWindowNode(range=sizes["range"], slide=sizes["slide"], offset=sizes.get("offset", 0))


def _closing(text: str, tokens: list[Token]) -> int:
    """How many tokens the window has, brackets included; an expression in it may have its own."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.token_type == TokenType.L_BRACKET) - (token.token_type == TokenType.R_BRACKET)
        if depth == 0:
            return index + 1
    raise StatementError(
        "this window is never closed", text, *span_of(tokens[0]), f"end it with ], as in {EXAMPLE}"
    )


def _refuse_unknown(cursor: Cursor, clause: str) -> None:
    if clause in PLANNED:
        raise cursor.error(f"{PLANNED[clause]} is not supported yet", f"use a time window: {EXAMPLE}")
    if clause == ",":
        raise cursor.error("the parts of a window are not separated by commas", f"as in {EXAMPLE}")
    if clause not in CLAUSES:
        hint = suggestion(clause, [*CLAUSES, ROWS, KEYS]) or f"a window is written as {EXAMPLE}"
        raise cursor.expected("RANGE, SLIDE or OFFSET", hint)

"""The window behind a stream's name: `flights [RANGE 6 HOURS SLIDE 5 MINUTES OFFSET 1 MINUTE]`, or one
of rows: `flights [PARTITION BY origin ROWS 100 SLIDE 10]`.

Without SLIDE a window of time is continuous: it is answered whenever it changes. `[NOW]` is the shortest
window there is, `[UNBOUNDED]` one that rows never leave; rows leave an INTERNAL window, and results do not.

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
NOW, UNBOUNDED, INTERNAL = "NOW", "UNBOUNDED", "INTERNAL"
WORDS = (*CLAUSES, NOW, UNBOUNDED, INTERNAL)
INSTANT = 1
"""How long a row is in a window of NOW: one microsecond, the time from an instant to the next."""
EXAMPLE = "[RANGE 6 HOURS SLIDE 5 MINUTES]"
_STOPS = frozenset(WORDS)


class TimeWindowNode(exp.Expression):
    """`[RANGE r SLIDE s OFFSET o INTERNAL]`, in microseconds. Its place is in `meta`, as sqlglot keeps
    places."""

    arg_types: ClassVar[dict[str, bool]] = {"range": False, "slide": False, "offset": True, "internal": True}

    @property
    def range(self) -> int | None:
        """How long a row is in it; None: for ever."""
        return _whole(self.args.get("range"))

    @property
    def slide(self) -> int | None:
        """The time between two evaluations; None: it is continuous."""
        return _whole(self.args.get("slide"))

    @property
    def offset(self) -> int:
        """When evaluations are, beside multiples of the slide."""
        return int(self.args["offset"])

    @property
    def internal(self) -> bool:
        """Whether results stay when the rows that they are of leave the window."""
        return bool(self.args["internal"])

    def __str__(self) -> str:
        sizes = {"RANGE": self.range, "SLIDE": self.slide, "OFFSET": self.offset or None}
        words = [
            f"{word} {format_duration(size).upper()}" for word, size in sizes.items() if size is not None
        ]
        if self.range is None:
            words.insert(0, UNBOUNDED)
        elif self.range == INSTANT:
            words[0] = NOW
        return f"[{' '.join([*words, *[INTERNAL][: self.internal]])}]"


def _whole(value: object) -> int | None:
    """An argument that may be missing: a tree that was pickled has none that are None."""
    return None if value is None else int(str(value))


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
    sizes: dict[str, int | None] = {}
    internal = False
    while cursor.current is not None:
        clause = cursor.word()
        _refuse_unknown(cursor, clause)
        kind = "range" if clause in (NOW, UNBOUNDED) else clause.lower()
        if kind in sizes or (clause == INTERNAL and internal):
            twice = "a window has one length" if kind == "range" else f"{clause} is given twice"
            raise cursor.error(twice, "keep one of them" if kind == "range" else f"keep one {clause}")
        cursor.advance()
        if clause == INTERNAL:
            internal = True
            continue
        if clause in (NOW, UNBOUNDED) or (clause == "RANGE" and cursor.take(UNBOUNDED)):
            sizes[kind] = INSTANT if clause == NOW else None
            continue
        if clause == "RANGE" and cursor.take(NOW):
            first = cursor.tokens[cursor.index - 2]
            raise cursor.error("NOW is a length of its own: one instant", "write [NOW]", first)
        if cursor.current is None:
            # Without its "]" the cursor would say that the statement ends here, which is not so.
            problem = f"{clause} needs a duration"
            raise StatementError(problem, text, *span_of(cursor.previous), f"such as {clause} 5 MINUTES")
        sizes[kind] = cursor.duration(clause, _STOPS, EXAMPLE, zero=clause == "OFFSET")
    if "range" not in sizes:
        given = [word for word in CLAUSES if word.lower() in sizes] + [INTERNAL][:internal]
        needs = f"{' and '.join(given)} {'needs' if len(given) == 1 else 'need'} a RANGE"
        raise StatementError(
            needs if given else "this window is empty", text, *span, f"write it as {EXAMPLE}"
        )
    if "offset" in sizes and "slide" not in sizes:
        problem = "an OFFSET says when a window with SLIDE is evaluated, and this one has none"
        raise StatementError(problem, text, *span, f"add a SLIDE, as in {EXAMPLE}, or leave OFFSET out")
    return TimeWindowNode(
        range=sizes["range"], slide=sizes.get("slide"), offset=sizes.get("offset", 0), internal=internal
    )


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
    if clause == ",":
        raise cursor.error("the parts of a window are not separated by commas", f"as in {EXAMPLE}")
    if clause == "EXTERNAL":
        raise cursor.error("a window is external unless it says INTERNAL", "leave EXTERNAL out")
    if clause == "RESTORE":
        raise cursor.error("RESTORE is not supported yet", "leave it out")
    if clause not in WORDS:
        hint = suggestion(clause, [*WORDS, ROWS, KEYS]) or f"a window is written as {EXAMPLE}"
        raise cursor.expected("RANGE, NOW, UNBOUNDED, SLIDE, OFFSET or INTERNAL", hint)

"""A window of rows: `[ROWS 100 SLIDE 10]`, for each key `[PARTITION BY origin ROWS 100 SLIDE 10]`.

The clauses come in any order, as those of a time window do.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from sqlglot import Token, TokenType, exp

from windrow.cql.durations import UNITS
from windrow.cql.tokens import span_of
from windrow.errors import StatementError, suggestion

if TYPE_CHECKING:
    from windrow.cql.cursor import Cursor

ROWS, SLIDE, KEYS = "ROWS", "SLIDE", "PARTITION BY"
OF_TIME = ("RANGE", "OFFSET")
EXAMPLE = "[ROWS 100 SLIDE 10]"
PER_KEY = "[PARTITION BY origin ROWS 100 SLIDE 10]"
MOST = 1 << 62
"""So that row numbers can be added and subtracted in 64 bits."""

_NUMBER_AND_UNIT = re.compile(r"(\d+)([A-Za-z]+)")

ReadList = Callable[[list[Token]], list[exp.Expr]]


class RowWindowNode(exp.Expression):
    """`[PARTITION BY keys ROWS n SLIDE m]`. Its place is in `meta`, as sqlglot keeps places."""

    arg_types: ClassVar[dict[str, bool]] = {"rows": True, "slide": True, "expressions": False}

    @property
    def rows(self) -> int:
        return int(self.args["rows"])

    @property
    def slide(self) -> int:
        return int(self.args["slide"])

    @property
    def keys(self) -> list[exp.Expr]:
        """The expressions behind PARTITION BY; none if the window is over all rows."""
        return list(self.expressions)

    def __str__(self) -> str:
        keys = ", ".join(key.sql(dialect="spark", comments=False) for key in self.keys)
        return f"[{f'{KEYS} {keys} ' if keys else ''}ROWS {self.rows} SLIDE {self.slide}]"


def is_of_rows(cursor: Cursor) -> bool:
    """Whether the window under the cursor counts rows."""
    return any(cursor.word(ahead) in (ROWS, KEYS) for ahead in range(len(cursor.tokens)))


def read_row_window(cursor: Cursor, span: tuple[int, int], read_list: ReadList) -> RowWindowNode:
    """Read the clauses between the brackets; `span` is the place of the whole window."""
    given: dict[str, int] = {}
    keys: list[exp.Expr] = []
    while cursor.current is not None:
        clause = cursor.word()
        if clause in given or (clause == KEYS and keys):
            raise cursor.error(f"{clause} is given twice", f"keep one {clause}")
        if clause in (ROWS, SLIDE):
            cursor.advance()
            given[clause] = _count(cursor, clause)
        elif clause == KEYS:
            cursor.advance()
            keys = _keys(cursor, read_list)
        else:
            raise _unknown(cursor, clause, given)
    if ROWS not in given:
        raise StatementError(f"{KEYS} needs ROWS", cursor.text, *span, f"write it as {PER_KEY}")
    if SLIDE not in given:
        problem = "a window of ROWS without SLIDE is not supported yet"
        raise StatementError(problem, cursor.text, *span, f"add a SLIDE, as in {EXAMPLE}")
    return RowWindowNode(rows=given[ROWS], slide=given[SLIDE], expressions=keys)


def _keys(cursor: Cursor, read_list: ReadList) -> list[exp.Expr]:
    first, depth = cursor.index, 0
    while cursor.current is not None and (depth or cursor.word() not in (ROWS, SLIDE, KEYS, *OF_TIME)):
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(cursor.current.token_type, 0)
        cursor.advance()
    taken = cursor.tokens[first : cursor.index]
    if not taken:
        problem = f"{KEYS} needs the columns that make a key"
        raise StatementError(problem, cursor.text, *span_of(cursor.previous), f"as in {PER_KEY}")
    if taken[-1].token_type == TokenType.COMMA:  # which sqlglot would pass over
        raise StatementError("a key is missing behind this comma", cursor.text, *span_of(taken[-1]))
    return read_list(taken)


def _count(cursor: Cursor, clause: str) -> int:
    """Take the number of rows that follows ROWS or SLIDE."""
    such_as = f"such as {clause} {100 if clause == ROWS else 10}"
    if cursor.current is None:
        # Without its "]" the cursor would say that the statement ends here, which is not so.
        problem = f"{clause} needs a number of rows"
        raise StatementError(problem, cursor.text, *span_of(cursor.previous), such_as)
    first = cursor.current
    negative = cursor.take_type(TokenType.DASH)
    number_token = cursor.tokens[cursor.index : cursor.index + 1]
    written = cursor.source(number_token[0]) if number_token else ""
    if not written[:1].isdigit():
        cursor.index -= negative
        raise cursor.error(f"{clause} needs a number of rows but {cursor.found()}", such_as)
    cursor.advance()
    number, unit = written, cursor.word()
    together = _NUMBER_AND_UNIT.fullmatch(written)  # 5MINUTES is one token
    if together is not None and together[2].upper() in UNITS:
        number, unit = together[1], together[2].upper()
    elif unit in UNITS:
        cursor.advance()
    if unit in UNITS:
        problem = "ROWS counts rows, not time" if clause == ROWS else "a window of ROWS slides by rows"
        hint = f"did you mean RANGE {number} {unit}?" if clause == ROWS else such_as
        raise cursor.error(problem, hint, first)
    if not number.isdecimal():
        raise cursor.error(f"{clause} needs a whole number of rows", such_as, first)
    number = number.lstrip("0")
    if negative or not number:
        raise cursor.error(f"{clause} must be at least 1", such_as, first)
    if len(number) > len(str(MOST)) or int(number) > MOST:  # Python reads no number of 5,000 digits
        raise cursor.error(f"{clause} can be at most 2^62", such_as, first)
    return int(number)


def _unknown(cursor: Cursor, clause: str, given: dict[str, int]) -> StatementError:
    if clause == "RANGE":
        problem, hint = "a window is of time (RANGE) or of rows (ROWS), not both", "keep one of them"
        if ROWS not in given and not any(cursor.word(ahead) == ROWS for ahead in range(len(cursor.tokens))):
            problem, hint = f"{KEYS} is for windows of ROWS", "for a time window of each key, GROUP BY it"
        return cursor.error(problem, hint)
    if clause == "OFFSET":
        return cursor.error("a window of ROWS has no OFFSET: it counts from the first row", "leave it out")
    if clause == "INTERNAL":
        return cursor.error("a window of ROWS cannot be INTERNAL", "leave INTERNAL out")
    if clause == ",":
        return cursor.error("the parts of a window are not separated by commas", f"as in {EXAMPLE}")
    hint = suggestion(clause, (ROWS, SLIDE, KEYS)) or f"a window of rows is written as {EXAMPLE}"
    return cursor.expected("ROWS, SLIDE or PARTITION BY", hint)

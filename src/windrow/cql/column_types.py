"""Column types: the part of Spark's grammar that a column list may use, nested types included.

sqlglot reads types too (`checks/result_types.py` lets it), but what it makes of them is not enough for a
column list, whose errors say what is wrong, where, and what to do:

- It takes the types of twenty dialects. What Spark does not know (TEXT, UUID, INT(4)), and what says too
  little or too much (ARRAY, MAP<INT>, DECIMAL(4, 5), a field twice), must be refused here, where its place is
  known, and not later by the JVM; sqlglot's tree has neither places nor words: LONG is BIGINT in it.
- It refuses STRUCT<>, writes TIME as TIMESTAMP, and makes a STRING of a CHAR without a length.

To find the places for its tree, the tokens would have to be read all the same. The tables were checked
against `DataType.fromDDL` of Spark 4.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import TokenType

from windrow.columns import quoted
from windrow.errors import StatementError, suggestion

if TYPE_CHECKING:
    from sqlglot import Token

    from windrow.cql.cursor import Cursor

PLAIN = frozenset(
    {
        *("BOOLEAN", "BYTE", "TINYINT", "SHORT", "SMALLINT", "INT", "INTEGER", "LONG", "BIGINT"),
        *("FLOAT", "REAL", "DOUBLE", "STRING", "BINARY", "VARIANT"),
        *("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"),
    }
)
DECIMALS = frozenset({"DECIMAL", "DEC", "NUMERIC"})
SIZED = frozenset({"CHAR", "CHARACTER", "VARCHAR"})
NESTED = frozenset({"ARRAY", "MAP", "STRUCT"})

_ALL = PLAIN | DECIMALS | SIZED | NESTED
# What other databases call them; too far from Spark's names to be found by spelling.
_ELSEWHERE = {
    "BOOL": "BOOLEAN",
    "TEXT": "STRING",
    "NUMBER": "DECIMAL",
    "DATETIME": "TIMESTAMP",
    "INT2": "SMALLINT",
    "INT4": "INT",
    "INT8": "BIGINT",
    "FLOAT4": "FLOAT",
    "FLOAT8": "DOUBLE",
    "BYTES": "BINARY",
}
_LARGEST_PRECISION = 38


def read_type(cursor: Cursor) -> str:
    """Take a type and give it as Spark SQL, normalised: capitals, and a space after `,` and `:`."""
    token, word = cursor.current, cursor.word()
    if token is None or not word.isidentifier():
        raise cursor.expected("a type", "a column is written as name TYPE, such as value DOUBLE")
    if word not in _ALL:
        if word == "INTERVAL":
            raise cursor.error("INTERVAL columns are not supported", "a length of time fits in a BIGINT")
        hint = suggested_type(word) or "types are Spark SQL's, such as STRING or DECIMAL(10, 2)"
        raise cursor.error(f"unknown type '{token.text}'", hint)
    cursor.advance()
    if word in DECIMALS:
        return word + _decimal_size(cursor)
    if word in SIZED:
        return f"{word}({_length(cursor, word, token)})"
    if word == "ARRAY":
        _open(cursor, "ARRAY<INT>", token)
        inner = read_type(cursor)
        return f"ARRAY<{inner}{_close(cursor)}"
    if word == "MAP":
        _open(cursor, "MAP<STRING, INT>", token)
        key = read_type(cursor)
        if not cursor.take_type(TokenType.COMMA):
            raise cursor.expected("a comma and the type of the map's values", "such as MAP<STRING, INT>")
        return f"MAP<{key}, {read_type(cursor)}{_close(cursor)}"
    if word == "STRUCT":
        return _struct(cursor, token)
    return word


def suggested_type(word: str) -> str:
    """A hint for a type that Spark does not know: misspelled, or another database's.

    >>> suggested_type("STRNG"), suggested_type("text")
    ('did you mean STRING?', 'did you mean STRING?')
    """
    meant = _ELSEWHERE.get(word.upper())
    return f"did you mean {meant}?" if meant else suggestion(word, sorted(_ALL))


def _open(cursor: Cursor, example: str, token: Token) -> None:
    if not cursor.take_type(TokenType.LT):
        raise cursor.error(f"{token.text} does not say of what", f"such as {example}", first=token)


def _close(cursor: Cursor) -> str:
    if not cursor.take_type(TokenType.GT):
        raise cursor.expected("'>'", "close the type with >")
    return ">"


def _struct(cursor: Cursor, token: Token) -> str:
    if cursor.take_type(TokenType.NEQ):  # STRUCT<>: the tokenizer sees "not equal"
        return "STRUCT<>"
    _open(cursor, "STRUCT<x: INT, y: INT>", token)
    fields: dict[str, str] = {}
    while True:
        field = cursor.current
        name = cursor.name("a field's name")
        if field is not None and name.lower() in fields:
            raise cursor.error(f"field '{name}' is there twice", "rename one of the two", first=field)
        cursor.take_type(TokenType.COLON)
        fields[name.lower()] = f"{field_name(name)}: {read_type(cursor)}"
        if not cursor.take_type(TokenType.COMMA):
            return f"STRUCT<{', '.join(fields.values())}{_close(cursor)}"


def field_name(name: str) -> str:
    """The name of a field in the text of a type: in backquotes unless it is plain.

    >>> field_name("dep_delay"), field_name("dep delay")
    ('dep_delay', '`dep delay`')
    """
    return name if name.isidentifier() and name.isascii() else quoted(name)


def _whole_number(cursor: Cursor, what: str) -> int:
    token = cursor.current
    if token is None or token.token_type != TokenType.NUMBER or not token.text.isdecimal():
        raise cursor.expected(what)
    cursor.advance()
    if len(token.text) > 9:
        raise StatementError(f"{what} is too large", cursor.text, token.start, token.end + 1)
    return int(token.text)


def _close_parenthesis(cursor: Cursor) -> None:
    if not cursor.take_type(TokenType.R_PAREN):
        raise cursor.expected("')'", "close the parenthesis")


def _decimal_size(cursor: Cursor) -> str:
    """`(precision[, scale])`, or nothing: Spark then takes (10, 0)."""
    opening = cursor.current
    if not cursor.take_type(TokenType.L_PAREN):
        return ""
    precision = _whole_number(cursor, "the number of digits")
    scale = 0
    if cursor.take_type(TokenType.COMMA):
        scale = _whole_number(cursor, "the number of digits after the point")
    _close_parenthesis(cursor)
    if not 1 <= precision <= _LARGEST_PRECISION:
        hint = "DECIMAL(38, s) is the widest"
        raise cursor.error(f"a decimal has 1 to {_LARGEST_PRECISION} digits, not {precision}", hint, opening)
    if scale > precision:
        problem = f"a decimal of {precision} digits cannot have {scale} after the point"
        raise cursor.error(problem, "DECIMAL(10, 2) has 10 digits, 2 of them after the point", opening)
    return f"({precision}, {scale})"


def _length(cursor: Cursor, word: str, token: Token) -> int:
    if not cursor.take_type(TokenType.L_PAREN):
        raise cursor.error(f"{token.text} needs a length", f"such as {word}(10), or use STRING", first=token)
    length = _whole_number(cursor, "a length")
    _close_parenthesis(cursor)
    return length

"""`CREATE STREAM` and `CREATE TABLE`: where rows come from and what is known about their time.

The clauses behind the path may come in any order, each at most once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from sqlglot import TokenType

from windrow.cql.column_types import read_type
from windrow.cql.statements import CreateStream, CreateTable
from windrow.cql.tokens import span_of
from windrow.errors import StatementError, suggestion

if TYPE_CHECKING:
    from windrow.cql.cursor import Cursor
    from windrow.cql.statements import Format, Span

FORMATS = ("PARQUET", "CSV", "JSON")
EXAMPLES = {
    "OPTIONS": "OPTIONS (header 'true')",
    "TIMESTAMP": "TIMESTAMP ts",
    "DELAY": "DELAY 5 MINUTES",
    "SKEW": "SKEW 1 HOUR",
    "IDLE TIMEOUT": "IDLE TIMEOUT 5 MINUTES",
    "RETAIN": "RETAIN 30 DAYS",
    "MAX DEAD": "MAX DEAD 100",
}
STREAM_CLAUSES = tuple(EXAMPLES)
TABLE_CLAUSES = ("OPTIONS",)
LARGEST_COUNT = 2**63 - 1  # a BIGINT, as which rows are counted
_STOPS = frozenset(word for clause in STREAM_CLAUSES for word in clause.split())
_MAY_BE_ZERO = frozenset({"DELAY", "SKEW"})
_MISSING_SEMICOLON = "if a new statement begins here, end the one before it with ;"
_COLUMNS_EXAMPLE = "such as (ts TIMESTAMP, sensor STRING, value DOUBLE)"


@dataclass
class _Source:
    """What streams and tables have in common."""

    name: str
    name_span: Span
    columns: tuple[tuple[str, str], ...] | None
    column_spans: tuple[Span, ...]
    format: Format
    format_span: Span
    path: str
    path_span: Span


def create_stream(cursor: Cursor) -> CreateStream:
    """The rest of the statement behind `CREATE STREAM`."""
    source = _source(cursor, "stream")
    if source.columns is None and source.format != "parquet":
        # Spark's streaming reader does not look into the files before it starts.
        kind = source.format.upper()
        raise StatementError(
            f"a stream of {kind} files must declare its columns: the files do not say their types",
            cursor.text,
            *source.format_span,
            f"write CREATE STREAM {source.name} (ts TIMESTAMP, …) FROM {kind} …",
        )
    options: dict[str, str] = {}
    timestamp, timestamp_span = "", (0, 0)
    sizes: dict[str, int] = {}
    seen: set[str] = set()
    while cursor.current is not None:
        clause = _clause(cursor, STREAM_CLAUSES, seen)
        if clause == "OPTIONS":
            options = _options(cursor)
        elif clause == "TIMESTAMP":
            timestamp = cursor.name("the column that holds the event time", f"such as {EXAMPLES[clause]}")
            timestamp_span = span_of(cursor.previous)
        elif clause == "MAX DEAD":
            sizes[clause] = _max_dead(cursor)
        else:
            sizes[clause] = cursor.duration(clause, _STOPS, EXAMPLES[clause], zero=clause in _MAY_BE_ZERO)
    if not timestamp:
        hint = "say which column holds the event time, such as TIMESTAMP ts"
        raise cursor.error(f"stream {source.name} has no TIMESTAMP clause", hint)
    _check_declared(cursor.text, timestamp, timestamp_span, source.columns)
    return CreateStream(
        name=source.name,
        columns=source.columns,
        format=source.format,
        path=source.path,
        options=options,
        timestamp=timestamp,
        delay=sizes.get("DELAY", 0),
        skew=sizes.get("SKEW"),
        idle_timeout=sizes.get("IDLE TIMEOUT"),
        retain=sizes.get("RETAIN"),
        max_dead=sizes.get("MAX DEAD"),
        text=cursor.text,
        start=cursor.tokens[0].start,
        end=cursor.tokens[-1].end + 1,
        name_span=source.name_span,
        path_span=source.path_span,
        timestamp_span=timestamp_span,
        column_spans=source.column_spans,
    )


def create_table(cursor: Cursor) -> CreateTable:
    """The rest of the statement behind `CREATE TABLE`."""
    source = _source(cursor, "table")
    options: dict[str, str] = {}
    seen: set[str] = set()
    while cursor.current is not None:
        _clause(cursor, TABLE_CLAUSES, seen)
        options = _options(cursor)
    return CreateTable(
        name=source.name,
        columns=source.columns,
        format=source.format,
        path=source.path,
        options=options,
        text=cursor.text,
        start=cursor.tokens[0].start,
        end=cursor.tokens[-1].end + 1,
        name_span=source.name_span,
        path_span=source.path_span,
        column_spans=source.column_spans,
    )


def _source(cursor: Cursor, kind: str) -> _Source:
    """`name [(columns)] FROM format 'path'`."""
    if cursor.at("IF", "NOT", "EXISTS"):
        raise cursor.error("IF NOT EXISTS is not supported", "leave it out", count=3)
    name = cursor.name(f"the {kind}'s name", f"such as CREATE {kind.upper()} flights FROM PARQUET 'flights/'")
    name_span = span_of(cursor.previous)
    columns, column_spans = _columns(cursor) if cursor.next_is(TokenType.L_PAREN) else (None, ())
    if not cursor.take("FROM"):
        what = "FROM" if columns is not None else "FROM or a column list"
        raise cursor.expected(what, suggestion(cursor.word(), ["FROM"]) or "such as FROM PARQUET 'flights/'")
    if cursor.word() not in FORMATS:
        hint = suggestion(cursor.word(), FORMATS) or "such as FROM PARQUET 'flights/'"
        raise cursor.expected("PARQUET, CSV or JSON", hint)
    file_format = cast("Format", cursor.word().lower())
    format_span = span_of(cursor.advance())
    path = cursor.string("the path", "'flights/'")
    path_span = span_of(cursor.previous)
    if not path.strip():
        raise StatementError("the path is empty", cursor.text, *path_span, "such as 'flights/'")
    return _Source(name, name_span, columns, column_spans, file_format, format_span, path, path_span)


def _columns(cursor: Cursor) -> tuple[tuple[tuple[str, str], ...], tuple[Span, ...]]:
    """`(name TYPE, …)`."""
    cursor.advance()
    columns: list[tuple[str, str]] = []
    spans: list[Span] = []
    while True:
        first = cursor.current
        name = cursor.name("a column's name", _COLUMNS_EXAMPLE)
        if name.lower() in (column.lower() for column, _ in columns):
            raise cursor.error(f"column '{name}' is declared twice", "rename or remove one of the two", first)
        column_type = read_type(cursor)
        columns.append((name, column_type))
        if first is not None:
            spans.append(span_of(first, cursor.previous))
        if cursor.take_type(TokenType.R_PAREN):
            return tuple(columns), tuple(spans)
        if cursor.at("NOT", "NULL"):
            hint = "leave it out: a row without a timestamp is a dead letter, any other column may be null"
            raise cursor.error("NOT NULL is not supported in a column list", hint, count=2)
        if not cursor.take_type(TokenType.COMMA):
            raise cursor.expected(
                "a comma or ')' after the column", f"columns are written {_COLUMNS_EXAMPLE}"
            )


def _clause(cursor: Cursor, clauses: tuple[str, ...], seen: set[str]) -> str:
    """Take the words that begin a clause; refuse what is not one, and what is there already."""
    if cursor.at("NON", "RETROACTIVE"):
        hint = "leave it out: the table is then an ordinary relation"
        raise cursor.error("NON RETROACTIVE is not supported yet", hint, count=2)
    first = cursor.word()
    begins = {clause.split()[0]: clause for clause in STREAM_CLAUSES}
    clause = begins.get(first, "")
    words = clause.split()
    if clause not in clauses:
        if clause:
            raise cursor.error(
                f"a table has no {clause}", "leave it out, or create a stream", count=len(words)
            )
        hint = "clauses are not separated by commas" if first == "," else _MISSING_SEMICOLON
        what = " or ".join(filter(None, [", ".join(clauses[:-1]), clauses[-1]]))
        # A clause of two words may be meant by either, or by both in one.
        known = [*clauses, *(word for word, begun in begins.items() if begun in clauses)]
        raise cursor.expected(what, suggestion(first, known) or hint)
    if clause in seen:
        raise cursor.error(f"{clause} is given twice", f"keep one {clause}", count=len(words))
    seen.add(clause)
    for index, word in enumerate(words):
        if not cursor.take(word):
            hint = suggestion(cursor.word(), [word]) or f"such as {EXAMPLES[clause]}"
            raise cursor.expected(f"{word} after {words[index - 1]}", hint)
    return clause


def _max_dead(cursor: Cursor) -> int:
    """A whole number; at 0 the first dead letter stops the stream."""
    first = cursor.current
    sign = cursor.take_type(TokenType.DASH)
    written = cursor.source(cursor.current) if cursor.current else ""
    if not written[:1].isdigit():
        cursor.index -= sign
        hint = "write it without quotes" if written[:1] in ("'", '"') else f"such as {EXAMPLES['MAX DEAD']}"
        raise cursor.error(f"MAX DEAD needs a number but {cursor.found()}", hint)
    if not (written.isascii() and written.isdecimal()):
        hint = f"write it in digits alone, such as {EXAMPLES['MAX DEAD']}"
        raise cursor.error(f"MAX DEAD is a whole number, not {written}", hint)
    cursor.advance()
    if sign:
        raise cursor.error("MAX DEAD cannot be negative", "leave out the -", first)
    # Length first: Python does not make a number of thousands of digits.
    if len(written) > len(str(LARGEST_COUNT)) or int(written) > LARGEST_COUNT:
        hint = "leave it out: dead letters then never stop the stream"
        raise cursor.error(f"MAX DEAD is at most {LARGEST_COUNT}", hint, first)
    return int(written)


def _options(cursor: Cursor) -> dict[str, str]:
    """`(key 'value', …)`. As in Spark, `=` may stand between the two, and keys may be dotted or quoted."""
    example = f"such as {EXAMPLES['OPTIONS']}"
    if not cursor.take_type(TokenType.L_PAREN):
        raise cursor.expected("'(' after OPTIONS", example)
    options: dict[str, str] = {}
    while True:
        first = cursor.current
        key = _option_key(cursor, example)
        if key.lower() in (known.lower() for known in options):
            raise cursor.error(f"option '{key}' is given twice", "keep one of the two", first)
        cursor.take_type(TokenType.EQ)
        options[key] = _option_value(cursor, key)
        if cursor.take_type(TokenType.R_PAREN):
            return options
        if not cursor.take_type(TokenType.COMMA):
            raise cursor.expected("a comma or ')' after the option", example)


def _option_key(cursor: Cursor, example: str) -> str:
    parts: list[str] = []
    while True:
        token = cursor.current
        if token is None or not (cursor.word().isidentifier() or (token.text and not cursor.word())):
            raise cursor.expected("an option's name", example)
        parts.append(token.text)
        cursor.advance()
        if not cursor.take_type(TokenType.DOT):
            return ".".join(parts)


def _option_value(cursor: Cursor, key: str) -> str:
    """A string; a number or a truth value may go without quotes, as in Spark."""
    if cursor.next_is(TokenType.NUMBER):
        return cursor.advance().text
    if cursor.word() in ("TRUE", "FALSE"):
        return cursor.advance().text.lower()
    return cursor.string(f"the value of option {key}", f"{key} 'true'")


def _check_declared(
    text: str, timestamp: str, place: Span, columns: tuple[tuple[str, str], ...] | None
) -> None:
    if columns is None:
        return
    names = [name for name, _ in columns]
    if timestamp.lower() not in (name.lower() for name in names):
        hint = suggestion(timestamp, names) or f"the columns are {', '.join(names)}"
        raise StatementError(
            f"TIMESTAMP names a column that is not declared: '{timestamp}'", text, *place, hint
        )

"""Query text to statements: which kind each one is, and the queries among them.

    split into tokens ──► CREATE STREAM | CREATE TABLE ──► create.py
                     └──► CREATE QUERY … AS SELECT | SELECT ──► sqlglot, with our dialect

Parts of the language that are designed and not built yet are refused by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import TokenType, exp

from windrow.cql.create import EXAMPLES, create_stream, create_table
from windrow.cql.cursor import Cursor
from windrow.cql.deliveries import INSTEAD_OF_WSTREAM, with_deliveries_marked
from windrow.cql.deliveries import WORDS as DELIVERIES
from windrow.cql.dialect import Cql, CqlParser
from windrow.cql.durations import format_duration
from windrow.cql.spans import span
from windrow.cql.statements import Query
from windrow.cql.tokens import span_of, split
from windrow.errors import StatementError, suggestion

if TYPE_CHECKING:
    from windrow.cql.statements import Span, Statement

KINDS = ("STREAM", "TABLE", "QUERY")
STARTS = "statements start with CREATE STREAM, CREATE TABLE, CREATE QUERY or SELECT"
# Where the duration of a RETAIN ends even if its unit, or the AS behind it, was forgotten.
_BEHIND_RETAIN = frozenset({"RETAIN", "AS", "SELECT", "WITH"})
# Spark refuses a statement in which nothing follows one of these; sqlglot reads over it.
_OPEN = frozenset(
    {TokenType.COMMA, TokenType.ON, TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.IN, TokenType.USING}
)
_END_OF_CLAUSE = frozenset(
    {
        TokenType.COMMA,
        TokenType.FROM,
        TokenType.WHERE,
        TokenType.GROUP_BY,
        TokenType.HAVING,
        TokenType.ORDER_BY,
        TokenType.R_PAREN,
    }
)


def parse(text: str) -> list[Statement]:
    """The statements of `text`, in order. Raises a StatementError at the first thing that is wrong.

    >>> stream, query = parse('''
    ...     CREATE STREAM flights FROM PARQUET 'flights/' TIMESTAMP ts DELAY 10 MINUTES;
    ...     SELECT origin, AVG(dep_delay) FROM flights [RANGE 6 HOURS SLIDE 5 MINUTES] GROUP BY origin''')
    >>> stream.name, stream.delay
    ('flights', 600000000)
    >>> query.select.sql(dialect="spark")
    'SELECT origin, AVG(dep_delay) FROM flights GROUP BY origin'
    """
    return [_statement(Cursor(text, tokens)) for tokens in split(text)]


def _statement(cursor: Cursor) -> Statement:
    try:
        if cursor.take("CREATE"):
            return _create(cursor)
        return _query(cursor)
    except RecursionError as error:
        raise StatementError(
            "the statement is nested too deeply", cursor.text, *span_of(cursor.tokens[0]), "simplify it"
        ) from error


def _create(cursor: Cursor) -> Statement:
    if cursor.at("OR", "REPLACE"):
        raise cursor.error("OR REPLACE is not supported", "drop the old one first", count=2)
    kind = cursor.word()
    if kind not in KINDS:
        hint = suggestion(kind, KINDS) or "such as CREATE STREAM flights FROM PARQUET 'flights/' TIMESTAMP ts"
        raise cursor.expected("STREAM, TABLE or QUERY after CREATE", hint)
    cursor.advance()
    if kind == "STREAM":
        return create_stream(cursor)
    if kind == "TABLE":
        return create_table(cursor)
    return _create_query(cursor)


def _create_query(cursor: Cursor) -> Query:
    """The rest of the statement behind `CREATE QUERY`."""
    name = cursor.name("the query's name", "such as CREATE QUERY delays AS SELECT …")
    name_span = span_of(cursor.previous)
    if not cursor.take("RETAIN"):
        if not cursor.take("AS"):
            hint = suggestion(cursor.word(), ["RETAIN"]) or f"write CREATE QUERY {name} AS SELECT …"
            raise cursor.expected("AS or RETAIN", hint)
        return _query(cursor, name, name_span)
    retain = cursor.duration("RETAIN", _BEHIND_RETAIN, EXAMPLES["RETAIN"], zero=False)
    if cursor.at("RETAIN"):
        raise cursor.error("RETAIN is given twice", "keep one RETAIN")
    if not cursor.take("AS"):
        kept = format_duration(retain).upper()
        raise cursor.expected("AS", f"write CREATE QUERY {name} RETAIN {kept} AS SELECT …")
    return _query(cursor, name, name_span, retain)


def _query(
    cursor: Cursor, name: str | None = None, name_span: Span = (0, 0), retain: int | None = None
) -> Query:
    first = cursor.current
    _refuse_planned(cursor)
    _refuse_retain(cursor, name)
    if first is None or not (cursor.at("SELECT") or cursor.at("WITH") or cursor.next_is(TokenType.L_PAREN)):
        if name is not None:
            raise cursor.expected("SELECT", suggestion(cursor.word(), ["SELECT"]))
        raise _unknown_statement(cursor)
    _refuse_open_ends(cursor)
    tokens = with_deliveries_marked(cursor.tokens[cursor.index :], cursor.text)
    tree = _without_parentheses(CqlParser(dialect=Cql).read(tokens, cursor.text))
    if not isinstance(tree, exp.Select | exp.SetOperation):
        problem = "a query is a SELECT, or several with UNION or INTERSECT between them"
        raise cursor.error(problem, "take the parentheses away, and what is behind them")
    such_as = "such as SELECT origin, COUNT(*) FROM …"
    if isinstance(tree, exp.Select) and not tree.expressions:
        cursor.advance()
        raise cursor.expected("something to select", such_as)
    for select in tree.find_all(exp.Select):
        if not select.expressions:
            raise StatementError("this SELECT selects nothing", cursor.text, *span(select), such_as)
    start, end = span_of(*cursor.tokens)
    return Query(
        name=name,
        select=tree,
        select_sql=cursor.text[first.start : end],
        retain=retain,
        text=cursor.text,
        start=start,
        end=end,
        name_span=name_span,
    )


def _unknown_statement(cursor: Cursor) -> StatementError:
    if cursor.at("DROP"):
        return cursor.error(
            "DROP is not a statement", "drop a query with `windrow query drop` or Engine.drop"
        )
    hint = suggestion(cursor.word(), ["CREATE", "SELECT"]) or STARTS
    source = cursor.source(cursor.tokens[cursor.index])
    return cursor.error(f"no statement starts with '{source}'", hint)


def _without_parentheses(tree: exp.Expr) -> exp.Expr:
    """The query in parentheses that say nothing: (SELECT …)."""
    while isinstance(tree, exp.Subquery) and tree.is_wrapper:
        tree = tree.this
    return tree


def _refuse_planned(cursor: Cursor) -> None:
    """What the design has and the engine does not, yet."""
    hint = "leave it out: every evaluation gives its whole answer"
    if cursor.at("WSTREAM"):
        raise cursor.error("WSTREAM is not supported yet", INSTEAD_OF_WSTREAM)
    if (word := cursor.word()) in DELIVERIES:
        raise cursor.error(f"{word} stands behind SELECT, not around it", f"write SELECT {word} …")
    for index in range(len(cursor.tokens) - cursor.index):
        if cursor.word(index) == "EMIT" and cursor.word(index + 1) == "CHANGES":
            cursor.index += index
            raise cursor.error("EMIT CHANGES is not supported yet", hint, count=2)


def _refuse_retain(cursor: Cursor, name: str | None) -> None:
    """A RETAIN where none may stand: behind AS, or with a query that has no name to read it back by.

    A column may well be called retain, but no number follows it then.
    """
    for index in range(cursor.index, len(cursor.tokens) - 1):
        token, following = cursor.tokens[index : index + 2]
        if token.token_type == TokenType.CREATE:
            return  # of the next statement: what is wrong is that no ; ends this one
        if cursor.source(token).upper() == "RETAIN" and following.token_type == TokenType.NUMBER:
            problem = "only a query with a name has a RETAIN" if name is None else "RETAIN stands before AS"
            hint = f"write CREATE QUERY {name or 'name'} {EXAMPLES['RETAIN']} AS SELECT …"
            raise StatementError(problem, cursor.text, *span_of(token), hint)


def _refuse_open_ends(cursor: Cursor) -> None:
    tokens = cursor.tokens[cursor.index :]
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.token_type in _OPEN and (following is None or following.token_type in _END_OF_CLAUSE):
            comma = token.token_type == TokenType.COMMA
            problem = "nothing follows this comma" if comma else f"nothing follows {token.text.upper()}"
            raise StatementError(problem, cursor.text, *span_of(token), "complete it or take it away")

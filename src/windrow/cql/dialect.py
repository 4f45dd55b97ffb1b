"""CQL's SELECT: Spark SQL as sqlglot reads it, plus the window behind a stream's name.

Three things are added to sqlglot's parser: windows, a place in the text for every node (so that later errors
can underline it: `places.py`), and errors that say in plain words what was wrong and where. Between queries
stands what Windrow has: UNION and INTERSECT. Reading a statement takes a millisecond or so; nothing here is
on the path of the data.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parser import SENTINEL_NONE
from sqlglot.parsers.spark import SparkParser

from windrow.cql.column_types import suggested_type
from windrow.cql.deliveries import MODIFIERS
from windrow.cql.deliveries import WORDS as DELIVERIES
from windrow.cql.places import PlacedParser
from windrow.cql.spans import CLOSING, OPENING, span
from windrow.cql.tokens import found, span_of
from windrow.cql.windows import EXAMPLE, read_window
from windrow.errors import StatementError, suggestion

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot.expressions.core import Expr

_WORDS = ("SELECT", "DISTINCT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "JOIN", "BETWEEN", "UNION")
_HINT_OPENING = len("/*+")
_TOO_MANY = re.compile(r"The number of provided arguments \((\d+)\) .* arguments \((\d+)\)")


class Misread(ParseError):
    """sqlglot's complaint with its place. A ParseError, since sqlglot backtracks on those."""

    def __init__(self, message: str, start: int, end: int, found: str) -> None:
        super().__init__(message, [{"description": message}])
        self.message = message
        self.start = start
        self.end = end
        self.found = found


class CqlParser(PlacedParser):
    """Spark's parser with windows."""

    # Spark's drops the arguments of these that it does not expect; they shall be complained about.
    FUNCTIONS: ClassVar = {
        **SparkParser.FUNCTIONS,
        "PERCENTILE": exp.Quantile.from_arg_list,
        "COLLECT_LIST": exp.ArrayAgg.from_arg_list,
        "ARRAY_AGG": exp.ArrayAgg.from_arg_list,
    }
    FUNCTION_PARSERS: ClassVar = {
        name: read for name, read in SparkParser.FUNCTION_PARSERS.items() if name != "PERCENTILE"
    }
    OPERATION_MODIFIERS: ClassVar = set(MODIFIERS)
    # ANY(x) is an aggregate; behind LIKE, ANY is still read as one of a list.
    NO_PAREN_FUNCTION_PARSERS: ClassVar = {
        name: parse for name, parse in SparkParser.NO_PAREN_FUNCTION_PARSERS.items() if name != "ANY"
    }

    def read(self, tokens: list[Token], text: str) -> Expr:
        """The tree of one statement, or a StatementError."""
        tree = self._in_our_words(lambda: self.parse(tokens, text)[0], text, "statement")
        if tree is None:
            raise StatementError("the statement cannot be understood", text, *span_of(*tokens))
        return tree

    def read_list(self, tokens: list[Token], text: str) -> list[Expr]:
        """The expressions of a list with commas between them, or a StatementError."""

        def read(parser: Any) -> exp.Tuple:
            return exp.Tuple(expressions=parser._parse_csv(parser._parse_disjunction))

        found = self._in_our_words(lambda: self._parse(read, tokens, text)[0], text, "list")
        return list(found.expressions)

    def _in_our_words(self, parse: Callable[[], Any], text: str, what: str) -> Any:
        try:
            return parse()
        except (StatementError, RecursionError):
            raise
        except Misread as error:
            problem, hint = _in_plain_words(error, what)
            raise StatementError(problem, text, error.start, error.end, hint or self._hint()) from error
        except Exception as error:
            # sqlglot is made for SQL that is right: on some of what is wrong it trips over its own
            # tree (AttributeError, IndexError, …). To the user that is a syntax error like any other.
            start, end = self._place(self._curr)
            raise StatementError(f"the {what} cannot be understood around here", text, start, end) from error

    def raise_error(self, message: str, token: Token = SENTINEL_NONE) -> None:
        if token is self._prev and message.startswith("Expected"):
            token = self._curr  # the place of what was expected is behind the last token that was right
        start, end = self._place(token or self._curr)
        raise Misread(message, start, end, self.sql[start:end])

    def _place(self, token: Token) -> tuple[int, int]:
        """Where a token is; just behind the last one if there is none."""
        if token:
            return token.start, token.end + 1
        behind = self._tokens[-1].end + 1 if self._tokens else len(self.sql)
        return behind, behind

    def _hint(self) -> str:
        """What may have led to the error: a word there or before it that is nearly a keyword (FORM,
        GRUOP), half a keyword, or a statement that begins before the last one ended."""
        if self._curr.token_type in (TokenType.SELECT, TokenType.CREATE):
            return "if a new statement begins here, end the one before it with ;"
        if self._prev.text.upper() in ("GROUP", "ORDER"):
            return f"write {self._prev.text.upper()} BY"
        for token in (self._prev, self._curr):
            alike = [word for word in _WORDS if word[0] == token.text[:1].upper()]
            if token.token_type == TokenType.VAR and (hint := suggestion(token.text, alike)):
                return f"'{token.text}': {hint}"
        return ""

    def _parse_table_parts(
        self,
        schema: bool = False,
        is_db_reference: bool = False,
        wildcard: bool = False,
        fast: bool = False,
    ) -> exp.Table | exp.Dot | None:
        if fast:  # sqlglot's shortcut for plain names, which knows no windows
            return None
        table = super()._parse_table_parts(schema, is_db_reference, wildcard)
        if not schema and isinstance(table, exp.Table) and self._curr.token_type == TokenType.L_BRACKET:
            window, count = read_window(self.sql, self._tokens[self._index :], self._read_apart)
            self._advance(count)
            table.set("window", window)
            self._refuse_window()
        return table

    def _parse_table(self, *args: Any, **kwargs: Any) -> Expr | None:
        table = super()._parse_table(*args, **kwargs)
        if table is not None:
            self._refuse_window()
        return table

    def _read_apart(self, tokens: list[Token]) -> list[Expr]:
        """A list inside a window, by a parser of its own: this one is in the middle of the statement."""
        return CqlParser(dialect=Cql).read_list(tokens, self.sql)

    def _refuse_window(self) -> None:
        if self._curr.token_type == TokenType.L_BRACKET:
            problem = "a window stands right after the stream's name: once, and before any alias"
            hint = f"as in flights {EXAMPLE} AS f"
            raise StatementError(problem, self.sql, *self._place(self._curr), hint)

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> Expr | None:
        name = self._curr
        is_delivery = name.text.upper() in DELIVERIES and name.token_type != TokenType.IDENTIFIER
        if is_delivery and self._next.token_type == TokenType.L_PAREN:
            word = name.text.upper()
            problem, hint = f"{word} stands behind SELECT, and is no function", f"write SELECT {word} …"
            raise StatementError(problem, self.sql, *self._place(name), hint)
        try:
            call = super()._parse_function_call(*args, **kwargs)
        except Misread as error:
            if too_many := _TOO_MANY.match(error.message):
                given, most = too_many.groups()
                message = f"{name.text} takes at most {most} argument{'s'[: most != '1']}, not {given}"
                raise Misread(message, *self._place(name), name.text) from error
            raise
        function = call
        while isinstance(
            function, (exp.Window, exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)
        ):
            function = function.this
        if isinstance(function, exp.Expression) and "start" not in function.meta:
            function.update_positions(name)
        return call

    def parse_set_operation(self, *args: Any, **kwargs: Any) -> exp.SetOperation | None:
        begin = self._index
        operation = super().parse_set_operation(*args, **kwargs)
        if operation is None:
            return None
        word = next(token for token in self._tokens[begin:] if token.token_type in self.SET_OPERATIONS)
        said = word.text.upper()
        if isinstance(operation, exp.Except):
            problem = f"{said} is not supported yet"
        elif isinstance(operation, exp.Intersect) and operation.args.get("distinct") is False:
            problem = f"{said} ALL is not supported"
        elif any(operation.args.get(key) for key in ("by_name", "side", "kind")):
            problem = f"{said} goes by the places of columns, and nothing else is supported"
        else:
            return operation
        hint = "queries go together with UNION, UNION ALL or INTERSECT"
        raise StatementError(problem, self.sql, *self._place(word), hint)

    def _values_to_select(self, values: exp.Values) -> exp.Select:
        """Where sqlglot would make a query of VALUES, with places in another text."""
        problem, hint = "VALUES is not supported as a query", "put the rows into a table, and select from it"
        raise StatementError(problem, self.sql, *span(values), hint)

    def _parse_hint(self) -> exp.Hint | None:
        if not self._match(TokenType.HINT):
            return None
        token = self._prev
        body = self.sql[token.start + _HINT_OPENING : token.end - 1]
        try:
            hint = exp.maybe_parse(body, into=exp.Hint, dialect=Cql)
        except (SqlglotError, StatementError):
            self.raise_error("this hint cannot be read", token)
            return None
        for node in hint.walk():
            # So far they are counted from the hint's start.
            for key in {"start", "end", OPENING, CLOSING} & node.meta.keys():
                node.meta[key] += token.start + _HINT_OPENING
        return hint.update_positions(token)

    def _warn_unsupported(self) -> None:
        """Where sqlglot would log a warning and keep the statement as a string."""
        self.raise_error("Invalid expression / Unexpected token")


class Cql(Spark):
    """The dialect; registered with sqlglot as "cql"."""

    # Only says whether to log a warning about `column -> 'path'`; a library does not write to stderr.
    STRICT_JSON_PATH_SYNTAX = False

    Parser = CqlParser


def _in_plain_words(error: Misread, what_ends: str) -> tuple[str, str]:
    """sqlglot's message as a sentence about the user's text, and a hint."""
    message = error.message.rstrip(".")
    there = found(error.found)
    if message.startswith("Expected table name"):
        return f"expected the name of a stream or table but {there}", ""
    if message.startswith("Expected TYPE") and error.found.isidentifier():
        return f"unknown type '{error.found}'", suggested_type(error.found)
    if wanted := re.match(r"(?:Expecting|Expected) (.*)", message):
        what = wanted[1]
        return f"expected {what if what[0].isalnum() else repr(what)} but {there}", ""
    if twice := re.match(r"Found multiple '(.*)' clauses", message):
        return f"{twice[1]} is given twice", "keep one of the two"
    if not error.found and message.startswith(("Required keyword", "Invalid expression")):
        return f"something is missing at the end of the {what_ends}", ""
    if message.startswith("Required keyword"):
        return f"something is missing before '{error.found}'", ""
    if message.startswith("Invalid expression"):
        return f"did not expect '{error.found}' here", ""
    return message, ""

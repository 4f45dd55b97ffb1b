"""Text to tokens, statement by statement.

Tokens are sqlglot's and keep their offsets into the whole text, so that an error in the third statement
of a file is shown there. Nothing is parsed here.
"""

from __future__ import annotations

import re

from sqlglot import Token, TokenType
from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError

from windrow.errors import StatementError

_BLANK = re.compile(r"(?:\s|--[^\n]*|/\*.*?\*/)*", re.DOTALL)


def split(text: str) -> list[list[Token]]:
    """The tokens of each statement of `text`, empty statements left out.

    >>> [len(tokens) for tokens in split("SELECT 1;; -- nothing here\\n SELECT a, b;")]
    [2, 4]
    """
    tokenizer = Spark.Tokenizer(dialect=Spark)
    try:
        tokens = tokenizer.tokenize(text)
    except TokenError as error:
        done = tokenizer.tokens
        raise _unreadable(text, done[-1].end + 1 if done else 0) from error
    statements: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            statements.append([])
        else:
            statements[-1].append(token)
    return [statement for statement in statements if statement]


def _unreadable(text: str, after: int) -> StatementError:
    """The error for text that does not tokenize, the last good token ending at `after`."""
    blank = _BLANK.match(text, after)
    start = blank.end() if blank else after
    newline = text.find("\n", start)
    end = len(text) if newline < 0 else newline
    opening = text[start : start + 3].lstrip("rRxXbB")[:1]
    if text.startswith("/*", start):
        return StatementError("this comment is never closed", text, start, start + 2, "end it with */")
    if opening == "`":
        return StatementError("this name is never closed", text, start, end, "end it with a backquote: `")
    if opening in ("'", '"') and text.find(opening, text.index(opening, start) + 1) < 0:
        return StatementError("this string is never closed", text, start, end, f"end it with {opening}")
    return StatementError("this cannot be read", text, start, end, "check its quotes and escapes")


def found(source: str) -> str:
    """What stands at the place of an error, for its message; nothing stands at the end of a statement."""
    if not source:
        return "the statement ends here"
    return f"found {source}" if source[0] in "'\"`" else f"found '{source}'"


def span_of(*tokens: Token) -> tuple[int, int]:
    """From the first token to the end of the last, end exclusive."""
    return tokens[0].start, tokens[-1].end + 1

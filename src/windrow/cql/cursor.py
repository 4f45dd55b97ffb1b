"""A cursor over one statement's tokens, whose errors know their place.

It takes the pieces that our own statements and windows are made of: words, names, strings, durations.
SELECT is sqlglot's to read.
"""

from __future__ import annotations

import re

from sqlglot import Token, TokenType
from sqlglot.parsers.spark import SparkParser

from windrow.cql.durations import parse_duration
from windrow.cql.tokens import found, span_of
from windrow.errors import StatementError

_WORD = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"[0-9]*\.?[0-9]*")
_NAME = re.compile(r"\w+")
_NAMES = SparkParser.ID_VAR_TOKENS | {TokenType.IDENTIFIER}
_STRINGS = frozenset({TokenType.STRING, TokenType.RAW_STRING})
_QUOTED = _STRINGS | {TokenType.IDENTIFIER}


class Cursor:
    """A place in one statement's tokens."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.index = 0

    @property
    def current(self) -> Token | None:
        return self.tokens[self.index] if self.index < len(self.tokens) else None

    @property
    def previous(self) -> Token:
        return self.tokens[self.index - 1]

    def word(self, ahead: int = 0) -> str:
        """The bare word here (or so many tokens ahead) in capitals; nothing if it is no bare word."""
        index = self.index + ahead
        if index >= len(self.tokens) or self.tokens[index].token_type in _QUOTED:
            return ""
        return self.tokens[index].text.upper()

    def at(self, *words: str) -> bool:
        """Whether these words come next."""
        return all(self.word(ahead) == word for ahead, word in enumerate(words))

    def next_is(self, token_type: TokenType) -> bool:
        return self.current is not None and self.current.token_type == token_type

    def advance(self) -> Token:
        self.index += 1
        return self.previous

    def take(self, *words: str) -> bool:
        """Step over these words if they come next."""
        if not self.at(*words):
            return False
        self.index += len(words)
        return True

    def take_type(self, token_type: TokenType) -> bool:
        if not self.next_is(token_type):
            return False
        self.index += 1
        return True

    def source(self, token: Token) -> str:
        return self.text[token.start : token.end + 1]

    def found(self) -> str:
        """What stands here, for a message."""
        return found(self.source(self.current)) if self.current else found("")

    def error(
        self, problem: str, hint: str = "", first: Token | None = None, count: int = 1
    ) -> StatementError:
        """An error at `count` tokens from here, or from the token `first` up to here; at the end of the
        statement, just behind its last token."""
        if first is not None:
            start, end = first.start, self.previous.end + 1
        elif self.current is None:
            start = end = self.previous.end + 1 if self.tokens else len(self.text)
        else:
            start, end = span_of(*self.tokens[self.index : self.index + count])
        return StatementError(problem, self.text, start, end, hint)

    def expected(self, what: str, hint: str = "") -> StatementError:
        return self.error(f"expected {what} but {self.found()}", hint)

    def name(self, what: str, hint: str = "") -> str:
        """Take a name, bare or in backquotes."""
        token = self.current
        if token is None or token.token_type not in _NAMES:
            raise self.expected(what, hint)
        if token.token_type == TokenType.IDENTIFIER:
            if not token.text.strip():
                raise self.error("a name cannot be empty", f"write {what} between the backquotes")
        elif not _NAME.fullmatch(token.text):
            raise self.error(f"'{token.text}' is not a name", f"put it in backquotes: `{token.text}`")
        self.advance()
        if self.next_is(TokenType.DOT):
            self.advance()
            if self.current is not None:
                self.advance()
            raise self.error(f"{what} is one word, without dots", "leave out what is before the dot", token)
        return token.text

    def string(self, what: str, example: str) -> str:
        """Take a quoted string."""
        token = self.current
        if token is None or token.token_type not in _STRINGS:
            bare = re.match(r"[^\s;(),]*", self.text[token.start :]) if token is not None else None
            if token is None or bare is None or not bare[0]:
                raise self.expected(f"{what} in quotes", f"such as {example}")
            problem = f"expected {what} in quotes but {found(bare[0])}"
            hint = f"write '{bare[0].strip('`‘’“”')}'"
            raise StatementError(problem, self.text, token.start, token.start + len(bare[0]), hint)
        self.advance()
        return token.text

    def duration(self, clause: str, stops: frozenset[str], example: str, *, zero: bool = True) -> int:
        """Take the duration that follows `clause`, up to one of the words `stops` or to any word that
        cannot be a unit: its microseconds, which may be none unless `zero` is false."""
        first = self.index
        while (token := self.current) is not None and self.word() not in stops and self.word() != ",":
            # A unit comes after a number; any other word begins something new (perhaps misspelled).
            is_unit = self.index > first and _NUMBER.fullmatch(self.source(self.previous))
            if token.token_type in _QUOTED or (_WORD.fullmatch(self.source(token)) and not is_unit):
                break
            self.index += 1
        taken = self.tokens[first : self.index]
        if not taken:
            quoted = self.current is not None and self.current.token_type in _STRINGS
            hint = "write it without quotes" if quoted else f"such as {example}"
            raise self.error(f"{clause} needs a duration but {self.found()}", hint)
        start, end = span_of(*taken)
        # Comments between the tokens become blanks, so that offsets stay what they are.
        blanked = [" "] * (end - start)
        for token in taken:
            blanked[token.start - start : token.end + 1 - start] = self.source(token)
        duration = parse_duration("".join(blanked), self.text, start)
        if duration == 0 and not zero:
            problem = f"{clause} must be longer than zero"
            raise StatementError(problem, self.text, start, end, f"such as {example}")
        return duration

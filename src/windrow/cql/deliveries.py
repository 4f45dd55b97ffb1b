"""How a SELECT delivers its answer: RSTREAM, ISTREAM or DSTREAM behind the word SELECT.

    SELECT ISTREAM a, b FROM …      SELECT ISTREAM(DISTINCT a) FROM …      SELECT RSTREAM(*) FROM …

sqlglot has no such words, so the tokens are changed before it reads them: parentheses around the whole list go,
and the word is marked and put behind DISTINCT, where the parser reads modifiers of a SELECT. A column may have such
a name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import Token, TokenType, exp

from windrow.cql.tokens import span_of
from windrow.errors import StatementError

if TYPE_CHECKING:
    from collections.abc import Sequence

RSTREAM, ISTREAM, DSTREAM = "RSTREAM", "ISTREAM", "DSTREAM"
WORDS = (RSTREAM, ISTREAM, DSTREAM, "WSTREAM")
MARK = "\0"
"""In front of a word that is a delivery: no text of a user's has it there."""
MODIFIERS = frozenset(MARK + word for word in WORDS)
# Behind SELECT such a word may still be a column's name: SELECT istream, a FROM …
_AFTER_A_COLUMN = frozenset({TokenType.COMMA, TokenType.DOT, TokenType.FROM, TokenType.ALIAS})
# What may follow the parenthesis around a whole SELECT list.
_AFTER_THE_LIST = frozenset(
    {TokenType.FROM, TokenType.R_PAREN, TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT}
)


def delivery_of(select: exp.Expr) -> str:
    """RSTREAM, ISTREAM or DSTREAM; RSTREAM if a SELECT does not say.

    >>> from windrow.cql import parse
    >>> [delivery_of(q.select) for q in parse("SELECT DSTREAM(a) FROM s [NOW]; SELECT istream FROM s")]
    ['DSTREAM', 'RSTREAM']
    """
    modifiers = select.args.get("operation_modifiers") or ()
    return next((str(word.name).removeprefix(MARK) for word in modifiers), RSTREAM)


def with_deliveries_marked(tokens: Sequence[Token], text: str) -> list[Token]:
    """The tokens of a statement, with every delivery marked and where the parser looks for it."""
    left = list(tokens)
    made: list[Token] = []
    while left:
        token = left.pop(0)
        made.append(token)
        if token.token_type == TokenType.SELECT and _is_delivery(left):
            made += _marked(left, text)
    return made


def _is_delivery(behind: Sequence[Token]) -> bool:
    if len(behind) < 2 or behind[0].token_type == TokenType.IDENTIFIER:
        return False
    return behind[0].text.upper() in WORDS and behind[1].token_type not in _AFTER_A_COLUMN


def _marked(left: list[Token], text: str) -> list[Token]:
    """The delivery at the beginning of some tokens, and what has to stand before it, taken out of them."""
    word = left.pop(0)
    if word.text.upper() == "WSTREAM":
        hint = "put a window on the stream: flights [RANGE 6 HOURS SLIDE 5 MINUTES]"
        raise StatementError("WSTREAM is not supported yet", text, *span_of(word), hint)
    closing = _closing(left)
    if closing is not None:
        del left[closing], left[0]
    before = [left.pop(0)] if left and left[0].token_type == TokenType.DISTINCT else []
    mark = Token(TokenType.VAR, MARK + word.text.upper(), word.line, word.col, word.start, word.end)
    return [*before, mark]


def _closing(tokens: Sequence[Token]) -> int | None:
    """Where the parenthesis ends that stands around a whole SELECT list; None: there is none."""
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth == 0:
            is_whole = place and (
                place + 1 == len(tokens) or tokens[place + 1].token_type in _AFTER_THE_LIST
            )
            return place if is_whole else None
    return None

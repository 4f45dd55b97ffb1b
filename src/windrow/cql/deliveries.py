"""How a SELECT delivers its answer: RSTREAM, ISTREAM or DSTREAM behind the word SELECT.

    SELECT ISTREAM a, b FROM …      SELECT ISTREAM(DISTINCT a) FROM …      SELECT RSTREAM(*) FROM …

sqlglot has no such words, so the tokens are changed before it reads them: parentheses around the whole list
go, and the word is marked and put behind DISTINCT, where the parser reads modifiers of a SELECT. A column may
have such a name: what follows tells. In the tree a delivery is a node under the key "delivery" of its SELECT,
which Spark's generator does not know and leaves out, as it does with windows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import Token, TokenType, exp
from sqlglot.parsers.spark import SparkParser

from windrow.cql.tokens import span_of
from windrow.errors import StatementError

if TYPE_CHECKING:
    from collections.abc import Sequence

RSTREAM, ISTREAM, DSTREAM, WSTREAM = "RSTREAM", "ISTREAM", "DSTREAM", "WSTREAM"
WORDS = (RSTREAM, ISTREAM, DSTREAM, WSTREAM)
RESTORE = "RESTORE"
INSTEAD_OF_WSTREAM = "put a window on the stream: flights [RANGE 6 HOURS]"
KEY = "delivery"
_MARK = "\0"
"""In front of a word that is a delivery: nobody writes that."""
MODIFIERS = frozenset(_MARK + word for word in WORDS)

_SIGNS = frozenset({TokenType.PLUS, TokenType.DASH})
# What a SELECT list may end before.
_BEHIND_A_LIST = frozenset(
    {
        TokenType.FROM,
        TokenType.WHERE,
        TokenType.GROUP_BY,
        TokenType.HAVING,
        TokenType.ORDER_BY,
        TokenType.LIMIT,
        TokenType.R_PAREN,
        *SparkParser.SET_OPERATIONS,
    }
)
# Operators that begin with a word, and may have NOT before them.
_BEHIND_NOT = frozenset({TokenType.BETWEEN, TokenType.IN, TokenType.LIKE, TokenType.ILIKE, TokenType.RLIKE})
# Behind these the word was a column: SELECT istream, a FROM …, SELECT istream > 1 FROM …
_BEHIND_A_COLUMN = (
    _BEHIND_A_LIST
    | _BEHIND_NOT
    | {TokenType.COMMA, TokenType.ALIAS, TokenType.L_BRACKET, TokenType.IS, TokenType.DPIPE}
    | SparkParser.COLUMN_OPERATORS.keys()
    | SparkParser.CONJUNCTION.keys()
    | SparkParser.DISJUNCTION.keys()
    | SparkParser.EQUALITY.keys()
    | SparkParser.COMPARISON.keys()
    | SparkParser.BITWISE.keys()
    | SparkParser.TERM.keys()
    | SparkParser.FACTOR.keys()
) - {TokenType.STAR}
_BEFORE_A_DELIVERY = frozenset({TokenType.HINT, TokenType.DISTINCT, TokenType.ALL})
_DUPLICATES = frozenset({TokenType.DISTINCT, TokenType.ALL})


def delivery_of(select: exp.Expr) -> str:
    """RSTREAM, ISTREAM or DSTREAM; RSTREAM if a SELECT does not say.

    >>> from windrow.cql import parse
    >>> [delivery_of(q.select) for q in parse("SELECT DSTREAM(a) FROM s [NOW]; SELECT istream FROM s")]
    ['DSTREAM', 'RSTREAM']
    """
    node = delivery_node(select)
    return RSTREAM if node is None else str(node.name)


def delivery_node(select: exp.Expr) -> exp.Var | None:
    """The word of a SELECT that says how it is delivered, with its place; None if it does not say."""
    node = select.args.get(KEY)
    return node if isinstance(node, exp.Var) else None


def delivered(select: exp.Select, tokens: Sequence[Token]) -> None:
    """Give a SELECT that begins with these tokens its delivery, which the parser read as a modifier."""
    if select.args.get("operation_modifiers"):
        select.set("operation_modifiers", None)
        word = next(token for token in tokens if token.text in MODIFIERS)
        select.set(KEY, exp.var(word.text.removeprefix(_MARK)).update_positions(word))


def with_deliveries_marked(tokens: Sequence[Token], text: str) -> list[Token]:
    """The tokens of a statement, with every delivery marked and where the parser looks for it."""
    left = list(reversed(tokens))  # so that taking one from the beginning is quick
    made: list[Token] = []
    while left:
        token = left.pop()
        made.append(token)
        if token.token_type != TokenType.SELECT:
            continue
        while left and left[-1].token_type in _BEFORE_A_DELIVERY:
            made.append(left.pop())
        _refuse_sign(left, text)
        if _is_said(left, WORDS):
            mark = _marked(left, text)
            if left and left[-1].token_type in _DUPLICATES:
                made.append(left.pop())
            made.append(mark)
    return made


def _is_said(left: Sequence[Token], words: Sequence[str]) -> bool:
    """Whether the word that comes next, the last of `left`, is one of some and no column."""
    if len(left) < 2 or left[-1].token_type == TokenType.IDENTIFIER or left[-1].text.upper() not in words:
        return False
    behind = left[-2].token_type
    beyond = left[-3].token_type if len(left) > 2 else None
    if behind == TokenType.STAR:  # ISTREAM * FROM …, but istream * 2
        return beyond is None or beyond in {*_BEHIND_A_LIST, TokenType.COMMA}
    if behind == TokenType.NOT:  # ISTREAM NOT a, but istream NOT IN (1, 2)
        return beyond not in _BEHIND_NOT
    return behind not in _BEHIND_A_COLUMN


def _refuse_sign(left: Sequence[Token], text: str) -> None:
    """ISTREAM - a could be read either way; so nobody reads it."""
    if len(left) < 2 or left[-1].token_type == TokenType.IDENTIFIER or left[-1].text.upper() not in WORDS:
        return
    word, sign = left[-1], left[-2]
    name = word.text.upper()
    if sign.token_type not in _SIGNS:
        return
    if len(left) > 2 and left[-3].text.upper() == RESTORE:
        raise _planned(f"{name}-{RESTORE}", text, word, left[-3])
    problem = f"this is either {name} or a column of that name"
    hint = f"write {name}({sign.text}…), or the column in backquotes: `{word.text}` {sign.text} …"
    raise StatementError(problem, text, *span_of(word, sign), hint)


def _marked(left: list[Token], text: str) -> Token:
    """The delivery that comes next, taken out together with the parentheses around the list behind it."""
    word = left.pop()
    name = word.text.upper()
    if name == WSTREAM:
        raise _planned(name, text, word)
    if _is_said(left, (RESTORE,)):
        raise _planned(RESTORE, text, left[-1])
    opening = left[-1]
    closing = _closing(left)
    if closing is not None:
        inside = left[-2]
        if inside.token_type in (TokenType.SELECT, TokenType.WITH) and _is_whole(left, closing):
            hint = f"write SELECT {name} …"
            raise StatementError(f"{name} stands behind SELECT, not around it", text, *span_of(word), hint)
        if _is_whole(left, closing):
            del left[closing], left[-1]
        elif inside.token_type in (TokenType.STAR, TokenType.DISTINCT) or _has_comma(left, closing):
            problem = f"{name}(…) stands around the whole SELECT list"
            hint = f"write SELECT {name} and the list, without parentheses"
            raise StatementError(problem, text, *span_of(word, opening, left[closing]), hint)
    return Token(TokenType.VAR, _MARK + name, word.line, word.col, word.start, word.end)


def _planned(what: str, text: str, *tokens: Token) -> StatementError:
    """What the design has and the engine does not, yet."""
    hint = INSTEAD_OF_WSTREAM if what == WSTREAM else f"leave {RESTORE} out"
    return StatementError(f"{what} is not supported yet", text, *span_of(*tokens), hint)


def _closing(left: Sequence[Token]) -> int | None:
    """Where the parenthesis that comes next is closed; None if none comes, or it is not closed."""
    depth = 0
    for place in reversed(range(len(left))):
        kind = left[place].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if depth == 0:
            return None if place == len(left) - 1 else place
    return None


def _is_whole(left: Sequence[Token], closing: int) -> bool:
    """Whether the SELECT list ends with a parenthesis."""
    return closing == 0 or left[closing - 1].token_type in _BEHIND_A_LIST


def _has_comma(left: Sequence[Token], closing: int) -> bool:
    """Whether the parenthesis that comes next has a comma that is in no parenthesis within."""
    depth = 0
    for token in reversed(left[closing:]):
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth == 1 and token.token_type == TokenType.COMMA:
            return True
    return False

"""Spark's parser, with a note on every larger node of where its text begins and ends.

sqlglot notes where leaves stand, from which a later error could underline only `a FROM s) AS x` of the
sub-query `(SELECT a FROM s) AS x`. Here a node that begins with a word or ends with a parenthesis of its own
gets that noted when it has been read: a dictionary entry or two a node. Leaves keep sqlglot's places.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import Token, TokenType, exp
from sqlglot.parsers.spark import SparkParser

from windrow.cql.deliveries import delivered
from windrow.cql.spans import CLOSING, OPENING

if TYPE_CHECKING:
    from sqlglot.expressions.core import Expr

_IN_PARENTHESES = (exp.Paren, exp.Tuple, exp.Subquery)


class PlacedParser(SparkParser):
    """A parser whose nodes know their places (`windrow.cql.span`)."""

    def _parse_select_query(self, *args: Any, **kwargs: Any) -> Expr | None:
        begin = self._index
        query = super()._parse_select_query(*args, **kwargs)
        if query is None:
            return None
        tokens = self._tokens[begin:]
        if tokens[0].token_type == TokenType.SELECT:
            select = query
            while isinstance(select, exp.SetOperation):
                select = select.this
            if isinstance(select, exp.Select):
                self._place_select(select, tokens)
        elif tokens[0].token_type == TokenType.L_PAREN:
            _note(query, tokens[0], self._prev)
        return query

    def _place_select(self, select: exp.Select, tokens: list[Token]) -> None:
        """Note where a SELECT is that begins with some tokens, its DISTINCT and its delivery."""
        select.meta.setdefault(CLOSING, self._prev.end)
        _note(select, tokens[0])
        distinct = select.args.get("distinct")
        if distinct is not None:
            word = next(token for token in tokens if token.token_type in self.DISTINCT_TOKENS)
            _note(distinct, word, word)
        delivered(select, tokens)

    def _parse_set_operations(self, this: Expr | None) -> Expr | None:
        """Called behind a SELECT, whether or not a UNION follows."""
        if isinstance(this, exp.Select):
            this.meta.setdefault(CLOSING, self._prev.end)
        return super()._parse_set_operations(this)

    def _parse_paren(self) -> Expr | None:
        first = self._curr
        inner = super()._parse_paren()
        if isinstance(inner, _IN_PARENTHESES):
            _note(inner, first, self._prev)
        return inner

    def _parse_with(self, skip_with_token: bool = False) -> exp.With | None:
        first = self._curr
        ctes = super()._parse_with(skip_with_token)
        if ctes is not None:
            _note(ctes, first)
        return ctes

    def _parse_cte(self) -> exp.CTE | exp.FunctionSpecification | None:
        cte = super()._parse_cte()
        if cte is not None:
            _note(cte, last=self._prev)
        return cte

    def _parse_table_alias(self, *args: Any, **kwargs: Any) -> exp.TableAlias | None:
        alias = super()._parse_table_alias(*args, **kwargs)
        if alias is not None:
            _note(alias, last=self._prev)
        return alias

    def _parse_join(self, *args: Any, **kwargs: Any) -> exp.Join | None:
        first = self._curr
        join = super()._parse_join(*args, **kwargs)
        if join is not None:
            # A comma belongs to no side: what it joins is the place.
            _note(join, None if first.token_type == TokenType.COMMA else first, self._prev)
        return join

    def _parse_in(self, this: Expr | None, alias: bool = False) -> exp.In:
        first = self._curr
        found = super()._parse_in(this, alias)
        _note(found, last=self._prev)
        query = found.args.get("query")
        if query is not None:
            _note(query, first, self._prev)
        return found

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> Expr | None:
        call = super()._parse_function_call(*args, **kwargs)
        if isinstance(call, exp.SubqueryPredicate):
            _note(call, last=self._prev)
        return call

    def _parse_window(self, this: Expr | None, alias: bool = False) -> Expr | None:
        """Called behind the `)` of every call, for the FILTER and OVER that may follow."""
        if this is not None and not alias:
            _note(this, last=self._prev)
        call = super()._parse_window(this, alias)
        if call is not None and not alias:
            _note(call, last=self._prev)
        return call


def _note(node: Expr, first: Token | None = None, last: Token | None = None) -> None:
    """Write down which tokens a node begins and ends with, if they say more than its leaves."""
    if first:
        node.meta[OPENING] = first.start
    if last:
        node.meta[CLOSING] = last.end

"""EXISTS, IN (SELECT …) and LEFT SEMI JOIN: conditions that rows of other windows decide.

    a.x IN (SELECT y FROM b …)          EXISTS (SELECT y FROM b … WHERE a.x = y)
    a LEFT SEMI JOIN b ON a.x = b.y     EXISTS (SELECT * FROM b … WHERE a.x = b.y)

A NULL equals nothing, so that IN is what it looks like; NOT IN and NOT EXISTS would take results back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.logical.bind.relational import refusals
from windrow.logical.bind.relational.block import SemiJoin
from windrow.logical.bind.relational.block_scope import BlockScope
from windrow.logical.bind.relational.conditions import read_conditions

if TYPE_CHECKING:
    from collections.abc import Callable

    from windrow.logical.bind.relational.block import Block, Condition

_ALIAS = "#in"


def is_semi_join(node: exp.Expr) -> bool:
    """Whether a condition is an EXISTS, or an IN with a sub-query."""
    node = _bare(node)
    if isinstance(node, exp.Exists):
        return isinstance(node.this, exp.Query)  # there is a function of arrays, too
    return isinstance(node, exp.In) and bool(node.args.get("query"))


class SemiJoins:
    """Binds those of a block, whose FROM is in its scope."""

    def __init__(self, scope: BlockScope, left: Block, rows_of: Callable[[exp.Expr, bool], Block]) -> None:
        """`rows_of` binds a sub-query that may use the names of the scope, with what it selects or not."""
        self._scope = scope
        self._left = left
        self._rows_of = rows_of

    def bind_condition(self, node: exp.Expr) -> None:
        """EXISTS or IN, as it stands in WHERE."""
        bare = _bare(node)
        if isinstance(bare, exp.Exists):
            self._exists(bare.this, node)
        else:
            self._in(bare, node)

    def bind_join(self, join: exp.Join) -> None:
        """A LEFT SEMI JOIN."""
        select = exp.Select(expressions=[exp.Literal.number(1)])
        select.set("from_", exp.From(this=join.this.copy()))
        condition = join.args.get("on")
        alias = join.this.alias_or_name
        for name in join.args.get("using") or ():
            owners = [one for one in self._scope.relations if self._has(one, name.name)]
            if len(owners) != 1:
                raise self._scope.problem(
                    f"USING needs '{name.name}' in exactly one item before the join", name, "write ON"
                )
            sides = (exp.column(exp.to_identifier(name.name, quoted=True), one) for one in (owners[0], alias))
            equal = exp.EQ(this=next(sides), expression=next(sides))
            condition = equal if condition is None else exp.and_(condition, equal)
        if condition is not None:
            select.set("where", exp.Where(this=condition.copy()))
        self._exists(select, join)

    def _exists(self, query: exp.Expr, at: exp.Expr) -> None:
        self._add(self._rows_of(query, False), [], at)

    def _in(self, node: exp.Expr, at: exp.Expr) -> None:
        query = node.args["query"]
        block = self._rows_of(query, True)
        lefts = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
        if len(lefts) != len(block.items):
            raise self._scope.problem(
                f"{len(lefts)} on the left of IN, and the sub-query selects {len(block.items)} columns", node
            )
        # Names that no expression on the left can mean.
        names = [f"#{place}" for place in range(len(lefts))]
        scope = BlockScope(self._scope.statement, self._scope)
        scope.add(
            _ALIAS,
            query,
            {name: item.type for name, item in zip(names, block.items, strict=True)},
            {name: item.meant for name, item in zip(names, block.items, strict=True)},
        )
        equal = [
            exp.EQ(
                this=_bare(left).copy(),
                expression=exp.column(
                    exp.to_identifier(name, quoted=True), exp.to_identifier(_ALIAS, quoted=True)
                ),
            )
            for left, name in zip(lefts, names, strict=True)
        ]
        self._add(block, read_conditions(scope, equal), at)

    def _add(self, block: Block, connecting: list[Condition], at: exp.Expr) -> None:
        """Split what a sub-query demands by whose rows it is about."""
        refusals.refuse_above_group(self._scope, block, "EXISTS", at)
        left, right = self._left.parts.keys(), block.parts.keys()
        both: list[Condition] = []
        inside: list[Condition] = []
        for condition in [*connecting, *block.conditions]:
            if condition.parts <= right:
                inside.append(condition)
            elif condition.parts <= left:
                self._left.conditions.append(condition)
            elif condition.parts <= left | right:
                both.append(condition)
            else:
                raise self._scope.problem(
                    "a sub-query can use columns of the SELECT right around it only",
                    condition.expression.node,
                    "join the outer relation there as well",
                )
        block.conditions = inside
        self._left.semi_joins.append(SemiJoin(block, tuple(both), at))

    def _has(self, alias: str, name: str) -> bool:
        return any(column.lower() == name.lower() for column in self._scope.relations[alias].columns)


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node

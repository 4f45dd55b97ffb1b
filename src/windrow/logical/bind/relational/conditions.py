"""WHERE and ON as conditions that must all hold, and what Spark says of them: an equality of things that have
one type, or can be brought to one as Spark would to compare them, is what parts can be joined by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.types as pat
from sqlglot import exp

from windrow.logical.bind.calls import spark_sql
from windrow.logical.bind.relational.block import Condition, Side
from windrow.logical.bind.relational.columns import EVALUATION, is_evaluation
from windrow.logical.bind.relational.sql_types import cast, sql_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from windrow.logical.bind.relational.block_scope import BlockScope
    from windrow.logical.bind.relational.columns import Expression


def conjuncts(condition: exp.Expr | None) -> Iterator[exp.Expr]:
    """The conditions that stand beside each other with AND between them."""
    if isinstance(condition, exp.And):
        yield from conjuncts(condition.this)
        yield from conjuncts(condition.expression)
    elif isinstance(condition, exp.Paren) and isinstance(condition.this, exp.And | exp.Paren):
        yield from conjuncts(condition.this)
    elif condition is not None:
        yield condition


def read_conditions(scope: BlockScope, nodes: Sequence[exp.Expr]) -> list[Condition]:
    """Conditions of a block, each of which Spark has accepted."""
    found = [_read(scope, node) for node in nodes]
    equalities = {place: sides for place, (_, sides) in enumerate(found) if sides is not None}
    asked = [(side.asked, side.node) for sides in equalities.values() for side in sides]
    where = [(expression.asked, expression.node) for expression, _ in found]
    types = iter(scope.statement.ask(asked, scope.asked, where))
    sides_of = {
        place: _sides(scope, sides, (next(types), next(types))) for place, sides in equalities.items()
    }
    return [
        Condition(expression, sides_of.get(place))
        for place, (expression, _) in enumerate(found)
        if not _says_nothing(scope, expression)
    ]


def _read(scope: BlockScope, node: exp.Expr) -> tuple[Expression, tuple[Expression, Expression] | None]:
    """A condition, and the sides of an equality between things that are of different parts."""
    expression = scope.read(node)
    while isinstance(node, exp.Paren):
        node = node.this
    if not isinstance(node, exp.EQ):
        return expression, None
    left, right = scope.read(node.this), scope.read(node.expression)
    if left.parts and right.parts and not left.parts & right.parts:
        return expression, (left, right)
    return expression, None


def _sides(
    scope: BlockScope, sides: tuple[Expression, Expression], types: tuple[pa.DataType, pa.DataType]
) -> tuple[Side, Side] | None:
    """The sides of an equality as things of one type; None where only Spark can compare them."""
    left, right = types
    common = left
    if left != right:
        if not _alike(left, right):
            return None
        both = f"coalesce({sides[0].asked}, {sides[1].asked})"
        (common,) = scope.statement.ask([(both, sides[0].node)], scope.asked)
        if sql_type(common) is None or (pat.is_decimal(common) and common.precision == _MOST_DIGITS):
            return None
    if pat.is_null(common):
        return None
    made = (
        Side(side.meant if of_type == common else cast(side.meant, common), common)
        for side, of_type in zip(sides, types, strict=True)
    )
    return next(made), next(made)


_MOST_DIGITS = 38
"""Where decimals have that many, Spark may have cut some off to compare them."""


def _alike(left: pa.DataType, right: pa.DataType) -> bool:
    """Whether values of two types are compared as what they are: as numbers, or as times."""
    return (_is_number(left) and _is_number(right)) or (
        (pat.is_date(left) and pat.is_timestamp(right)) or (pat.is_timestamp(left) and pat.is_date(right))
    )


def _is_number(of_type: pa.DataType) -> bool:
    return bool(pat.is_integer(of_type) or pat.is_floating(of_type) or pat.is_decimal(of_type))


def _says_nothing(scope: BlockScope, expression: Expression) -> bool:
    """Whether a condition only says that sub-queries are evaluated together, which they are."""
    meant = expression.meant
    while isinstance(meant, exp.Paren):
        meant = meant.this
    if EVALUATION not in expression.parts:
        return False
    if isinstance(meant, exp.EQ):
        sides = [
            side.this if isinstance(side, exp.Paren) else side for side in (meant.this, meant.expression)
        ]
        if all(map(is_evaluation, sides)) and spark_sql(sides[0]) == spark_sql(sides[1]):
            return True
    raise scope.problem(
        "a condition on rows cannot be about the evaluation that they are answered at",
        expression.node,
        "conditions on window_end go behind HAVING, or where the results are read",
    )

"""Aggregate calls as they stand in a statement, read into what the catalogue knows.

SUM(x) FILTER (WHERE y > 1), COUNT(DISTINCT x), FIRST(x) IGNORE NULLS, PERCENTILE(x, 0.9): a call has
expressions, constants that must be written out, and clauses around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from windrow.aggregates import SYNONYMS, Call
from windrow.aggregates.call import EVERY_ROW
from windrow.logical.bind.refuse import function_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from windrow.aggregates import Constant, Function
    from windrow.logical.bind.scope import Scope

CLAUSES = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)
"""What stands around a call, outermost first or last."""


def is_aggregate(node: exp.Expr, functions: Collection[str]) -> bool:
    """Whether a node calls an aggregate, one of ours or another of Spark's; clauses may be around it."""
    call = without_clauses(node)
    return isinstance(call, exp.Func) and (
        isinstance(call, exp.AggFunc) or canonical(function_name(call)) in functions
    )


def without_clauses(node: exp.Expr) -> exp.Expr:
    """The call that clauses stand around; a node without any is itself."""
    while isinstance(node, CLAUSES):
        node = node.this
    return node


def canonical(name: str) -> str:
    """The one name of a function that has several."""
    return SYNONYMS.get(name, name)


def spark_sql(node: exp.Expr) -> str:
    """An expression as Spark SQL."""
    return node.sql(dialect="spark", comments=False)


class CallReader:
    """Reads the calls of one statement."""

    def __init__(self, scope: Scope, functions: Mapping[str, Function]) -> None:
        self._scope = scope
        self._functions = functions

    def read(self, node: exp.Expr) -> Call:
        """The call at a node for which `is_aggregate` holds."""
        node, clauses = without_clauses(node), _clauses(node)
        assert isinstance(node, exp.Func)
        name = canonical(function_name(node))
        function = self._functions.get(name)
        if function is None:
            raise self._scope.problem(f"{name.upper()} over a window is not supported yet", node, name=True)
        inside = [inner for inner in node.walk() if inner is not node]
        conditions: list[exp.Expr] = [
            clause.expression for clause in clauses if isinstance(clause, exp.Filter)
        ]
        inside += [inner for condition in conditions for inner in condition.walk()]
        if any(is_aggregate(inner, self._functions) for inner in inside):
            raise self._scope.problem(f"an aggregate inside {name.upper()} has no meaning", node)
        given = list(node.iter_expressions())
        distinct = bool(given) and isinstance(given[0], exp.Distinct)
        if distinct:
            if function.distinct is None:
                raise self._scope.problem(f"DISTINCT has no meaning in {name.upper()}", given[0])
            given = [*given[0].expressions, *given[1:]]
        split = len(given) if distinct and not function.constants else function.arguments
        if len(given) < function.arguments or len(given) > split + len(function.constants):
            raise self._scope.problem(f"{name.upper()} over a window takes {_taken(function)}", node)
        ignore_nulls = any(isinstance(clause, exp.IgnoreNulls) for clause in clauses)
        if ignore_nulls and not function.nulls:
            raise self._scope.problem(
                f"{name.upper()} ignores NULLs in any case", node, "leave IGNORE NULLS out"
            )
        return Call(
            name,
            tuple(self._argument(node) for node in given[:split]),
            self._constants(name, function, node, given[split:]),
            distinct,
            ignore_nulls,
            self._condition(conditions),
        )

    def _argument(self, node: exp.Expr) -> str:
        return EVERY_ROW if isinstance(node, exp.Star) else spark_sql(self._scope.resolve(node))

    def _condition(self, conditions: list[exp.Expr]) -> str | None:
        resolved = [spark_sql(self._scope.resolve(condition.this)) for condition in conditions]
        return (
            " AND ".join(f"({sql})" for sql in resolved) if len(resolved) > 1 else next(iter(resolved), None)
        )

    def _constants(
        self, name: str, function: Function, call: exp.Expr, given: Sequence[exp.Expr]
    ) -> tuple[Any, ...]:
        values = []
        for constant, node in zip(function.constants, given, strict=False):
            value = _constant(node)
            if value is None or not constant.fits(value):
                raise self._scope.problem(_unfit(name, constant, spark_sql(node)), node)
            values.append(value)
        for constant in function.constants[len(given) :]:
            if constant.default is None:
                raise self._scope.problem(f"{name.upper()} needs {constant.name}: {constant.what}", call)
            values.append(constant.default)
        return tuple(values)


def _clauses(node: exp.Expr) -> list[exp.Expr]:
    clauses: list[exp.Expr] = []
    while isinstance(node, CLAUSES):
        clauses.append(node)
        node = node.this
    return clauses


def _constant(node: exp.Expr) -> Any:
    """The value of a literal, or of an array of them; None if it is anything else."""
    if isinstance(node, exp.Neg):
        value = _constant(node.this)
        return -value if isinstance(value, int | float) else None
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Array):
        values = tuple(_constant(item) for item in node.expressions)
        return None if None in values else values
    if not isinstance(node, exp.Literal):
        return None
    return node.name if node.is_string else int(node.name) if node.is_int else float(node.name)


def _unfit(name: str, constant: Constant, written: str) -> str:
    return f"the {constant.name} of {name.upper()} has to be {constant.what}, written out, not {written}"


def _taken(function: Function) -> str:
    """What a function takes, for people."""
    count = f"{function.arguments} argument{'s'[: function.arguments != 1]}"
    if function.arguments == 1:
        count = "one argument"
    named = [
        f"{c.name}, {c.what}{' (may be left out)' * (c.default is not None)}" for c in function.constants
    ]
    return " and ".join([count, *named])

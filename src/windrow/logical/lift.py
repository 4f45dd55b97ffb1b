"""SELECT and HAVING expressions over answers: keys and aggregate calls become answer columns.

ROUND(AVG(x), 2)  →  ROUND(`_aggregate0`, 2)      with the call avg(x) lifted out
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.aggregates import AGGREGATES
from windrow.cql import name_span, span
from windrow.errors import StatementError
from windrow.logical.plan import aggregate_name, key_name
from windrow.logical.refuse import function_name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from windrow.logical.scope import Scope


class Lift:
    """Lifts the aggregate calls out of expressions, each distinct call once."""

    def __init__(self, scope: Scope, keys: Sequence[str], window_columns: Collection[str]) -> None:
        self.calls: dict[str, exp.Func] = {}
        """The calls found so far, by their Spark SQL; their order is that of the answer columns."""
        self._scope = scope
        self._keys = keys
        self._window_columns = window_columns

    def __call__(self, node: exp.Expr) -> exp.Expr:
        """The expression over answer columns."""
        if is_aggregate(node):
            return _answer(aggregate_name(self._place(node)))
        if self._is_window_column(node):
            if self._scope.knows(node.name):
                problem = f"'{node.name}' is a column of the stream, and the name of the window's own"
                hint = "write the stream's name in front of it, and AS with another name behind"
                raise StatementError(problem, self._scope.text, *span(node), hint)
            return _answer(node.name.lower())
        if not any(is_aggregate(inner) or self._is_window_column(inner) for inner in node.walk()):
            sql = spark_sql(self._scope.resolve(node))
            if sql in self._keys:
                return _answer(key_name(self._keys.index(sql)))
        if isinstance(node, exp.Column):
            problem = f"column '{node.name}' is neither grouped nor aggregated"
            raise StatementError(problem, self._scope.text, *span(node), "GROUP BY it, or aggregate it")
        copy = node.copy()
        for child in list(copy.iter_expressions()):
            child.replace(self(child))
        return copy

    def _is_window_column(self, node: exp.Expr) -> bool:
        return isinstance(node, exp.Column) and not node.table and node.name.lower() in self._window_columns

    def _place(self, call: exp.Expr) -> int:
        assert isinstance(call, exp.Func)
        text, name = self._scope.text, function_name(call)
        if name not in AGGREGATES:
            problem = f"{name.upper()} over a window is not supported yet"
            raise StatementError(problem, text, *name_span(call))
        if any(is_aggregate(node) for node in call.walk() if node is not call):
            raise StatementError(f"an aggregate inside {name.upper()} has no meaning", text, *span(call))
        arguments = [self._argument(node) for node in call.iter_expressions()]
        if len(arguments) > 1:
            raise StatementError(f"{name.upper()} over a window takes one argument", text, *span(call))
        sql = f"{name}({arguments[0] if arguments else '*'})"
        self.calls.setdefault(sql, call)
        return list(self.calls).index(sql)

    def _argument(self, node: exp.Expr) -> str:
        if isinstance(node, exp.Star):
            return "*"
        if isinstance(node, exp.Distinct):
            problem = "DISTINCT aggregates over a window are not supported yet"
            raise StatementError(problem, self._scope.text, *span(node))
        return spark_sql(self._scope.resolve(node))


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node calls an aggregate, one of ours or another of Spark's."""
    return isinstance(node, exp.Func) and (isinstance(node, exp.AggFunc) or function_name(node) in AGGREGATES)


def spark_sql(node: exp.Expr) -> str:
    """An expression as Spark SQL."""
    return node.sql(dialect="spark", comments=False)


def _answer(name: str) -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=True))

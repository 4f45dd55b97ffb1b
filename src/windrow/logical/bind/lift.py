"""SELECT and HAVING expressions over answers: keys and aggregate calls become answer columns.

ROUND(AVG(x), 2)  →  ROUND(`_aggregate0`, 2)      with the call avg(x) lifted out
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.columns import aggregate_name, key_name
from windrow.cql import span
from windrow.errors import StatementError
from windrow.logical.bind.calls import CallReader, is_aggregate, spark_sql

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from windrow.aggregates import Call, Function
    from windrow.logical.bind.scope import Scope


class Lift:
    """Lifts the aggregate calls out of expressions, each distinct call once."""

    def __init__(
        self,
        scope: Scope,
        keys: Sequence[str],
        window_columns: Collection[str],
        functions: Mapping[str, Function],
    ) -> None:
        self.calls: dict[Call, exp.Expr] = {}
        """The calls found so far, and where; their order is that of the answer columns."""
        self._scope = scope
        self._functions = functions
        self._reader = CallReader(scope, functions)
        self._keys = keys
        self._window_columns = window_columns

    def __call__(self, node: exp.Expr) -> exp.Expr:
        """The expression over answer columns."""
        if self._is_aggregate(node):
            return _answer(aggregate_name(self._place(node)))
        window_column = self._window_column(node)
        if window_column is not None:
            self._check_window_column(node)
            return _answer(window_column)
        if not any(self._is_aggregate(one) or self._window_column(one) is not None for one in node.walk()):
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

    def _is_aggregate(self, node: exp.Expr) -> bool:
        return is_aggregate(node, self._functions)

    def _window_column(self, node: exp.Expr) -> str | None:
        """Which of the columns of its window a node is; None if it is none."""
        is_one = isinstance(node, exp.Column) and not node.table and node.name.lower() in self._window_columns
        return node.name.lower() if is_one else None

    def _check_window_column(self, node: exp.Expr) -> None:
        if self._scope.knows(node.name):
            problem = f"'{node.name}' is a column of the stream, and the name of the window's own"
            hint = "write the stream's name in front of it, and AS with another name behind"
            raise StatementError(problem, self._scope.text, *span(node), hint)

    def _place(self, node: exp.Expr) -> int:
        call = self._reader.read(node)
        self.calls.setdefault(call, node)
        return list(self.calls).index(call)


def _answer(name: str) -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=True))

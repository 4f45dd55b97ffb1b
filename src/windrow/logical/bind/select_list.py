"""The clauses of one SELECT, as far as they mean the same whatever it becomes: result columns and their
names, what GROUP BY and HAVING stand for, which functions there are.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.columns import RESERVED
from windrow.errors import suggestion
from windrow.logical.bind.calls import is_aggregate, spark_sql
from windrow.logical.bind.refuse import function_name
from windrow.logical.bind.stars import without_stars

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from windrow.logical.bind.scope import Scope


class SelectList:
    """Reads the clauses of a SELECT, with these aggregate functions."""

    def __init__(self, select: exp.Select, scope: Scope, functions: Collection[str]) -> None:
        self._select = select
        self._scope = scope
        self._functions = functions

    def items(self, had: Sequence[str] = ()) -> list[exp.Expr]:
        """What is selected, with columns in place of stars; `had`: what the stars stood for at first."""
        # What is written beside a star, or given by the engine, was no column of the star.
        items = self._select.selects
        others = {output_name(item).lower() for item in items if not item.is_star}
        known = [name for name in had if name.lower() not in RESERVED | others]
        return without_stars(items, self._scope, known)

    def check_names(self, items: Sequence[exp.Expr], taken: Iterable[str] = ()) -> list[str]:
        """The names of the result columns; an error for two that are equal, and for Windrow's own."""
        names = [output_name(item) for item in items]
        counts = Counter([*taken, *(name.lower() for name in names)])
        for item, name in zip(items, names, strict=True):
            if name.lower() in RESERVED:
                raise self._scope.problem(f"the name '{name}' is Windrow's own", item, "use another alias")
            if counts[name.lower()] > 1:
                raise self._scope.problem(
                    f"two result columns are called '{name}'", item, "give one of them an alias"
                )
        return names

    def group_keys(self) -> list[tuple[exp.Expr, exp.Expr]]:
        """What rows are grouped by: an expression over the rows, and where GROUP BY says it."""
        group = self._select.args.get("group")
        if group is None:
            return []
        for extra in ("grouping_sets", "rollup", "cube", "totals", "all"):
            if group.args.get(extra):
                raise self._scope.problem(
                    f"GROUP BY {extra.replace('_', ' ').upper()} is not supported yet", group
                )
        keys = []
        for node in group.expressions:
            if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets):
                raise self._scope.problem(
                    f"GROUP BY {type(node).__name__.upper()} is not supported yet", node
                )
            expression = self._group_expression(node)
            self._refuse_aggregates(expression, node, "GROUP BY")
            keys.append((expression, node))
        return keys

    def refuse_aggregates_in_where(self) -> None:
        """An error for an aggregate in WHERE."""
        where = self._select.args.get("where")
        call = next((node for node in _own(where) if self.is_aggregate(node)), None) if where else None
        if call is not None:
            assert isinstance(call, exp.Func)
            raise self._scope.problem(
                f"{function_name(call).upper()} is an aggregate and cannot stand in WHERE", call,
                "conditions on aggregates go behind HAVING",
            )  # fmt: skip

    def having(self) -> exp.Expr | None:
        """The condition of HAVING, which may use the aliases of the SELECT list, as in Spark."""
        clause = self._select.args.get("having")
        if clause is None:
            return None
        aliases = {item.alias.lower(): item for item in self._select.selects if isinstance(item, exp.Alias)}

        def spell(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column) and not node.table and not self._scope.knows(node.name):
                item = aliases.get(node.name.lower())
                if item is not None:
                    return exp.paren(item.this.copy())
            return node

        condition: exp.Expr = clause.this.transform(spell)
        return condition

    def groups(self) -> bool:
        """Whether the statement groups rows, so that it has to say of which time."""
        if self._select.args.get("group") or self._select.args.get("having"):
            return True
        return any(self.is_aggregate(node) for item in self._select.selects for node in _own(item))

    def check_functions(self, of_spark: Callable[[], Collection[str]]) -> None:
        """An error for a function that neither Spark nor Windrow has; Spark is asked if it may be one."""
        for node in self._select.find_all(exp.Anonymous):
            if node.find_ancestor(exp.Hint) is not None or self.is_aggregate(node):
                continue
            known = of_spark()
            if node.name.lower() not in known:
                hint = suggestion(node.name, [*self._functions, *known]) or (
                    f"register an aggregate of your own with eng.aggregate('{node.name}', …)"
                )
                raise self._scope.problem(f"unknown function '{node.name}'", node, hint, name=True)

    def refuse_hints(self, where: str) -> None:
        """An error for a hint, which has no meaning there."""
        hint = self._select.args.get("hint")
        for node in hint.expressions if hint else []:
            raise self._scope.problem(f"{node.name.upper()} has no meaning {where}", node, name=True)

    def is_aggregate(self, node: exp.Expr) -> bool:
        """Whether a node calls an aggregate."""
        return is_aggregate(node, self._functions)

    def _group_expression(self, node: exp.Expr) -> exp.Expr:
        """GROUP BY 1 and GROUP BY alias mean an item of the SELECT list, as in Spark."""
        items = self._select.selects
        if isinstance(node, exp.Literal) and node.is_int:
            place = int(node.name)
            if not 1 <= place <= len(items):
                raise self._scope.problem(f"GROUP BY {place}: the SELECT list has no item {place}", node)
            return unaliased(items[place - 1])
        if isinstance(node, exp.Column) and not node.table and not self._scope.knows(node.name):
            for item in items:
                if isinstance(item, exp.Alias) and item.alias.lower() == node.name.lower():
                    return item.this
        return node

    def _refuse_aggregates(self, expression: exp.Expr, node: exp.Expr, clause: str) -> None:
        call = next((inner for inner in expression.find_all(exp.Func) if self.is_aggregate(inner)), None)
        if call is not None:
            raise self._scope.problem(
                f"{function_name(call).upper()} is an aggregate and cannot stand in {clause}", node
            )


def output_name(item: exp.Expr) -> str:
    """The name of a result column."""
    if isinstance(item, exp.Alias | exp.Column):
        return str(item.alias_or_name)
    return spark_sql(item).replace("`", "").lower() if isinstance(item, exp.Func) else spark_sql(item)


def unaliased(item: exp.Expr) -> exp.Expr:
    """What is selected, without the name that it is given."""
    return item.this if isinstance(item, exp.Alias) else item


def _own(item: exp.Expr) -> Iterable[exp.Expr]:
    """The nodes of an expression that are not in a sub-query."""
    return item.walk(prune=lambda node: isinstance(node, exp.Query))

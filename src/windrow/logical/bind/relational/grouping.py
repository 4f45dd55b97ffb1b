"""GROUP BY and HAVING above a block: keys, and what partials need of each row, are columns of its tree.

    SELECT a.k, ROUND(AVG(a.x / b.x), 2) FROM a …, b … GROUP BY a.k

    compute round(_aggregate0, 2)
    └ aggregate AVG(a.x / b.x) by a.k
      └ compute a.k, CAST(a.x / b.x AS DOUBLE)
        └ join …

The aggregates are those that slices are made of, as they are.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow.types as pat
from sqlglot import exp, parse_one

from windrow.aggregates.base import ANY_ROW, value_name
from windrow.aggregates.contents import contents_of
from windrow.columns import WINDOW_END, WINDOW_START
from windrow.logical.bind.aggregates import arguments_of, made
from windrow.logical.bind.calls import spark_sql
from windrow.logical.bind.lift import Lift
from windrow.logical.bind.questions import ANSWERS
from windrow.logical.bind.relational import refusals
from windrow.logical.bind.relational.assembly import Assembly
from windrow.logical.bind.relational.block import Block, Condition, Item, Side
from windrow.logical.bind.relational.columns import (
    EVALUATION,
    Expression,
    is_evaluation,
    meant_by,
    part_column,
    parts_of,
    replaced,
    short,
)
from windrow.logical.bind.relational.results import result_part
from windrow.logical.bind.select_list import unaliased
from windrow.logical.tree import Group

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from windrow.aggregates import Aggregate, Function
    from windrow.logical.bind.relational.block_scope import BlockScope
    from windrow.logical.bind.relational.parts import Result
    from windrow.logical.bind.select_list import SelectList


def group(scope: BlockScope, select: exp.Select, listed: SelectList, block: Block) -> Block:
    """The block that selects from the groups of another one."""
    return _Grouping(scope, select, listed, block).block()


class _Lift(Lift):
    """Lifts calls out of expressions over any relations, of which some may say when they were evaluated."""

    def __init__(self, scope: BlockScope, keys: Sequence[str], functions: Mapping[str, Function]) -> None:
        super().__init__(scope, keys, (), functions)
        self._block_scope = scope

    def _window_column(self, node: exp.Expr) -> str | None:
        return self._block_scope.evaluation_column(node)

    def _check_window_column(self, node: exp.Expr) -> None:
        """A column of a sub-query may be one of these as well."""


class _Grouping:
    def __init__(self, scope: BlockScope, select: exp.Select, listed: SelectList, block: Block) -> None:
        self.scope = scope
        self.statement = scope.statement
        self.select = select
        self.listed = listed
        self.below = block
        refusals.refuse_above_group(scope, block, "GROUP BY", select)
        refusals.refuse_mixture(scope, block)

    def block(self) -> Block:
        """The groups, and what is selected of them."""
        keys = self._keys()
        lift = _Lift(self.scope, [key.asked for key in keys], self.statement.functions)
        star = next((item for item in self.select.selects if item.is_star), None)
        if star is not None:
            raise self.scope.problem(
                "SELECT * has no meaning in an aggregate query; name the group columns and the aggregates",
                star,
            )
        lifted = [(item, lift(unaliased(item))) for item in self.select.selects]
        having = self.listed.having()
        lifted_having = None if having is None else lift(having)
        asked = [*((key.asked, key.node) for key in keys), *arguments_of(lift.calls)]
        if not asked:
            raise self.scope.problem("the query neither groups nor aggregates", self.select.selects[0])
        types = self.statement.ask(asked, self.scope.asked)
        for key, of_type in zip(keys, types, strict=False):
            if pat.is_nested(of_type):
                raise self.scope.problem(
                    f"GROUP BY {short(key.asked)}: values of type {of_type} cannot be grouped yet", key.node
                )
        ask = partial(self.statement.ask, relations=self.scope.asked)
        aggregates = made(lift.calls, types[len(keys) :], self.statement.functions, self.scope, ask)
        refusals.refuse_aggregates(self.scope, self.below, aggregates, list(lift.calls.values()))
        known = {sql: of_type for (sql, _), of_type in zip(asked, types, strict=True)}
        node = self._node(keys, types, aggregates, list(lift.calls.values()), known)
        part = result_part(self.statement, node, self.below.windows, self.select)
        return self._selected(part, lifted, lifted_having)

    def _keys(self) -> list[Expression]:
        """What rows are grouped by. All rows of an evaluation have one window_end: it tells no groups
        apart."""
        found: dict[str, Expression] = {}
        for expression, node in self.listed.group_keys():
            key = self.scope.read(expression)
            if is_evaluation(key.meant):
                continue
            self._refuse_evaluation(key.meant, node)
            found.setdefault(key.asked, Expression(node, key.asked, key.meant))
        return list(found.values())

    def _node(
        self,
        keys: Sequence[Expression],
        types: Sequence[pa.DataType],
        aggregates: Sequence[Aggregate],
        nodes: Sequence[exp.Expr],
        known: dict[str, pa.DataType],
    ) -> Group:
        assembly = Assembly(self.statement, self.below)
        columns = [
            assembly.column(Side(key.meant, of_type)) for key, of_type in zip(keys, types, strict=False)
        ]
        wanted = _wanted(aggregates, nodes)
        unknown = [(sql, node) for sql, node in wanted.values() if sql not in known]
        found = self.statement.ask(unknown, self.scope.asked)
        known |= {sql: of_type for (sql, _), of_type in zip(unknown, found, strict=True)}
        values = []
        for name, (sql, node) in wanted.items():
            meant = meant_by(parse_one(sql, dialect="spark"), self.statement.meanings)
            self._refuse_evaluation(meant, node)
            values.append((name, assembly.column(Side(meant, known[sql])).name))
        windows = self.statement.windows
        return Group(
            assembly.node(),
            tuple(column.name for column in columns),
            tuple(aggregates),
            tuple(values),
            windows.slide,
            windows.offset,
            all(window.internal for window in self.below.windows),
        )

    def _selected(
        self, part: Result, lifted: Sequence[tuple[exp.Expr, exp.Expr]], having: exp.Expr | None
    ) -> Block:
        """SELECT and HAVING over the columns of the groups."""
        answers = dict(part.of.types)
        if self.statement.windows.slide is not None:
            answers |= dict.fromkeys((WINDOW_START, WINDOW_END), self.statement.windows.time_type)

        def meaning(column: exp.Column) -> exp.Expr | None:
            if column.table or column.name not in answers:
                return None
            is_evaluated = column.name in (WINDOW_START, WINDOW_END)
            return part_column(EVALUATION if is_evaluated else part.key, column.name)

        names = self.listed.check_names([item for item, _ in lifted])
        asked = [(spark_sql(node), item) for item, node in lifted]
        condition = [] if having is None else [(spark_sql(having), self.select.args["having"])]
        found = self.statement.ask(asked, {ANSWERS: answers}, condition)
        items = [
            Item(name, replaced(node, meaning), of_type, item)
            for name, (item, node), of_type in zip(names, lifted, found, strict=True)
        ]
        conditions = [
            Condition(Expression(node, sql, replaced(having, meaning)))
            for sql, node in condition
            if having is not None
        ]
        return Block({part.key: part}, items, self.select, conditions)

    def _refuse_evaluation(self, meant: exp.Expr, node: exp.Expr) -> None:
        if EVALUATION in parts_of(meant):
            raise self.scope.problem(
                "all rows of an evaluation have the same window_end, and nothing is computed with it here",
                node,
                "compute with window_end in the SELECT list at the top of the query",
            )


def _wanted(aggregates: Sequence[Aggregate], nodes: Sequence[exp.Expr]) -> dict[str, tuple[str, exp.Expr]]:
    """What rows have to give, as Spark SQL, by the name that partials and contents have for it."""
    wanted = {}
    for aggregate, node in zip(aggregates, nodes, strict=True):
        contents = contents_of(aggregate)
        if contents is not None:
            wanted[contents.value_name] = (contents.argument, node)
        for one in aggregate.partials:
            if one.value != ANY_ROW:
                wanted[value_name(one)] = (one.value, node)
    return wanted

"""A SELECT to a block: FROM, conditions, what is selected; with DISTINCT or GROUP BY the part that comes of
it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.logical.bind.relational import refusals
from windrow.logical.bind.relational.block import Block, Item
from windrow.logical.bind.relational.block_scope import BlockScope
from windrow.logical.bind.relational.conditions import conjuncts, read_conditions
from windrow.logical.bind.relational.from_items import FromItems, Named
from windrow.logical.bind.relational.grouping import group
from windrow.logical.bind.relational.results import result_of
from windrow.logical.bind.relational.results_in_windows import refuse_windowless
from windrow.logical.bind.relational.semi_joins import SemiJoins, is_semi_join
from windrow.logical.bind.relational.set_operations import sides_of, united
from windrow.logical.bind.relational.tables import Tables
from windrow.logical.bind.select_list import SelectList, unaliased
from windrow.logical.tree import Distinct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.logical.bind.relational.statement import Statement


class Blocks:
    """Binds the blocks of a statement."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement

    def below(self, query: exp.Expr, named: Named, label: str = "", *, alone: bool = False) -> Block:
        """A sub-query; `label`: what it is called in FROM; `alone`: nothing else stands there."""
        block = self.bind(query, named, label)
        if alone or block.groups is None:
            return block
        # The columns of groups have the same names everywhere: beside others they get names of their own.
        return result_of(self.statement, block, label, lambda groups: groups)

    def bind(self, query: exp.Expr, named: Named, label: str = "", *, top: bool = False) -> Block:
        """A query, with the names that it sees."""
        while isinstance(query, exp.Subquery) and query.is_wrapper:
            query = query.this
        if not top:
            refusals.refuse_delivery(self.statement.query.text, query)
        if isinstance(query, exp.SetOperation):
            refusals.refuse_set_operation(self.statement.query.text, query)
            inner = named.and_those_of(query)
            sides = [self._side(one, inner, top=top) for one in sides_of(query)]
            return united(self.statement, query, sides, label)
        assert isinstance(query, exp.Select)
        return self._select(query, named, label, top=top)

    def _side(self, query: exp.Expr, named: Named, *, top: bool) -> Block:
        """One side of a UNION; a star in it is kept as it was if results have its columns."""
        refusals.refuse_delivery(self.statement.query.text, query)
        if isinstance(query, exp.Select):
            return self._select(query, named, "", top=top)
        return self.bind(query, named)

    def _select(self, select: exp.Select, named: Named, label: str, *, top: bool) -> Block:
        """One SELECT."""
        block, scope, listed = self.joined(select, named)
        if listed.groups() or select.args.get("distinct"):
            refuse_windowless(self.statement, block)
        if listed.groups():
            block = group(scope, select, listed, block)
        else:
            block.items = self.items(scope, listed, self.statement.had if top else ())
        if select.args.get("distinct"):
            refusals.check_distinct(scope, block, "DISTINCT", select.args["distinct"])
            return result_of(self.statement, block, label, Distinct)
        return block

    def joined(
        self, select: exp.Select, named: Named, outer: BlockScope | None = None
    ) -> tuple[Block, BlockScope, SelectList]:
        """FROM and WHERE of a SELECT, which may be inside another one's WHERE."""
        statement = self.statement
        refusals.refuse_in_select(statement.query.text, select)
        named = named.and_those_of(select)
        scope = BlockScope(statement, outer)
        found = FromItems(select, scope, named, self.below)
        listed = SelectList(select, scope, statement.functions)
        listed.check_functions(statement.spark.functions)
        listed.refuse_hints("here: final aggregators are for windows that slices answer")
        listed.refuse_aggregates_in_where()
        where = select.args.get("where")
        nodes = [*found.on, *conjuncts(where.this if where else None)]
        plain = [node for node in nodes if not is_semi_join(node)]
        for node in plain:
            refusals.refuse_sub_queries(statement.query.text, node)
        tables = Tables(scope, found.parts, found.tables)
        conditions = tables.attach(read_conditions(scope, plain))
        block = Block(found.parts, [], select, [*found.conditions, *conditions], found.semi_joins)
        semi_joins = SemiJoins(scope, block, partial(self._inside, named=named, outer=scope))
        for join in found.left_semi:
            semi_joins.bind_join(join)
        for node in nodes:
            if is_semi_join(node):
                semi_joins.bind_condition(node)
        if block.semi_joins:
            refusals.refuse_internal(scope, block, "EXISTS, IN and LEFT SEMI JOIN")
        if len(block.parts) > 1 or block.semi_joins:
            refusals.refuse_above_group(scope, block, "a join")
        if len(block.parts) > 1 or block.semi_joins:
            refuse_windowless(statement, block)
        refusals.refuse_endless_joins(scope, block)
        return block, scope, listed

    def _inside(self, query: exp.Expr, with_items: bool, *, named: Named, outer: BlockScope) -> Block:
        """A sub-query of WHERE, which may use the names around it if it only joins and selects."""
        while isinstance(query, exp.Subquery) and query.is_wrapper:
            query = query.this
        refusals.refuse_delivery(self.statement.query.text, query)
        is_distinct = with_items and bool(query.args.get("distinct"))
        if not isinstance(query, exp.Select) or is_distinct or self._groups(query):
            return self.below(query, named)
        block, scope, listed = self.joined(query, named, outer)
        if with_items:
            block.items = self.items(scope, listed)
        return block

    def _groups(self, select: exp.Select) -> bool:
        """Whether a SELECT groups rows."""
        return SelectList(select, BlockScope(self.statement), self.statement.functions).groups()

    def items(self, scope: BlockScope, listed: SelectList, had: Sequence[str] = ()) -> list[Item]:
        """What is selected, as expressions over the parts."""
        nodes = listed.items(had)
        names = listed.check_names(nodes)
        read = [scope.read(unaliased(node)) for node in nodes]
        asked = [(one.asked, node) for one, node in zip(read, nodes, strict=True)]
        types = self.statement.ask(asked, scope.asked)
        return [
            Item(name, one.meant, of_type, node)
            for name, one, of_type, node in zip(names, read, types, nodes, strict=True)
        ]

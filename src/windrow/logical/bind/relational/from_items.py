"""FROM of a block: windows of streams, sub-queries, and the unchanging tables that rows of a stream meet.

A sub-query melts into the block: its parts and conditions become those of the block, its columns stand for
what they are computed from. A table belongs to the pass over the stream that it is joined with (`tables.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from windrow.cql import TimeWindowNode, name_span, window_of
from windrow.errors import StatementError
from windrow.logical.bind.known import relation_of
from windrow.logical.bind.named_queries import is_named_query
from windrow.logical.bind.relational import refusals
from windrow.logical.bind.relational.columns import part_column
from windrow.logical.bind.relational.conditions import conjuncts
from windrow.logical.bind.relational.parts import Port
from windrow.logical.bind.relational.results_in_windows import results_in_window, windowless
from windrow.logical.bind.relational.tables import JoinedTable
from windrow.logical.bind.using import condition_of
from windrow.logical.relation import Stream, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from windrow.logical.bind.relational.block import Block, Condition, SemiJoin
    from windrow.logical.bind.relational.block_scope import BlockScope
    from windrow.logical.bind.relational.parts import Part
    from windrow.logical.relation import Relation

    class BindQuery(Protocol):
        """Binds a sub-query of FROM."""

        def __call__(self, query: exp.Expr, named: Named, label: str, *, alone: bool) -> Block: ...


@dataclass(frozen=True)
class Named:
    """The queries that WITH has given names to, as far as a block sees them."""

    by_name: Mapping[str, tuple[exp.CTE, Named]] = field(default_factory=dict)
    """Each with the names that it sees itself."""

    def and_those_of(self, query: exp.Expr) -> Named:
        """These, and those that a query begins with."""
        clause = query.args.get("with_") or query.args.get("with")
        named = self
        for cte in clause.expressions if clause else ():
            named = Named({**named.by_name, cte.alias.lower(): (cte, named)})
        return named


class FromItems:
    """The items of a FROM, which are in the scope of the block once this is made."""

    def __init__(self, select: exp.Select, scope: BlockScope, named: Named, bind_query: BindQuery) -> None:
        self.parts: dict[str, Part] = {}
        self.tables: list[JoinedTable] = []
        self.on: list[exp.Expr] = []
        """What ON and USING say, condition by condition, but those of outer joins."""
        self.conditions: list[Condition] = []
        """What sub-queries have to hold."""
        self.semi_joins: list[SemiJoin] = []
        self.left_semi: list[exp.Join] = []
        self._scope = scope
        self._statement = scope.statement
        self._named = named
        self._bind_query = bind_query
        clause = select.args.get("from_") or select.args.get("from")
        if clause is None:
            raise scope.problem("a query needs FROM and a stream", select)
        where = select.args.get("where")
        self._alone = not select.args.get("joins") and (where is None or where.find(exp.Query) is None)
        self._add(clause.this, None)
        for join in select.args.get("joins") or ():
            self._join(join)
        if not self.parts:
            first = self.tables[0]
            raise scope.problem(
                f"'{first.table.name}' is a table, and nothing here is a stream", first.at,
                "JOIN the table with the stream, in FROM", name=True,
            )  # fmt: skip

    def _join(self, join: exp.Join) -> None:
        refusals.refuse_join(self._scope, join)
        if join.kind.upper() == "SEMI":
            self.left_semi.append(join)
            return
        alias = self._add(join.this, join)
        condition = condition_of(join, self._scope, alias)
        table = next((one for one in self.tables if one.alias == alias), None)
        if join.side and table is None:
            raise self._scope.problem(
                f"{join.side} JOIN of windows is not supported yet", join.this,
                "use JOIN, or a table on its right side", name=True,
            )  # fmt: skip
        if table is not None and join.side:
            if condition is not None:
                refusals.refuse_sub_queries(self._statement.query.text, condition)
            table.on = condition
        elif condition is not None:
            self.on += conjuncts(condition)
            if table is not None:
                table.inner_on = list(conjuncts(condition))

    def _add(self, node: exp.Expr, join: exp.Join | None) -> str:
        """One more item; the name that it has in the block."""
        if isinstance(node, exp.Subquery) and isinstance(node.unnest(), exp.Query):
            return self._add_query(node, node.this, self._named, node.alias or "subquery")
        if not isinstance(node, exp.Table):
            raise self._scope.problem("only streams, tables and sub-queries can stand in FROM", node)
        cte, seen = self._named.by_name.get(node.name.lower(), (None, self._named))
        if cte is not None and not node.db:
            self._statement.used.append(cte)
            return self._add_query(node, cte, seen, node.alias or cte.alias)
        relation = self._relation(node)
        if isinstance(relation, Table):
            return self._add_table(node, relation, join)
        return self._add_stream(node, relation)

    def _add_query(self, at: exp.Expr, query: exp.Expr, named: Named, alias: str) -> str:
        cte_names = [query.args.get("alias")] if isinstance(query, exp.CTE) else []
        block = self._block(at, query, named, alias)
        self.parts |= block.parts
        self.conditions += block.conditions
        self.semi_joins += block.semi_joins
        names = [item.name for item in block.items]
        for given in (*cte_names, at.args.get("alias")):
            names = self._renamed(names, given)
        columns = {name: item.type for name, item in zip(names, block.items, strict=True)}
        if len(block.parts) == 1:
            next(iter(block.parts.values())).label = alias
        meanings = {name: item.meant for name, item in zip(names, block.items, strict=True)}
        self._scope.add(alias, at, columns, meanings)
        return alias

    def _block(self, at: exp.Expr, query: exp.Expr, named: Named, alias: str) -> Block:
        """A sub-query, or the results of one in a window; `at`: where FROM has it."""
        if not isinstance(at, exp.Table) or not isinstance(query, exp.CTE):
            return self._bind_query(query, named, alias, alone=self._alone)
        named_query = is_named_query(query)
        if window_of(at) is not None or named_query:
            if named_query:
                refusals.refuse_news(self._scope, at, query.this)
            bind = partial(self._bind_query, query.this, named, alias, alone=True)
            try:
                return results_in_window(self._statement, at, bind, alias, named=named_query)
            except StatementError as error:
                raise self._about(at, query, error) from error
        block = self._bind_query(query.this, named, alias, alone=self._alone)
        port = windowless(block)
        if port is not None:
            port.at = at
        return block

    def _about(self, at: exp.Table, query: exp.CTE, error: StatementError) -> StatementError:
        """An error in the statement of a query that is named here, or one about what is written here."""
        in_it = is_named_query(query) and (error.start, error.end) == name_span(at)
        if not in_it or f"'{at.name}'" in error.problem:
            return error
        problem = f"'{at.name}' cannot be a stream in FROM: {error.problem}"
        return self._scope.problem(problem, at, error.hint, name=True)

    def _renamed(self, names: list[str], alias: exp.Expr | None) -> list[str]:
        """The names of columns, or those that an alias gives them: AS t (a, b)."""
        given = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
        if not given:
            return names
        if len(given) != len(names):
            raise self._scope.problem(
                f"{len(given)} names for {len(names)} columns",
                alias or given[0],
                f"there are {', '.join(names)}",
            )
        renamed = [name.name for name in given]
        twice = next((n for n in given if [r.lower() for r in renamed].count(n.name.lower()) > 1), None)
        if twice is not None:
            raise self._scope.problem(
                f"two columns are called '{twice.name}'", twice, "give them other names"
            )
        return renamed

    def _add_stream(self, node: exp.Table, stream: Stream) -> str:
        window, alias = window_of(node), node.alias or stream.name
        if window is not None:
            if not isinstance(window, TimeWindowNode):
                raise self._scope.problem(
                    "a window of ROWS can only be aggregated, by itself", window, "use a RANGE"
                )
            self._statement.windows.add(window, stream)
        port = Port(
            key=self._statement.new_key(), label=alias, at=node, names=self._statement.names,
            number=len(self._statement.ports), stream=stream, window=window,
        )  # fmt: skip
        self._statement.ports.append(port)
        self.parts[port.key] = port
        meanings: dict[str, exp.Expr] = {
            name: part_column(port.key, name, stream.name) for name in stream.columns
        }
        self._scope.add(alias, node, stream.columns, meanings)
        return alias

    def _add_table(self, node: exp.Table, table: Table, join: exp.Join | None) -> str:
        window = window_of(node)
        if window is not None:
            raise self._scope.problem(f"'{table.name}' is a table, and a table has no window", window)
        alias, key = node.alias or table.name, self._statement.new_key()
        meanings: dict[str, exp.Expr] = {name: part_column(key, name, alias) for name in table.columns}
        asked = self._scope.add(alias, node, table.columns, meanings)
        side = "" if join is None else join.side.upper()
        self.tables.append(JoinedTable(key, alias, asked, table, node, side))
        return alias

    def _relation(self, table: exp.Table) -> Relation:
        others = [cte.alias for cte, _ in self._named.by_name.values()]
        return relation_of(table, self._scope, self._statement.relations, self._statement.queries, others)

"""Unchanging tables in FROM: each is joined, in the JVM, to the rows of the one stream that conditions
connect it with, so that it costs no state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.columns import quoted
from windrow.logical.bind.questions import view_name
from windrow.logical.bind.relational.block import Condition, Side
from windrow.logical.bind.relational.columns import Expression, part_column, part_of, parts_of, replaced
from windrow.logical.bind.relational.conditions import read_conditions
from windrow.logical.bind.relational.parts import Port

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from windrow.logical.bind.relational.block_scope import BlockScope
    from windrow.logical.bind.relational.parts import Part
    from windrow.logical.relation import Table


@dataclass
class JoinedTable:
    """A table in FROM."""

    key: str
    """What its columns are marked with until it is known which stream it is joined with."""
    alias: str
    asked: str
    table: Table
    at: exp.Expr
    side: str
    """LEFT, or nothing."""
    on: exp.Expr | None = None
    """What ON says in a LEFT JOIN."""
    inner_on: list[exp.Expr] = field(default_factory=list)
    """What ON says otherwise; it stands among the conditions of the block as well."""


class Tables:
    """The tables of a block, as they find their streams."""

    def __init__(self, scope: BlockScope, parts: Mapping[str, Part], tables: Sequence[JoinedTable]) -> None:
        self._scope = scope
        self._parts = parts
        self._waiting = list(tables)
        self._at_home: dict[str, tuple[str, str]] = {}
        """The port of each table that has one, and what it is called there."""

    def attach(self, conditions: list[Condition]) -> list[Condition]:
        """Join each table with its stream; the conditions of the block that are left, over its parts."""
        while self._waiting:
            found = next((t for t in self._waiting if self._attached(t, conditions)), None)
            if found is None:
                raise self._lost(self._waiting[0], conditions)
            self._waiting.remove(found)
            conditions = [self._moved_condition(one) for one in conditions if not self._is_done(one, found)]
            meanings = self._scope.statement.meanings[found.asked]
            meanings.update({name: self._moved(meaning) for name, meaning in meanings.items()})
        return conditions

    def _attached(self, table: JoinedTable, conditions: Sequence[Condition]) -> bool:
        """Whether a table could be joined with the stream that it is connected with."""
        if table.side:
            on = read_conditions(self._scope, [table.on]) if table.on is not None else []
            needed = frozenset().union(*(parts_of(self._moved(one.expression.meant)) for one in on))
            homes = needed - {table.key}
            condition = on[0].expression.meant if on else None
        else:
            homes = next((found for one in conditions if (found := self._connects(one, table))), frozenset())
            condition = None
        if not homes and self._only_port is not None and not self._is_connected(table, conditions):
            homes = frozenset({self._only_port.key})
        ports = [self._parts[key] for key in homes if isinstance(self._parts.get(key), Port)]
        if len(homes) != 1 or not ports:
            return False
        (port,) = ports
        assert isinstance(port, Port)
        self._join(table, port, condition, conditions)
        return True

    def _join(
        self, table: JoinedTable, port: Port, on: exp.Expr | None, conditions: Sequence[Condition]
    ) -> None:
        alias = port.new_alias(table.alias)
        port.tables[alias] = dict(table.table.columns)
        self._at_home[table.key] = (port.key, alias)
        if not table.side:
            said = [
                self._moved(one.expression.meant)
                for one in conditions
                if one.expression.node in table.inner_on
            ]
            here = [meant for meant in said if parts_of(meant) == {port.key}]
            on = exp.and_(*here) if here else None
        side = f"{table.side} " if table.side else ("CROSS " if on is None else "")
        join = f"{side}JOIN {view_name(table.table.name)} AS {quoted(alias)}"
        port.enrichments.append((table.table.name, join, None if on is None else self._moved(on)))

    def _is_done(self, condition: Condition, table: JoinedTable) -> bool:
        """Whether the join of a table says a condition."""
        if condition.expression.node not in table.inner_on:
            return False
        home, _ = self._at_home[table.key]
        return parts_of(self._moved(condition.expression.meant)) == {home}

    def _connects(self, condition: Condition, table: JoinedTable) -> frozenset[str]:
        """The one stream that a condition connects a table with; nothing if it does not."""
        others = condition.parts - {table.key}
        if table.key not in condition.parts or len(others) != 1 or others - self._parts.keys():
            return frozenset()
        return others

    def _is_connected(self, table: JoinedTable, conditions: Sequence[Condition]) -> bool:
        """Whether a condition is about a table and a table that has no stream yet."""
        waiting = {one.key for one in self._waiting} - {table.key}
        return any(table.key in one.parts and one.parts & waiting for one in conditions)

    @property
    def _only_port(self) -> Part | None:
        """The stream that a table without a condition is joined with: there is no other."""
        (first, *others) = self._parts.values()
        return first if isinstance(first, Port) and not others else None

    def _moved(self, meant: exp.Expr) -> exp.Expr:
        """An expression with the columns of tables as what they are where these are joined."""

        def at_home(column: exp.Column) -> exp.Expr | None:
            home = self._at_home.get(part_of(column))
            return None if home is None else part_column(home[0], column.name, home[1])

        return replaced(meant, at_home)

    def _moved_condition(self, condition: Condition) -> Condition:
        is_, sides = condition.expression, condition.sides
        expression = Expression(is_.node, is_.asked, self._moved(is_.meant))
        if sides is None:
            return Condition(expression)
        left, right = (Side(self._moved(side.meant), side.type) for side in sides)
        if parts_of(left.meant) & parts_of(right.meant):
            return Condition(expression)
        return Condition(expression, (left, right))

    def _lost(self, table: JoinedTable, conditions: Sequence[Condition]) -> Exception:
        name = table.table.name
        if len(self._parts) == 1 and self._only_port is None:
            return self._scope.problem(
                f"'{name}' is a table, and is joined with results", table.at,
                "join it inside the sub-query, with the stream", name=True,
            )  # fmt: skip
        return self._scope.problem(
            f"'{name}' is a table, and no condition says which one of the streams it is joined with",
            table.at,
            "write JOIN … ON with columns of one stream and of the table",
            name=True,
        )

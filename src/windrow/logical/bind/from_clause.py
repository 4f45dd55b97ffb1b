"""FROM: one stream, perhaps with a window, and the unchanging tables that its rows are joined with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.columns import quoted
from windrow.cql import RowWindowNode, window_of
from windrow.logical.bind.calls import spark_sql
from windrow.logical.bind.known import relation_of
from windrow.logical.bind.questions import view_name
from windrow.logical.bind.using import condition_of
from windrow.logical.query import Enrich
from windrow.logical.relation import Stream, Table
from windrow.slicing import RowWindow, Window

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from windrow.logical.bind.questions import AskedSql
    from windrow.logical.bind.scope import Scope
    from windrow.logical.relation import Relation


class FromClause:
    """The relations of a SELECT, which are in its scope once this is made."""

    def __init__(
        self,
        select: exp.Select,
        scope: Scope,
        relations: Mapping[str, Relation],
        queries: Collection[str],
        *,
        grouped: bool,
    ) -> None:
        """`queries`: the names of queries; `grouped`: the statement groups rows, so that its stream needs a
        window."""
        self._queries = queries
        self._scope = scope
        self._relations = relations
        self._joins: list[exp.Join] = select.args.get("joins") or []
        clause = select.args.get("from_") or select.args.get("from")
        if clause is None:
            raise scope.problem("a query needs FROM and a stream", select)
        self.node = window_of(clause.this)
        """The window as it is written; None: there is none."""
        self.stream = self._stream(clause.this, grouped=grouped)
        self._tables = [self._table(join) for join in self._joins]

    @property
    def partition(self) -> RowWindowNode | None:
        """The window as it is written, if it counts rows."""
        return self.node if isinstance(self.node, RowWindowNode) else None

    @property
    def window(self) -> Window | RowWindow | None:
        """The window of the stream; None: there is none."""
        if self.node is None:
            return None
        if not isinstance(self.node, RowWindowNode):
            assert self.node.range is not None  # otherwise it were no aggregate that slices answer
            assert self.node.slide is not None
            return Window(self.node.range, self.node.slide, self.node.offset)
        return RowWindow(self.node.rows, self.node.slide, partitioned=bool(self.node.keys))

    @property
    def source(self) -> str:
        """The stream, as Spark SQL."""
        return f"{view_name(self.stream.name)} AS {quoted(self.stream.name)}"

    def enrichments(self) -> tuple[Enrich, ...]:
        """The tables, with their conditions resolved."""
        return tuple(
            Enrich(table.name, self._join_sql(join, table))
            for join, table in zip(self._joins, self._tables, strict=True)
        )

    def asked(self, enrichments: tuple[Enrich, ...]) -> list[AskedSql]:
        """The joins as Spark is asked about them."""
        return [
            (e.join, join.args.get("on") or join) for e, join in zip(enrichments, self._joins, strict=True)
        ]

    def _relation(self, table: exp.Expr) -> Relation:
        if not isinstance(table, exp.Table):
            raise self._scope.problem(
                "only streams and tables can stand here; sub-queries are not supported yet", table
            )
        return relation_of(table, self._scope, self._relations, self._queries)

    def _stream(self, table: exp.Expr, *, grouped: bool) -> Stream:
        relation = self._relation(table)
        assert isinstance(table, exp.Table)
        if isinstance(relation, Table):
            if self.node is not None:
                raise self._scope.problem(
                    f"'{relation.name}' is a table, and a table has no window", self.node
                )
            raise self._scope.problem(
                f"'{relation.name}' is a table; a continuous query starts FROM a stream",
                table,
                "put the stream first and JOIN the table",
                name=True,
            )
        if self.node is None and grouped:
            raise self._scope.problem(
                f"stream '{relation.name}' needs a window", table,
                f"write {relation.name} [RANGE 1 HOUR SLIDE 5 MINUTES]", name=True,
            )  # fmt: skip
        self._add(table, relation)
        for join in self._joins if self.partition is not None else ():
            raise self._scope.problem(
                "joins behind a window of ROWS are not supported yet", join.this, "use a RANGE", name=True
            )
        return relation

    def _table(self, join: exp.Join) -> Table:
        relation = self._relation(join.this)
        window = window_of(join.this)
        if isinstance(relation, Stream):
            raise self._scope.problem("joins of two streams are not supported yet", join.this, name=True)
        if window is not None:
            raise self._scope.problem(f"'{relation.name}' is a table, and a table has no window", window)
        if join.side.upper() in ("RIGHT", "FULL") or join.kind.upper() in ("SEMI", "ANTI"):
            kind = (join.side or join.kind).upper()
            raise self._scope.problem(
                f"{kind} JOIN is not supported yet", join.this, "use JOIN or LEFT JOIN", name=True
            )
        if join.method:
            raise self._scope.problem(
                f"{join.method} joins are not supported", join.this, "write JOIN … ON", name=True
            )
        self._add(join.this, relation)
        return relation

    def _add(self, table: exp.Table, relation: Relation) -> None:
        alias = table.alias or relation.name
        # The plan knows the stream by its own name, so that name is taken even where it has an alias.
        taken = [
            *self._scope.relations,
            *(r.name for r in self._scope.relations.values() if isinstance(r, Stream)),
        ]
        if any(known.lower() == alias.lower() for known in taken):
            raise self._scope.problem(
                f"two relations are called '{alias}'", table, "give one of them another alias", name=True
            )
        self._scope.relations[alias] = relation

    def _join_sql(self, join: exp.Join, table: Table) -> str:
        alias = join.this.alias or table.name
        condition = condition_of(join, self._scope, alias)
        side = f"{join.side} " if join.side else ("CROSS " if condition is None else "")
        on = "" if condition is None else f" ON {spark_sql(self._scope.resolve(condition))}"
        return f"{side}JOIN {view_name(table.name)} AS {quoted(alias)}{on}"

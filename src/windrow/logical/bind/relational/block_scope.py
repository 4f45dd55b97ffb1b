"""The names of one block of a statement: the items of its FROM, and those of the blocks around it where a
sub-query in WHERE may use them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.columns import WINDOW_END, WINDOW_START
from windrow.cql import span
from windrow.errors import StatementError
from windrow.logical.bind.calls import spark_sql
from windrow.logical.bind.relational.columns import EVALUATION, Expression, is_evaluation, meant_by
from windrow.logical.bind.scope import Scope
from windrow.logical.relation import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

    from windrow.logical.bind.relational.statement import Statement


class BlockScope(Scope):
    """Resolves the names of a block."""

    def __init__(self, statement: Statement, outer: BlockScope | None = None) -> None:
        super().__init__(statement.query.text, {})
        self.statement = statement
        self._outer = outer

    def add(
        self, alias: str, at: exp.Expr, columns: Mapping[str, pa.DataType], meanings: dict[str, exp.Expr]
    ) -> str:
        """An item of FROM, and what its columns are meant to be; returns what Spark is asked about."""
        if any(known.lower() == alias.lower() for known in self.relations):
            raise self.problem(
                f"two relations are called '{alias}'", at, "give one of them another alias", name=True
            )
        asked = self.statement.asked_name(alias)
        self.relations[alias] = Table(asked, columns)
        self.statement.meanings[asked] = meanings
        return asked

    def read(self, node: exp.Expr) -> Expression:
        """An expression of the block."""
        resolved = self.resolve(node)
        return Expression(node, spark_sql(resolved), meant_by(resolved, self.statement.meanings))

    def evaluation_column(self, node: exp.Expr) -> str | None:
        """Whether a node is window_start or window_end, by whatever name; which it is then."""
        if not isinstance(node, exp.Column):
            return None
        try:
            meant = self.read(node).meant
        except StatementError:
            return None
        return meant.name if is_evaluation(meant) else None

    @property
    def asked(self) -> dict[str, Mapping[str, pa.DataType]]:
        """The relations that Spark is asked about, with those of the blocks around."""
        return {
            relation.name: relation.columns
            for scope in self._around()
            for relation in scope.relations.values()
        }

    def _around(self) -> Iterator[BlockScope]:
        scope: BlockScope | None = self
        while scope is not None:
            yield scope
            scope = scope._outer

    def _resolve_column(self, column: exp.Column) -> exp.Expr:
        first = column.parts[0].name
        for scope in self._around():
            if scope._owners(first) or (column.table and scope._alias(first) is not None):
                if scope is self:
                    return super()._resolve_column(column)
                return scope._resolve_column(column)
        if not column.table and first.lower() in (WINDOW_START, WINDOW_END):
            return self._evaluation(column, first.lower())
        return super()._resolve_column(column)

    def _evaluation(self, column: exp.Column, name: str) -> exp.Expr:
        windows = self.statement.windows
        if windows.slide is None:
            raise self.problem(f"only windows with SLIDE have a {name}", column, "give the windows a SLIDE")
        if name == WINDOW_START:
            windows.starts_asked_at = span(column)
        return exp.Column(
            this=exp.to_identifier(name, quoted=True), table=exp.to_identifier(EVALUATION, quoted=True)
        )

    def _written(self, alias: str) -> str:
        return self.relations[alias].name

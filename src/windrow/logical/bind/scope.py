"""Names to columns: which relation a column of a SELECT belongs to, in Spark's rules.

Names are case-insensitive; a bare name must belong to exactly one relation; `a.b` is a column of
relation `a`, or field `b` of a struct column `a`. Resolved columns are rewritten to quoted, qualified
ones, so that equal expressions have equal text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.cql import name_span, span
from windrow.errors import StatementError, suggestion
from windrow.logical.relation import Stream

if TYPE_CHECKING:
    from windrow.logical.relation import Relation


@dataclass
class Scope:
    """The relations of one SELECT by alias, the stream first."""

    text: str
    relations: dict[str, Relation]
    used: dict[str, set[str]] = field(default_factory=dict)
    """Columns in use, by the name that the plan uses; filled while resolving."""
    _hidden: dict[str, set[str]] = field(default_factory=dict)
    """The relations whose columns a bare name passes over, by the name in lower case."""

    def problem(self, problem: str, node: exp.Expr, hint: str = "", *, name: bool = False) -> StatementError:
        """An error about a node of the statement, or about its name alone."""
        return StatementError(problem, self.text, *(name_span(node) if name else span(node)), hint)

    def resolve(self, expression: exp.Expr) -> exp.Expr:
        """A copy of the expression with every column resolved.

        Columns of the stream go under its own name, whatever alias the query gave it, so that queries
        with other aliases can share.
        """
        copy = expression.copy()
        lambdas = {
            variable.name.lower() for node in copy.find_all(exp.Lambda) for variable in node.expressions
        }
        for column in list(copy.find_all(exp.Column)):
            if not column.table and column.name.lower() in lambdas:
                continue
            resolved = self._resolve_column(column)
            if column is copy:
                copy = resolved
            else:
                column.replace(resolved)
        return copy

    def knows(self, name: str) -> bool:
        """Whether a bare name is a column of any relation."""
        return bool(self._owners(name))

    def is_hidden(self, name: str, alias: str) -> bool:
        """Whether a bare name, or a star, passes over the column of a relation."""
        return alias in self._hidden.get(name.lower(), ())

    def is_shared(self, name: str) -> bool:
        """Whether a bare name stands for columns of several relations, which are equal."""
        return name.lower() in self._hidden

    def hide(self, name: str, alias: str) -> None:
        """A bare name no longer means the column of this relation: JOIN … USING makes it that of another."""
        self._hidden.setdefault(name.lower(), set()).add(alias)

    def _resolve_column(self, column: exp.Column) -> exp.Expr:
        parts = [part.name for part in column.parts]
        if len(parts) > 1:
            alias = self._alias(parts[0])
            if alias is not None:
                return self._reference(column, alias, parts[1], parts[2:])
            if not self._owners(parts[0]):
                raise StatementError(
                    f"unknown relation or column '{parts[0]}'", self.text, *span(column),
                    suggestion(parts[0], [*self.relations, *self._all_columns()]),
                )  # fmt: skip
        owners = self._owners(parts[0])
        if not owners:
            known = ", ".join(self._all_columns())
            hint = suggestion(parts[0], self._all_columns()) or f"the columns are {known}"
            raise StatementError(f"unknown column '{parts[0]}'", self.text, *span(column), hint)
        if len(owners) > 1:
            raise StatementError(
                f"column '{parts[0]}' is in {' and in '.join(owners)}", self.text, *span(column),
                f"write {owners[0]}.{parts[0]} or {owners[1]}.{parts[0]}",
            )  # fmt: skip
        return self._reference(column, owners[0], parts[0], parts[1:])

    def _reference(self, column: exp.Column, alias: str, name: str, fields: list[str]) -> exp.Expr:
        columns = self.relations[alias].columns
        spelled = next((known for known in columns if known.lower() == name.lower()), None)
        if spelled is None:
            hint = suggestion(name, columns) or f"its columns are {', '.join(columns)}"
            raise StatementError(f"'{alias}' has no column '{name}'", self.text, *span(column), hint)
        owner = self._written(alias)
        self.used.setdefault(owner, set()).add(spelled)
        found: exp.Expr = exp.column(
            exp.to_identifier(spelled, quoted=True), exp.to_identifier(owner, quoted=True)
        )
        for inner in fields:
            found = exp.Dot(this=found, expression=exp.to_identifier(inner, quoted=True))
        return found

    def _written(self, alias: str) -> str:
        """What a relation is called in resolved columns."""
        relation = self.relations[alias]
        return relation.name if isinstance(relation, Stream) else alias

    def _alias(self, name: str) -> str | None:
        return next((alias for alias in self.relations if alias.lower() == name.lower()), None)

    def _owners(self, name: str) -> list[str]:
        return [
            alias
            for alias, relation in self.relations.items()
            if any(column.lower() == name.lower() for column in relation.columns)
            and not self.is_hidden(name, alias)
        ]

    def _all_columns(self) -> list[str]:
        return list(
            dict.fromkeys(column for relation in self.relations.values() for column in relation.columns)
        )

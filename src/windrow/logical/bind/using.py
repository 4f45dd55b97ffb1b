"""JOIN … USING (a, b): the condition that it stands for, and which column a bare name means behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.cql import span
from windrow.errors import suggestion

if TYPE_CHECKING:
    from windrow.logical.bind.scope import Scope


def condition_of(join: exp.Join, scope: Scope, alias: str) -> exp.Expr | None:
    """What ON says, or USING means, where an item of FROM is joined; None: neither is there."""
    names = join.args.get("using")
    if not names:
        on: exp.Expr | None = join.args.get("on")
        return on
    equal = [exp.EQ(this=_left(name, scope, alias), expression=_right(name, scope, alias)) for name in names]
    for name in names:
        scope.hide(name.name, alias)
    return exp.and_(*equal)


def _left(name: exp.Expr, scope: Scope, alias: str) -> exp.Expr:
    """The column of what stands before the join."""
    before = list(scope.relations)[: list(scope.relations).index(alias)]
    owners = [one for one in before if _has(scope, one, name.name) and not scope.is_hidden(name.name, one)]
    if len(owners) == 1:
        return _column(name, owners[0])
    if owners:
        raise scope.problem(
            f"column '{name.name}' is in {' and in '.join(owners)}", name, "write ON, and whose it is"
        )
    known = [column for one in before for column in scope.relations[one].columns]
    hint = suggestion(name.name, known) or f"there are {', '.join(dict.fromkeys(known))}"
    raise scope.problem(f"nothing before this join has a column '{name.name}'", name, hint)


def _right(name: exp.Expr, scope: Scope, alias: str) -> exp.Expr:
    if not _has(scope, alias, name.name):
        columns = scope.relations[alias].columns
        hint = suggestion(name.name, columns) or f"its columns are {', '.join(columns)}"
        raise scope.problem(f"'{alias}' has no column '{name.name}'", name, hint)
    return _column(name, alias)


def _has(scope: Scope, alias: str, name: str) -> bool:
    return any(column.lower() == name.lower() for column in scope.relations[alias].columns)


def _column(name: exp.Expr, alias: str) -> exp.Column:
    found = exp.column(exp.to_identifier(name.name, quoted=True), exp.to_identifier(alias, quoted=True))
    start, end = span(name)
    found.this.meta.update(start=start, end=end - 1)
    return found

"""A name behind FROM or JOIN to the stream or table that it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.errors import suggestion

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sqlglot import exp

    from windrow.logical.bind.scope import Scope
    from windrow.logical.relation import Relation


def relation_of(
    table: exp.Table,
    scope: Scope,
    relations: Mapping[str, Relation],
    queries: Collection[str],
    others: Collection[str] = (),
) -> Relation:
    """The relation that a table of the statement names; `queries`: what names queries have; `others`: what
    else could have been meant."""
    relation = next((r for n, r in relations.items() if n.lower() == table.name.lower()), None)
    if relation is not None:
        return relation
    if any(name.lower() == table.name.lower() for name in queries):
        raise scope.problem(
            f"'{table.name}' is a query, and WITH gives that name to another one here",
            table,
            "give that another name",
            name=True,
        )
    known = sorted([*relations, *others])
    hint = suggestion(table.name, known) or (
        f"there are {', '.join(known)}" if known else "declare it with CREATE STREAM or eng.stream(…)"
    )
    raise scope.problem(f"unknown stream or table '{table.name}'", table, hint, name=True)

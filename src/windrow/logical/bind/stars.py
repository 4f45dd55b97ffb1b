"""SELECT * and alias.*, spelled out: the columns of all relations, or of one, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from windrow.logical.bind.scope import Scope


def without_stars(items: Sequence[exp.Expr], scope: Scope, had: Sequence[str] = ()) -> list[exp.Expr]:
    """The items of a SELECT list, with columns in place of stars; errors about them point at the star.

    `had`: the columns that the stars stood for when the query was first bound. They stand for these again, in
    that order, whatever columns the relations have gained; if one of these is no longer there, for all.
    """
    spelled = [list(_spelled_out(item, scope)) if item.is_star else [item] for item in items]
    place = {name: number for number, name in enumerate(had)}
    stars = [number for number, item in enumerate(items) if item.is_star]
    if place and place.keys() <= {column.name for number in stars for column in spelled[number]}:
        for number in stars:
            kept = [column for column in spelled[number] if column.name in place]
            spelled[number] = sorted(kept, key=lambda column: place[column.name])
    return [item for group in spelled for item in group]


def _spelled_out(item: exp.Expr, scope: Scope) -> Iterator[exp.Expr]:
    star = item.this if isinstance(item, exp.Column) else item
    if any(star.args.values()):
        raise scope.problem("* EXCEPT is not supported yet", item, "name the columns")
    wanted = item.table if isinstance(item, exp.Column) else ""
    aliases = [alias for alias in scope.relations if wanted.lower() in ("", alias.lower())]
    if not aliases:
        known = ", ".join(scope.relations)
        raise scope.problem(f"unknown relation '{wanted}'", item, f"there are {known}")
    columns = [
        (alias, name)
        for alias in aliases
        for name in scope.relations[alias].columns
        if wanted or not scope.is_hidden(name, alias)
    ]
    if not wanted:  # JOIN … USING puts its columns first
        columns.sort(key=lambda column: not scope.is_shared(column[1]))
    for alias, name in columns:
        yield exp.column(
            exp.to_identifier(name, quoted=True), exp.to_identifier(alias, quoted=True)
        ).update_positions(star)

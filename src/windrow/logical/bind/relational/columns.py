"""Columns while a tree is being bound: of which part of FROM they are, and what they are called on edges.

An expression of a block goes through three forms:

    as it is written      f.delay > 10
    as Spark is asked     `f`.`delay` > 10              over a view for each item of FROM
    as it is meant        `p0`.`flights`.`delay` > 10   over the parts that a tree is put together from

What is meant may be another expression than what is written: a sub-query that only selects melts into the
block around it, and its columns stand for what they are computed from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import count, islice
from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.logical.bind.calls import spark_sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Meanings = Mapping[str, Mapping[str, exp.Expr]]
    """What each column of each relation that Spark is asked about is meant to be."""

EVALUATION = "#evaluation"
"""The part that window_start and window_end are of: all windows of a query are evaluated at the same
instants."""
LONGEST = 40
"""Characters of an expression that the name of its column has."""


@dataclass(frozen=True)
class Expression:
    """An expression of a statement."""

    node: exp.Expr
    """Where the statement has it."""
    asked: str
    """Spark SQL over the views that Spark is asked about."""
    meant: exp.Expr
    """The same over parts."""

    @property
    def parts(self) -> frozenset[str]:
        """The parts that it needs."""
        return parts_of(self.meant)


def part_column(part: str, name: str, relation: str = "") -> exp.Column:
    """A column of a part; of which relation, if the part has several."""
    table = exp.to_identifier(relation, quoted=True) if relation else None
    return exp.Column(
        this=exp.to_identifier(name, quoted=True), table=table, db=exp.to_identifier(part, quoted=True)
    )


def part_of(column: exp.Column) -> str:
    """The part that a column is of; nothing for one that is of none, as the variable of a lambda."""
    return str(column.db)


def parts_of(meant: exp.Expr) -> frozenset[str]:
    """The parts that an expression needs."""
    return frozenset(part_of(column) for column in columns_in(meant))


def columns_in(meant: exp.Expr) -> Iterator[exp.Column]:
    """The columns of parts in an expression."""
    return (column for column in meant.find_all(exp.Column) if part_of(column))


def is_evaluation(meant: exp.Expr) -> bool:
    """Whether an expression is window_start or window_end, and nothing more."""
    return isinstance(meant, exp.Column) and part_of(meant) == EVALUATION


def replaced(expression: exp.Expr, other: Callable[[exp.Column], exp.Expr | None]) -> exp.Expr:
    """A copy with other expressions in place of columns; None leaves a column as it is."""
    copy = expression.copy()
    for column in list(copy.find_all(exp.Column)):
        found = other(column)
        if found is None:
            continue
        if column is copy:
            return found
        column.replace(found if isinstance(found, exp.Column | exp.Literal) else exp.paren(found))
    return copy


def meant_by(asked: exp.Expr, meanings: Meanings) -> exp.Expr:
    """What is meant by an expression over the views that Spark is asked about."""

    def meaning(column: exp.Column) -> exp.Expr | None:
        return meanings[column.table][column.name].copy() if column.table in meanings else None

    return replaced(asked, meaning)


def over_part(meant: exp.Expr, labels: Mapping[str, str] | None = None) -> str:
    """Spark SQL for an expression of one part over the relations of that part; `labels`: what these are
    called instead."""

    def plain(column: exp.Column) -> exp.Expr | None:
        if not part_of(column):
            return None
        relation = (labels or {}).get(column.table, column.table)
        return exp.Column(this=column.this.copy(), table=exp.to_identifier(relation, quoted=True))

    return spark_sql(replaced(meant, plain))


def over_edge(meant: exp.Expr, name: Callable[[exp.Column], str]) -> str:
    """Spark SQL for an expression over an edge, where each of its columns has a name."""

    def on_edge(column: exp.Column) -> exp.Expr | None:
        if not part_of(column):
            return None
        edge = column.name if part_of(column) == EVALUATION else name(column)
        return exp.Column(this=exp.to_identifier(edge, quoted=True))

    return spark_sql(replaced(meant, on_edge))


def short(sql: str) -> str:
    """An expression as the name of a column: what a person would write, and not too much of it.

    >>> short("`a`.`src`"), short("CASE WHEN `f`.`delay` > 10 THEN 'late' ELSE 'in time' END")
    ('a.src', "CASE WHEN f.delay > 10 THEN 'late' ELSE…")
    """
    text = re.sub(r"\s+", " ", sql.replace("`", ""))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


class Names:
    """The names of columns in a tree: no two are alike, as Spark sees it, and none is one of Windrow's
    own."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def unique(self, wanted: str) -> str:
        """The name, or with a number behind it the first that nobody has.

        >>> names = Names()
        >>> names.unique("a.src"), names.unique("A.src"), names.unique("_slice")
        ('a.src', 'A.src#2', '_slice#2')
        """
        candidates = (f"{wanted}#{number}" if number > 1 else wanted for number in count(1))
        own = wanted.startswith(("_", "window_"))
        name = next(one for one in islice(candidates, own, None) if one.lower() not in self._taken)
        self._taken.add(name.lower())
        return name

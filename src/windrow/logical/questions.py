"""What binding asks Spark: the types of expressions, and whether it would accept them at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from windrow.cql import span
from windrow.errors import StatementError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from windrow.cql import Query

    Columns = Mapping[str, Mapping[str, pa.DataType]]
    Asked = tuple[str, exp.Expr]


class Analyst(Protocol):
    """Spark, as far as binding needs it."""

    def describe(self, sql: str, relations: Columns, *, lasting: bool = True) -> pa.Schema:
        """The schema of a SELECT over `view_name`s of these relations; StatementError with Spark's reason.

        `lasting`: the same Spark would always give the same answer.
        """

    def functions(self) -> frozenset[str]:
        """The names of all scalar and aggregate functions, in lower case."""


def view_name(relation: str) -> str:
    """The name under which a relation is known to Spark while a statement is analysed."""
    return quoted(f"_windrow_{relation}")


def quoted(name: str) -> str:
    """A name in backquotes.

    >>> quoted("odd`name")
    '`odd``name`'
    """
    return exp.to_identifier(name, quoted=True).sql(dialect="spark")


def types(
    spark: Analyst,
    query: Query,
    expressions: Sequence[Asked],
    from_clause: str,
    relations: Columns,
    condition: Asked | None = None,
) -> list[pa.DataType]:
    """Spark's types for expressions (Spark SQL, and the node it is of) under a condition.

    Its complaint underlines the expression it is about.
    """

    # What is no function of the language may be one of the user's, and be another one tomorrow.
    lasting = query.select.find(exp.Anonymous) is None

    def ask(items: Sequence[str], where: str) -> list[pa.DataType]:
        listed = ", ".join(f"{sql} AS _{i}" for i, sql in enumerate(items))
        asked = f"SELECT {listed} {from_clause}{where}"
        return list(spark.describe(asked, relations, lasting=lasting).types)

    where = f" WHERE {condition[0]}" if condition else ""
    try:
        return ask([sql for sql, _ in expressions], where) if expressions else []
    except StatementError as error:
        # Ask again, piece by piece, to see which one it is.
        pieces = [("1", where, condition[1])] if condition else []
        for sql, where, node in [*pieces, *((sql, "", node) for sql, node in expressions)]:
            try:
                ask([sql], where)
            except StatementError as narrower:
                raise StatementError(narrower.problem, query.text, *span(node)) from error
        raise StatementError(error.problem, query.text, *span(query.select)) from error

"""What binding asks Spark: the types of expressions, and whether it would accept them at all."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from windrow.columns import quoted
from windrow.cql import span
from windrow.errors import StatementError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from windrow.cql import Query

    Columns = Mapping[str, Mapping[str, pa.DataType]]
    AskedSql = tuple[str, exp.Expr]
    """What Spark is asked about, and where the statement says it."""

ANSWERS = "answers"
"""The relation of what an operator answers, where expressions over it are asked about or computed."""


class Analyst(Protocol):
    """Spark, as far as binding needs it."""

    def describe(self, sql: str, relations: Columns, *, lasting: bool = True) -> pa.Schema:
        """The schema of a SELECT over `view_name`s of these relations; StatementError with Spark's reason.

        A value that would be another one in another batch is a reason as well; if it is a string that Spark
        takes for a date, the error has it as its text.

        `lasting`: the same Spark would always give the same answer.
        """

    def functions(self) -> frozenset[str]:
        """The names of all scalar and aggregate functions, in lower case."""


def view_name(relation: str) -> str:
    """The name under which a relation is known to Spark while a statement is analysed."""
    return quoted(f"_windrow_{relation}")


def types(
    spark: Analyst,
    query: Query,
    expressions: Sequence[AskedSql],
    source: str,
    relations: Columns,
    joins: Sequence[AskedSql] = (),
    conditions: Sequence[AskedSql] = (),
) -> list[pa.DataType]:
    """Spark's types for expressions (Spark SQL, and the node it is of) over a source, joined with others,
    under conditions.

    Its complaint underlines the expression it is about.
    """

    # What is no function of the language may be one of the user's, and be another one tomorrow.
    lasting = query.select.find(exp.Anonymous) is None

    def ask(
        items: Sequence[str], joined: Sequence[AskedSql] = joins, where: Sequence[AskedSql] = ()
    ) -> pa.Schema:
        listed = ", ".join(f"{sql} AS _{i}" for i, sql in enumerate(items))
        clauses = [f"SELECT {listed} FROM {source}", *(sql for sql, _ in joined)]
        if where:
            written = [sql if len(where) == 1 else f"({sql})" for sql, _ in where]
            clauses.append(f"WHERE {' AND '.join(written)}")
        return spark.describe(" ".join(clauses), relations, lasting=lasting)

    if not expressions and not conditions:
        return []
    try:
        return list(ask([sql for sql, _ in expressions] or ["1"], where=conditions).types)[: len(expressions)]
    except StatementError as error:
        # Ask again, piece by piece, to see which one it is.
        pieces = [(joins[place][1], partial(ask, ["1"], joins[: place + 1])) for place in range(len(joins))]
        pieces += [(node, partial(ask, ["1"], where=[(sql, node)])) for sql, node in conditions]
        pieces += [(node, partial(ask, [sql])) for sql, node in expressions]
        for node, ask_piece in pieces:
            try:
                ask_piece()
            except StatementError as narrower:
                place = _place(node, narrower.text)
                raise StatementError(narrower.problem, query.text, *place, narrower.hint) from error
        raise StatementError(error.problem, query.text, *span(query.select), error.hint) from error


def _place(node: exp.Expr, text: str) -> tuple[int, int]:
    """Where an error is: at the string that it is about, if it is about one that is written there."""
    strings = (literal for literal in node.find_all(exp.Literal) if literal.is_string)
    return span(next((literal for literal in strings if text and literal.name == text), node))

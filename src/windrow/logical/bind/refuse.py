"""SELECT clauses that are valid Spark SQL but have no meaning, or no implementation yet, over streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.cql import RSTREAM, delivery_node, span, window_of
from windrow.errors import StatementError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from windrow.cql import Query

CLAUSES = {
    "distinct": "DISTINCT is supported over windows of time only, such as [RANGE 1 HOUR]",
    "order": "ORDER BY has no meaning on a continuous result; sort when you read it",
    "sort": "SORT BY has no meaning on a continuous result; sort when you read it",
    "cluster": "CLUSTER BY has no meaning on a continuous result",
    "distribute": "DISTRIBUTE BY has no meaning on a continuous result",
    "limit": "LIMIT has no meaning on a continuous result; limit when you read it",
    "offset": "OFFSET behind a SELECT has no meaning on a continuous result",
    "qualify": "QUALIFY is not supported",
    "laterals": "LATERAL VIEW is not supported yet",
    "windows": "named windows (WINDOW …) are not supported; put [RANGE … SLIDE …] behind the stream",
    "with_": "WITH is not supported yet",
    "with": "WITH is not supported yet",
    "pivots": "PIVOT is not supported",
    "sample": "TABLESAMPLE is not supported",
}

NODES: dict[type[exp.Expr], str] = {
    exp.Subquery: "sub-queries are not supported yet",
    exp.Exists: "EXISTS is not supported yet",
    exp.Window: "OVER is not supported on streams; put [RANGE … SLIDE …] behind the stream's name",
    exp.WithinGroup: "WITHIN GROUP is not supported yet",
    exp.Star: "SELECT * has no meaning in an aggregate query; name the group columns and the aggregates",
    exp.Lateral: "LATERAL is not supported yet",
}

UNSTABLE = {
    "rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle", "monotonically_increasing_id",
    "spark_partition_id", "input_file_name", "input_file_block_start", "input_file_block_length",
    "current_timestamp", "now", "current_date", "curdate", "current_time", "localtimestamp", "localtime",
    "current_user", "session_user", "user", "current_database", "current_schema", "current_catalog",
    "current_path", "version",
}  # fmt: skip
OUTSIDE = {"reflect", "try_reflect", "java_method"}
"""They call any method there is in the JVM, with all that this may read, write and end."""
COMMON: dict[type[exp.Func], str] = {
    kind: kind.key for kind in (exp.Avg, exp.Count, exp.Max, exp.Min, exp.Sum)
}
"""Functions whose names need not be asked of the SQL generator, which takes a tenth of binding a query."""


def refuse(query: Query, select: exp.Select) -> None:
    """Raise a StatementError for the first clause or function that a query over one stream cannot have."""
    refuse_clauses(query.text, select, CLAUSES)
    word = delivery_node(select)
    if word is not None and word.name != RSTREAM:
        raise StatementError(
            f"{word.name} needs a window of time: without one no row is ever gone",
            query.text,
            *span(word),
            f"leave {word.name} out, or write a window such as [RANGE 1 HOUR]",
        )
    spelled_out = () if _has_window(select) else select.selects
    for node in select.walk():
        problem = NODES.get(type(node))
        if problem is None or isinstance(node.parent, exp.Count):
            continue
        if isinstance(node, exp.Star) and any(item is node or item is node.parent for item in spelled_out):
            continue
        raise StatementError(problem, query.text, *span(node))
    refuse_functions(query)


def refuse_clauses(text: str, select: exp.Expr, clauses: Mapping[str, str]) -> None:
    """Raise a StatementError for the first clause of a SELECT that has no meaning there."""
    for clause, problem in clauses.items():
        value = select.args.get(clause)
        if value:
            first = value[0] if isinstance(value, list) else value
            place = span(first)
            if place == (0, 0):  # DISTINCT has no place of its own
                place = span(select.selects[0]) if isinstance(select, exp.Select) else span(select)
            raise StatementError(problem, text, *place)


def refuse_functions(query: Query) -> None:
    """Raise a StatementError for the first function that answers must not depend on."""
    for node in query.select.find_all(exp.Func):
        name = function_name(node)
        if name in UNSTABLE:
            raise StatementError(
                f"{name}() changes by itself, so answers would not be repeatable",
                query.text,
                *_place(node),
            )
        if name in OUTSIDE:
            raise StatementError(
                f"{name}() calls any code of the JVM's, and a statement may only compute",
                query.text,
                *span(node),
                "register a function of your own with Spark, and call that",
            )


def _has_window(select: exp.Select) -> bool:
    clause = select.args.get("from_") or select.args.get("from")
    return clause is not None and window_of(clause.this) is not None


def _place(node: exp.Expr | None) -> tuple[int, int]:
    """Where a node is, or what is around it: sqlglot reads unix_timestamp() as if it had an argument."""
    while node is not None and span(node) == (0, 0):
        node = node.parent
    return (0, 0) if node is None else span(node)


def function_name(node: exp.Func) -> str:
    """The name of a function as Spark knows it, in lower case.

    >>> from sqlglot import parse_one
    >>> function_name(parse_one("stddev(x)", dialect="spark")), function_name(parse_one("MAX(x) > 1 AND y"))
    ('stddev', 'and')
    """
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    if isinstance(node, exp.Binary) and not isinstance(node, exp.AggFunc):
        # sqlglot counts AND, OR and RLIKE as functions; their text begins with that of an operand.
        return node.key
    return COMMON.get(type(node)) or node.sql(dialect="spark").split("(")[0].strip().lower()

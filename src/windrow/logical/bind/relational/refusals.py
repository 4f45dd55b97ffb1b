"""What has no meaning in a tree of operators, or none yet: each with its reason and a way out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pyarrow.types as pat
from sqlglot import exp

from windrow.aggregates.contents import InOrder, contents_of
from windrow.aggregates.sketches import DistinctPartial, QuantilePartial
from windrow.cql import ISTREAM, RSTREAM, delivery_node, delivery_of, span
from windrow.errors import StatementError
from windrow.logical.bind.refuse import CLAUSES, NODES, refuse_clauses
from windrow.logical.bind.relational.parts import Port
from windrow.logical.bind.relational.sql_types import has_map

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from windrow.aggregates import Aggregate
    from windrow.logical.bind.relational.block import Block, Item
    from windrow.logical.bind.relational.block_scope import BlockScope

_CLAUSES = {name: problem for name, problem in CLAUSES.items() if name not in ("distinct", "with_", "with")}
_NODES = {
    kind: problem for kind, problem in NODES.items() if kind not in (exp.Subquery, exp.Exists, exp.Star)
}
_NEXT = "is not supported yet"


class Problems(Protocol):
    """Makes errors with a place: a scope, or a statement."""

    def problem(self, problem: str, node: exp.Expr, hint: str = "") -> StatementError:
        """An error about a node of the statement."""


def refuse_in_select(text: str, select: exp.Select) -> None:
    """What one SELECT cannot have, its sub-queries left out."""
    refuse_clauses(text, select, _CLAUSES)
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise StatementError("DISTINCT ON is not supported", text, *span(distinct))
    for node in select.walk(prune=lambda node: isinstance(node, exp.Query) and node is not select):
        problem = _NODES.get(type(node))
        if problem is not None:
            raise StatementError(problem, text, *span(node))
    places = (*select.selects, select.args.get("group"), select.args.get("having"))
    for place in places:
        query = None if place is None else next(_queries(place), None)
        if query is not None:
            raise StatementError(
                "a sub-query can stand in FROM, and behind EXISTS and IN in WHERE; not here",
                text,
                *span(query),
                "give it a name in FROM, and join it",
            )


def refuse_sub_queries(text: str, condition: exp.Expr) -> None:
    """A condition of WHERE or ON that is no EXISTS or IN, and has a sub-query inside."""
    query = next(_queries(condition), None)
    if query is None:
        return
    if isinstance(condition, exp.Not):
        raise StatementError(
            "NOT EXISTS and NOT IN are not supported yet: they take results back", text, *span(condition)
        )
    if condition.find(exp.Exists, exp.In) is None:
        raise StatementError(
            "a sub-query that stands for a value is not supported yet",
            text,
            *span(query),
            "put it into FROM, with a name, and join it",
        )
    raise StatementError(
        "EXISTS and IN (SELECT …) must hold by themselves: beside AND, and not under OR or in an expression",
        text,
        *span(condition),
        "write two queries with UNION between them in place of OR",
    )


def refuse_unused(text: str, query: exp.Expr, used: Sequence[exp.CTE]) -> None:
    """Queries of WITH that nobody selects from: nothing in them has been looked at."""
    for cte in query.find_all(exp.CTE):
        if not any(cte is one for one in used):
            alias = cte.args["alias"]
            raise StatementError(f"'{cte.alias}' is used nowhere", text, *span(alias), "take it away")


def refuse_set_operation(text: str, query: exp.SetOperation) -> None:
    """What has no meaning between two SELECTs."""
    refuse_clauses(text, query, _CLAUSES)
    if isinstance(query, exp.Except):
        raise StatementError(f"EXCEPT {_NEXT}: it takes results back", text, *span(query))
    if isinstance(query, exp.Intersect) and query.args.get("distinct") is False:
        raise StatementError("INTERSECT ALL is not supported", text, *span(query), "write INTERSECT")
    if query.args.get("by_name"):
        raise StatementError("BY NAME is not supported", text, *span(query), "name the columns in one order")


def refuse_delivery(text: str, query: exp.Expr) -> None:
    """ISTREAM and DSTREAM below the top: what is new or gone is no relation."""
    node = delivery_node(query)
    if node is not None and node.name != RSTREAM:
        raise StatementError(
            f"{node.name} stands at the top of a query: what is joined or selected from are relations",
            text,
            *span(node),
            f"leave it out here, or write SELECT {node.name} * FROM (…) around the whole",
        )


def refuse_news(scope: BlockScope, name: exp.Table, query: exp.Expr) -> None:
    """A query of ISTREAM or DSTREAM whose name stands in FROM."""
    delivery = delivery_of(query)
    if delivery != RSTREAM:
        what = "new" if delivery == ISTREAM else "gone"
        raise scope.problem(
            f"'{name.name}' is a query of {delivery}, and to select from what is {what} {_NEXT}",
            name, f"use a query without {delivery}", name=True,
        )  # fmt: skip


def refuse_join(scope: BlockScope, join: exp.Join) -> None:
    """Joins that there are not."""
    kind = (join.side or join.kind).upper()
    if join.method:
        raise scope.problem(f"{join.method} joins are not supported", join.this, "write JOIN … ON", name=True)
    if join.kind.upper() == "ANTI":
        raise scope.problem(
            f"ANTI JOIN {_NEXT}: it takes results back", join.this, "use LEFT SEMI JOIN", name=True
        )
    if kind in ("RIGHT", "FULL"):
        raise scope.problem(f"{kind} JOIN {_NEXT}", join.this, "use JOIN or LEFT JOIN", name=True)


def refuse_above_group(scope: Problems, block: Block, what: str, at: exp.Expr | None = None) -> None:
    """Anything but projection and HAVING above a GROUP BY that takes rows back."""
    part = next((part for part in block.parts.values() if part.changing), None)
    if part is not None:
        raise scope.problem(
            f"{what} above a GROUP BY without SLIDE {_NEXT}: its rows are taken back whenever they change",
            part.at if at is None else at,
            "give the windows a SLIDE, or select from the GROUP BY alone, with WHERE",
        )


def refuse_endless_joins(scope: BlockScope, block: Block) -> None:
    """Joins that would have to keep every row."""
    if len(block.parts) == 1 and not block.semi_joins:
        return
    sides = [*block.parts.values(), *(p for semi in block.semi_joins for p in semi.block.parts.values())]
    for part in sides:
        if part.endless:
            window = next((window for window in part.windows if window.range is None), None)
            raise scope.problem(
                "a join with what never ends would have to keep every row",
                part.at if window is None else window,
                "give the window a RANGE",
            )


def refuse_internal(scope: Problems, block: Block, what: str) -> None:
    """INTERNAL windows under operators of which only the external answer makes sense."""
    window = next((window for window in block.windows if window.internal), None)
    if window is not None:
        raise scope.problem(
            f"{what} over an INTERNAL window has no meaning: what it forgets would come again as new",
            window,
            "leave INTERNAL out",
        )


def refuse_mixture(scope: BlockScope, block: Block) -> None:
    """GROUP BY over windows of both kinds: a value would have to go and to stay."""
    kinds = {window.internal for window in block.windows}
    if len(kinds) > 1:
        window = next(window for window in block.windows if window.internal)
        raise scope.problem(
            "GROUP BY over an INTERNAL window and one that is not has no meaning",
            window,
            "make all windows INTERNAL, or none",
        )


def refuse_maps(scope: Problems, items: Iterable[Item], what: str) -> None:
    """Values that cannot be compared where rows are."""
    for item in items:
        if has_map(item.type):
            raise scope.problem(
                f"{what} compares values, and those of type {item.type} cannot be compared",
                item.at,
                "select what you need of the map",
            )
        if pat.is_null(item.type):
            raise scope.problem(
                f"{what} needs a type for every column, and this is NULL", item.at, "CAST it to a type"
            )


def refuse_aggregates(
    scope: BlockScope, block: Block, aggregates: Sequence[Aggregate], nodes: Sequence[exp.Expr]
) -> None:
    """Aggregates that need the order of rows, where there is none; and sketches that would have to forget."""
    parts = list(block.parts.values())
    ordered = len(parts) == 1 and isinstance(parts[0], Port) and not block.semi_joins
    for aggregate, node in zip(aggregates, nodes, strict=True):
        contents = contents_of(aggregate)
        is_ordered = isinstance(contents, InOrder) or any(
            not partial.operation.algebra.commutative for partial in aggregate.partials
        )
        if is_ordered and not ordered:
            raise scope.problem(
                f"{aggregate.function.upper()} asks for the order of rows: only those of one stream have one",
                node,
                "aggregate the stream by itself, or use MAX_BY with the time",
            )
        if scope.statement.windows.slide is None and _is_sketch(aggregate):
            raise scope.problem(
                f"{aggregate.function.upper()} cannot forget single rows: it needs a window with SLIDE",
                node,
                "give the window a SLIDE, or use the exact aggregate",
            )


def _is_sketch(aggregate: Aggregate) -> bool:
    """Whether an aggregate keeps a summary that values cannot be taken out of."""
    return any(isinstance(partial, DistinctPartial | QuantilePartial) for partial in aggregate.partials)


def _queries(node: exp.Expr) -> Iterator[exp.Expr]:
    """The queries inside an expression."""
    return node.find_all(exp.Query)


def check_distinct(scope: BlockScope, block: Block, what: str, at: exp.Expr) -> None:
    """Whether DISTINCT can stand above a block."""
    refuse_above_group(scope, block, what, at)
    refuse_internal(scope, block, what)
    refuse_maps(scope, block.items, what)

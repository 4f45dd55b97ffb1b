"""Which kind of query a statement becomes: what slices answer, rows one by one, or a tree of operators.

Nothing is done in two ways: an aggregate over one stream, its window with SLIDE, is answered from slices,
whatever tables its rows are joined with; a SELECT without any window hands on rows; the rest is a tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.cql import RSTREAM, TimeWindowNode, delivery_of, window_of
from windrow.logical.bind.calls import is_aggregate
from windrow.logical.relation import Stream

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from windrow.cql import Query
    from windrow.logical.relation import Relation


def is_relational(query: Query, relations: Mapping[str, Relation], functions: Collection[str]) -> bool:
    """Whether a statement becomes a tree of operators.

    >>> import pyarrow as pa
    >>> from windrow.aggregates import FUNCTIONS
    >>> from windrow.cql import parse
    >>> s = {"s": Stream("s", {"ts": pa.timestamp("us"), "x": pa.int64()}, "ts")}
    >>> window = "[RANGE 1 HOUR SLIDE 1 MINUTE]"
    >>> for sql in (
    ...     f"SELECT MAX(x) FROM s {window}",
    ...     "SELECT x FROM s",
    ...     f"SELECT x FROM s {window}",
    ...     "SELECT MAX(x) FROM s [RANGE 1 HOUR]",
    ... ):
    ...     print(is_relational(parse(sql)[0], s, FUNCTIONS))
    False
    False
    True
    True
    """
    select = query.select
    if not isinstance(select, exp.Select) or len(list(select.find_all(exp.Query))) > 1:
        return True
    items = list(_from_items(select))
    streams = {name.lower() for name, relation in relations.items() if isinstance(relation, Stream)}
    if sum(item.name.lower() in streams for item in items) > 1 or not all(
        isinstance(item, exp.Table) for item in items
    ):
        return True
    window = window_of(items[0]) if items and isinstance(items[0], exp.Table) else None
    if not isinstance(window, TimeWindowNode):
        return False
    continuous = window.slide is None or window.range is None or window.internal
    if continuous or select.args.get("distinct") or delivery_of(select) != RSTREAM:
        return True
    return not _aggregates(select, functions)


def _from_items(select: exp.Select) -> Iterator[exp.Expr]:
    clause = select.args.get("from_") or select.args.get("from")
    if clause is not None:
        yield clause.this
        yield from (join.this for join in select.args.get("joins") or ())


def _aggregates(select: exp.Select, functions: Collection[str]) -> bool:
    if select.args.get("group") or select.args.get("having"):
        return True
    return any(is_aggregate(node, functions) for item in select.selects for node in item.walk())

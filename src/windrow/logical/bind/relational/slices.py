"""Groups over one stream, its window with SLIDE: sub-queries that only select do not change that slices
answer them.

    SELECT k, n FROM (SELECT k, COUNT(*) AS n FROM s [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY k) WHERE n > 3

is an aggregate with HAVING, and is bound as one: nothing is done in two ways.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import parse_one

from windrow.aggregates import share_moments
from windrow.aggregates.call import EVERY_ROW
from windrow.logical.aggregate import AggregateQuery
from windrow.logical.bind.relational.columns import meant_by, over_part
from windrow.logical.tree import Rows
from windrow.slicing import Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.aggregates import Aggregate
    from windrow.logical.bind.relational.statement import Statement
    from windrow.logical.query import Output
    from windrow.logical.tree import Group


def as_aggregate(
    statement: Statement, groups: Group, outputs: Sequence[Output], having: str | None
) -> AggregateQuery | None:
    """The groups at the top of a query as an aggregate over slices; None if they are none."""
    leaf = groups.of
    if not isinstance(leaf, Rows) or leaf.window is None or leaf.internal or groups.slide is None:
        return None
    read = statement.ports[leaf.port].read(leaf.columns)
    sql_of = {output.name: output.expression for output in read.outputs}
    return AggregateQuery(
        scan=read.scan,
        enrichments=read.enrichments,
        where=read.where,
        window=Window(leaf.window, groups.slide, groups.offset),
        keys=tuple(sql_of[name] for name in groups.keys),
        key_types=tuple(leaf.types[name] for name in groups.keys),
        aggregates=tuple(share_moments(_over_stream(statement, one) for one in groups.aggregates)),
        outputs=tuple(outputs),
        having=having,
    )


def _over_stream(statement: Statement, aggregate: Aggregate) -> Aggregate:
    """An aggregate whose call is over the columns of the stream, and not over those of a sub-query."""

    def over_stream(sql: str) -> str:
        if sql == EVERY_ROW:
            return sql
        return over_part(meant_by(parse_one(sql, dialect="spark"), statement.meanings))

    call = aggregate.call
    where = None if call.where is None else over_stream(call.where)
    moved = replace(call, arguments=tuple(map(over_stream, call.arguments)), where=where)
    make = statement.functions[call.function].make
    return make(moved, aggregate.argument_types, aggregate.result_type)

"""Bound queries made by hand, without Spark: sums and counts of a column, over any window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.aggregates import Call, aggregate
from windrow.columns import aggregate_name
from windrow.logical import AggregateQuery, BoundQuery, Output, Scan, SelectQuery, Stream
from windrow.planner.draft import Asked
from windrow.planner.plan import OutputPlan

if TYPE_CHECKING:
    from windrow.slicing import RowWindow, Window

SECOND = 1_000_000
STREAM = Stream("events", {"ts": pa.timestamp("us", "UTC"), "k": pa.string(), "v": pa.int32()}, "ts")
SUM, MAX, COUNT = (
    aggregate(Call(name, ("v",)), (pa.int32(),), pa.int64()) for name in ("sum", "max", "count")
)
MEDIAN = aggregate(Call("median", ("v",)), (pa.int32(),), pa.float64())


def bound(
    window: Window | RowWindow,
    *aggregates: object,
    keys: tuple[str, ...] = (),
    where: str | None = None,
) -> AggregateQuery:
    """A query over `events`."""
    chosen = aggregates or (SUM,)
    outputs = tuple(
        Output(f"a{place}", f"`{aggregate_name(place)}`", item.result_type, aggregate_name(place))  # type: ignore[attr-defined]
        for place, item in enumerate(chosen)
    )
    return AggregateQuery(
        scan=Scan(STREAM, ("ts", "k", "v")),
        enrichments=(),
        where=where,
        window=window,
        keys=keys,
        key_types=tuple(pa.string() for _ in keys),
        aggregates=tuple(chosen),  # type: ignore[arg-type]
        outputs=outputs,
    )


def selection(*expressions: str, where: str | None = None) -> SelectQuery:
    """A query over `events` without a window."""
    outputs = tuple(Output(f"a{n}", sql, pa.int32(), sql) for n, sql in enumerate(expressions))
    return SelectQuery(scan=Scan(STREAM, ("ts", "k", "v")), enrichments=(), where=where, outputs=outputs)


def asked(number: int, query: BoundQuery, answered: int | None = None) -> Asked:
    """A query as a planner is asked for it."""
    return Asked(OutputPlan(number, f"q{number}", query, f"schema of {len(query.outputs)}"), answered)

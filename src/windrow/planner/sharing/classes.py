"""Which queries can share partials: those with the same rows and groups, whatever their windows.

Queries of a class have the same stream, tables, WHERE and GROUP BY; their aggregates may differ, since a
slice holds the partials of all of them, each once. A predicate or a grouping that another one covers is
served from the same pass over the rows (see `passes/woven.py`), but has slices of its own.
Source: Golab 2006, §8.3, rules SS1, SS2 and CS1 to CS3; Shein 2019, §2.4.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.aggregates.contents import contents_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from windrow.logical import BoundQuery


def sharing_class(query: BoundQuery) -> Hashable | None:
    """What queries that may share a tree have in common; None for one that has an operator alone.

    Alone are queries without a window of time or over several streams, aggregates that need the values
    themselves or that Python lifts, and queries that ask for an algorithm by a hint.
    """
    if not query.time_windows or len(query.inputs) > 1 or query.algorithm is not None:
        return None
    for aggregate in query.aggregates:
        if contents_of(aggregate) is not None or any(p.lifted_in_python for p in aggregate.partials):
            return None
    return query.stream.name, query.enrichments, query.where, query.keys

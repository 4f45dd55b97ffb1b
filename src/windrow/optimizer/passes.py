"""Which queries share one pass over a micro-batch, and the Spark SQL that the pass runs.

Queries with the same stream, tables, WHERE and GROUP BY differ only in windows and aggregates: one
pass cuts the rows finely enough for all their windows and lifts the union of their partials, each
once. A pass over the stream as it is (no WHERE, no table) also counts the rows and finds the latest
event time, so that the watermark costs no pass of its own; measured at 20 M rows and 1,000 keys, a
separate pass for them costs 15 % and `Dataset.observe` 18 %, in the pass it is 6 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.aggregates.base import INSTANT
from windrow.logical import key_name, quoted
from windrow.operators.window_aggregate import SLICE
from windrow.optimizer.bounds import LATEST, ROWS, instants_sql
from windrow.optimizer.lifted_passes import LiftedPass, is_all_lifted, lifted_passes
from windrow.optimizer.row_passes import RowPass
from windrow.slicing import RowWindow, cuts_for_pass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from windrow.aggregates import Partial
    from windrow.logical import AggregateQuery
    from windrow.optimizer.bounds import Bounds
    from windrow.slicing import Cuts


@dataclass(frozen=True)
class Pass:
    """One scan of a batch for the queries that can share it."""

    queries: Mapping[str, AggregateQuery]
    cuts: Cuts
    partials: tuple[Partial, ...]

    @property
    def query(self) -> AggregateQuery:
        """Any of the queries: all have the same rows and groups."""
        return next(iter(self.queries.values()))

    @property
    def sees_every_row(self) -> bool:
        """Whether it can count the rows and find the latest instant on the side."""
        return self.query.where is None and not self.query.enrichments

    @property
    def expressions(self) -> list[str]:
        """The partials' Spark SQL, each once."""
        return list(dict.fromkeys(e for partial in self.partials for e in partial.expressions))

    @property
    def columns(self) -> list[str]:
        """The names of the collected columns, in order; `WindowAggregate.push` finds them by these."""
        side = [LATEST, ROWS] if self.sees_every_row else []
        return [SLICE, *self.query.keys, *self.expressions, *side]

    def sql(self, bounds: Bounds) -> str:
        """The SELECT that lifts and combines partials in the JVM."""
        query = self.query
        good = bounds.good(query.stream)
        start = self.cuts.slice_start_sql(INSTANT)
        keys = [f"{key} AS {key_name(i)}" for i, key in enumerate(query.keys)]
        if self.sees_every_row:
            # Rows that do not count form groups of their own; their values are not looked at.
            keys = [f"CASE WHEN {good} THEN {key} END AS {key_name(i)}" for i, key in enumerate(query.keys)]
            items = [f"{bounds.fate(query.stream, start)} AS {SLICE}", *keys]
            items += [f"{e} FILTER (WHERE {good}) AS _p{i}" for i, e in enumerate(self.expressions)]
            items += [f"max({INSTANT}) FILTER (WHERE {good}) AS {LATEST}", f"count(*) AS {ROWS}"]
            source = instants_sql(query.stream)
        else:
            items = [f"{start} AS {SLICE}", *keys]
            items += [f"{e} AS _p{i}" for i, e in enumerate(self.expressions)]
            source = f"SELECT * FROM ({instants_sql(query.stream)}) WHERE {good}"
        lines = [f"SELECT {', '.join(items)}", f"FROM ({source}) AS {quoted(query.stream.name)}"]
        lines += [enrichment.join for enrichment in query.enrichments]
        if query.where:
            lines.append(f"WHERE {query.where}")
        lines.append(f"GROUP BY {', '.join(str(i + 1) for i in range(1 + len(keys)))}")
        return "\n".join(lines)


def share_passes(queries: Mapping[str, AggregateQuery]) -> list[Pass | RowPass | LiftedPass]:
    """The fewest passes in which queries share only what costs neither of them anything.

    A query has one, or two if some of its partials are lifted in the JVM and others in Python.
    """
    groups: dict[tuple[object, ...], dict[str, AggregateQuery]] = {}
    for name, query in queries.items():
        alike: tuple[object, ...] = (query.stream.name, query.enrichments, query.where, query.keys)
        if isinstance(query.window, RowWindow):
            # The order of rows depends on the columns in use, and must not on what other queries use.
            alike = (*alike, query.window.partitioned, query.scan.columns)
        groups.setdefault(alike, {})[name] = query
    return [shared for members in groups.values() for shared in _passes(members)]


def _passes(queries: Mapping[str, AggregateQuery]) -> list[Pass | RowPass | LiftedPass]:
    partials = tuple(dict.fromkeys(p for q in queries.values() for a in q.aggregates for p in a.partials))
    if any(isinstance(query.window, RowWindow) for query in queries.values()):
        return [RowPass(queries, partials)]
    in_the_jvm = {name: query for name, query in queries.items() if not is_all_lifted(query)}
    windows = [query.window for query in in_the_jvm.values() if not isinstance(query.window, RowWindow)]
    partials = tuple(partial for partial in partials if not partial.lifted_in_python)
    passes = [Pass(in_the_jvm, cuts_for_pass(windows), partials)] if in_the_jvm else []
    return [*passes, *lifted_passes(queries)]

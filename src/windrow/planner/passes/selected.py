"""The pass for queries without a window: the rows that fulfil their conditions, with what they ask of each.

Queries over the same stream and tables share a scan, whatever their conditions: Spark hands over each row
that one of them wants, marked with the conditions that it fulfils, with every expression that is asked for
once. An expression is computed for the rows of the queries that ask for it alone: it may fail for others.

Where a query wants all rows, late and dead ones come too, as nothing but that, so that the pass counts the
rows; otherwise the rows that nobody wants stay in the JVM, and a pass of its own counts them unless another
one does.

Cost: the driver gets every row that a query wants.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from windrow.columns import FATE, HOLDS, INSTANT, LATE, SLICE, quoted
from windrow.planner.passes.base import COLUMN, BatchPass, counted_rows, demands_in
from windrow.planner.passes.bounds import instants_sql

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from windrow.planner.passes.base import Demand, Tally
    from windrow.planner.passes.bounds import Bounds

MOST_VALUES = 24
"""Expressions and conditions of one pass. With many more, Java no longer compiles the code that Spark
generates. Measured with 50 ranges of a column: over 3 M rows, at most 8 in a pass take 11 s, 16 take 6, 24
and 32 take 5; over 10 M rows, all in one pass took 63 s, and one range alone 5."""
ALWAYS = "true"


@dataclass(frozen=True)
class SelectedPass(BatchPass):
    """One scan of a batch for those who want rows as they are."""

    demands: Mapping[Any, Demand]

    @property
    def sees_every_row(self) -> bool:
        """Whether it can count the rows and find the latest instant on the side."""
        return ALWAYS in self.conditions and not self.demand.enrichments

    @cached_property
    def conditions(self) -> list[str]:
        """The conditions for a row to be wanted, each once."""
        return list(dict.fromkeys(demand.where or ALWAYS for demand in self.demands.values()))

    @cached_property
    def values(self) -> dict[str, list[str]]:
        """What is asked of rows, each expression once, and on which conditions."""
        found: dict[str, dict[str, None]] = {}
        for demand in self.demands.values():
            for expression in demand.handed_over:
                found.setdefault(expression, {})[demand.where or ALWAYS] = None
        return {expression: list(conditions) for expression, conditions in found.items()}

    @property
    def columns(self) -> list[str]:
        """The names of the collected columns, in order; expressions are columns under their own text."""
        return [SLICE, *self._marks, *self.values]

    @property
    def _marks(self) -> list[str]:
        """The columns that say which conditions a row fulfils; none where all want the same rows."""
        return [f"{HOLDS}{i}" for i in range(len(self.conditions))] if len(self.conditions) > 1 else []

    def sql(self, bounds: Bounds) -> str:
        """The SELECT that hands rows over."""
        stream = self.demand.stream
        if self.sees_every_row:
            counts, when = f"{FATE} > {LATE}L AND ", FATE
            source = f"SELECT *, {bounds.fate(stream, INSTANT)} AS {FATE} FROM ({instants_sql(stream)})"
        else:
            counts, when = "", INSTANT
            source = f"SELECT * FROM ({instants_sql(stream)}) WHERE {bounds.good(stream)}"
        items = [f"{when} AS {SLICE}"]
        if self._marks:
            items += [
                f"coalesce({counts}({condition}), false) AS {mark}"
                for condition, mark in zip(self.conditions, self._marks, strict=True)
            ]
        for place, (expression, conditions) in enumerate(self.values.items()):
            value = expression
            # A column as it is fails for no row.
            if (counts or self._marks) and not COLUMN.fullmatch(expression):
                value = f"CASE WHEN {counts}({_any(conditions)}) THEN {expression} END"
            items.append(f"{value} AS _v{place}")
        lines = [f"SELECT {', '.join(items)}", f"FROM ({source}) AS {quoted(stream.name)}"]
        lines += [enrichment.join for enrichment in self.demand.enrichments]
        if ALWAYS not in self.conditions:
            lines.append(f"WHERE {_any(self.conditions)}")
        return "\n".join(lines)

    def counted(self, collected: pa.Table) -> tuple[pa.Table, Tally]:
        """The rows that count, and the tally of all."""
        return counted_rows(collected)

    def tables(self, collected: pa.Table) -> Iterator[tuple[Sequence[Any], pa.Table]]:
        """For each of those who asked the rows that it wants, with what it asks of them."""
        marks = dict(zip(self.conditions, self._marks, strict=False))
        alike: dict[tuple[str, tuple[str, ...]], list[Any]] = {}
        for who, demand in self.demands.items():
            alike.setdefault((demand.where or ALWAYS, demand.handed_over), []).append(who)
        for (condition, expressions), asking in alike.items():
            wanted = collected.select([SLICE, *expressions])
            if marks:
                wanted = wanted.filter(pc.fill_null(collected[marks[condition]], False))
            yield asking, wanted

    @property
    def record(self) -> dict[str, Any]:
        """Nothing but its kind tells it from others."""
        return {"kind": "selected"}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], demands: Mapping[Any, Demand]) -> SelectedPass:
        """The pass that a record tells of."""
        return cls(demands_in(record, demands))


def selected_passes(demands: Mapping[Any, Demand]) -> list[SelectedPass]:
    """The passes for those who want rows as they are, over one stream and the same tables."""
    passes: list[dict[Any, Demand]] = []
    asked: set[str] = set()
    for who, demand in demands.items():
        more = {*demand.handed_over, demand.where or ALWAYS}
        if not passes or len(asked | more) > MOST_VALUES:
            passes.append({})
            asked = set()
        passes[-1][who] = demand
        asked |= more
    return [SelectedPass(some) for some in passes]


def _any(conditions: Sequence[str]) -> str:
    return " OR ".join(f"({condition})" for condition in conditions)

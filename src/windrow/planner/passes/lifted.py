"""The pass for partials that Spark cannot lift, such as those of users' own functions: rows as they are.

For windows of time. Spark computes the keys and the values, and the driver gets every row with its
instant; there the rows are lifted, and merged into slices. Where the order of rows counts, Spark sorts
them as it does for windows of rows, and they wait for the watermark (`operators/rows/ordered_windows.py`).

Cost: the driver gets every row, of which a pass in the JVM would give it one a slice and key; a sort of
the batch where the order counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windrow.columns import INSTANT, SLICE, key_name, quoted
from windrow.operators.rows.ordered_windows import order_counts
from windrow.planner.passes.base import BatchPass, counted_rows, demands_in
from windrow.planner.passes.bounds import instants_sql
from windrow.planner.passes.rows import keys_as_grouped, order_of_ties

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from windrow.aggregates import Partial
    from windrow.planner.passes.base import Demand, Tally
    from windrow.planner.passes.bounds import Bounds


@dataclass(frozen=True)
class LiftedPass(BatchPass):
    """One scan of a batch for those whose rows are lifted in Python."""

    demands: Mapping[Any, Demand]
    partials: tuple[Partial, ...]
    ordered: bool
    """Whether the order of rows counts."""

    @classmethod
    def of(cls, demands: Mapping[Any, Demand], *, ordered: bool) -> LiftedPass:
        """The pass for all partials of some demands that Spark cannot lift, each once."""
        partials = dict.fromkeys(p for demand in demands.values() for p in lifted_in_python(demand))
        return cls(demands, tuple(partials), ordered)

    @property
    def lifts_in_python(self) -> bool:
        """Spark hands over values, and Python lifts them."""
        return True

    @property
    def sees_every_row(self) -> bool:
        """Whether it can count the rows and find the latest instant on the side."""
        return self.demand.where is None and not self.demand.enrichments

    @property
    def values(self) -> dict[str, str]:
        """What rows have to give, as Spark SQL by column name, each once."""
        return {name: partial.value for partial in self.partials for name in partial.expressions}

    @property
    def columns(self) -> list[str]:
        """The names of the collected columns, in order; `WindowAggregate.push` finds them by these."""
        return [SLICE, *self.demand.keys, *self.values]

    @property
    def order(self) -> list[str]:
        """The columns that rows of the same instant are sorted by."""
        return order_of_ties(self.demand) if self.ordered else []

    def sql(self, bounds: Bounds, *, with_ties: bool = False) -> str:
        """The SELECT that collects the rows; `with_ties` also has the columns of `order`, and no ORDER BY."""
        demand = self.demand
        stream, good = quoted(demand.stream.name), bounds.good(demand.stream)
        keys, values = keys_as_grouped(demand), list(self.values.values())
        instant, source = INSTANT, f"SELECT * FROM ({instants_sql(demand.stream)}) WHERE {good}"
        if self.sees_every_row:
            # The values of rows that do not count are not looked at.
            instant, source = bounds.fate(demand.stream, INSTANT), instants_sql(demand.stream)
            keys, values = ([f"CASE WHEN {good} THEN {sql} END" for sql in some] for some in (keys, values))
        items = [f"{instant} AS {SLICE}", *(f"{key} AS {key_name(i)}" for i, key in enumerate(keys))]
        items += [f"{value} AS _v{i}" for i, value in enumerate(values)]
        ties = [f"{stream}.{quoted(name)}" for name in self.order]
        if with_ties:
            items += [f"{sql} AS _t{i}" for i, sql in enumerate(ties)]
        lines = [f"SELECT {', '.join(items)}", f"FROM ({source}) AS {stream}"]
        lines += [enrichment.join for enrichment in demand.enrichments]
        if demand.where:
            lines.append(f"WHERE {demand.where}")
        if self.ordered and not with_ties:
            # By all that is collected at last: rows that are alike in that can change places.
            places = [str(place + 1) for place in range(1, len(items))]
            lines.append(f"ORDER BY {', '.join([SLICE, *ties, *self._sortable(places)])}")
        return "\n".join(lines)

    def _sortable(self, places: list[str]) -> list[str]:
        """Those collected columns by which ties are broken that the columns in use have left."""
        unsorted = len(self.order) + 1 < len(self.demand.scan.columns) or self.demand.enrichments
        return places if unsorted else []

    def counted(self, collected: pa.Table) -> tuple[pa.Table, Tally]:
        """The rows that count, and the tally of all."""
        return counted_rows(collected)

    @property
    def record(self) -> dict[str, Any]:
        """Whether the order of rows counts."""
        return {"kind": "lifted", "ordered": self.ordered}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], demands: Mapping[Any, Demand]) -> LiftedPass:
        """The pass that a record tells of, with all partials of its demands that Spark cannot lift."""
        return cls.of(demands_in(record, demands), ordered=record["ordered"])


def lifted_passes(demands: Mapping[Any, Demand]) -> list[LiftedPass]:
    """The passes for the partials, of the same rows and groups, that are lifted in Python."""
    groups: dict[tuple[str, ...], dict[Any, Demand]] = {}
    for who, demand in demands.items():
        partials = lifted_in_python(demand)
        if partials:
            # The order of rows depends on the columns in use, and must not on what others use.
            alike = demand.scan.columns if any(map(order_counts, partials)) else ()
            groups.setdefault(alike, {})[who] = demand
    return [LiftedPass.of(some, ordered=bool(alike)) for alike, some in groups.items()]


def lifted_in_python(demand: Demand) -> list[Partial]:
    """The partials that Spark cannot lift."""
    return [p for aggregate in demand.aggregates for p in aggregate.partials if p.lifted_in_python]

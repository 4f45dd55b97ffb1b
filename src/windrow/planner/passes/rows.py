"""The pass for windows of rows: a batch's rows in stream order, with what each has to give.

Which rows a window holds is known only when all rows before them have come, so nothing can be aggregated
here. Spark computes the keys and values, sorts by event time and, among equal ones, by the columns in
use, and hands over one row for each row; ones that are late or dead come first and are only counted. No
source says where in it a row was (to ask Parquet for it costs a sixth of the pass), so values decide.

Cost: a sort of the batch, and the driver gets every row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.types as pat

from windrow.aggregates.base import value_name
from windrow.aggregates.contents import contents_of
from windrow.columns import FATE, HOLDS, INSTANT, LATE, SLICE, key_name, quoted
from windrow.planner.passes.base import BatchPass, counted_rows, demands_in, partials_of
from windrow.planner.passes.bounds import instants_sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from windrow.aggregates import Partial
    from windrow.planner.passes.base import Demand, Tally
    from windrow.planner.passes.bounds import Bounds

WHERE = "_windrow_where"


@dataclass(frozen=True)
class RowPass(BatchPass):
    """One scan of a batch for those who need the same of its rows."""

    demands: Mapping[Any, Demand]
    partials: tuple[Partial, ...]

    @property
    def sees_every_row(self) -> bool:
        """It counts the rows, and finds the latest instant, on the side."""
        return True

    @property
    def values(self) -> dict[str, str]:
        """What rows have to give, as Spark SQL by column name, each once."""
        values = {value_name(partial): partial.value for partial in self.partials}
        for demand in self.demands.values():
            for item in demand.aggregates:
                contents = contents_of(item)
                if contents is not None:
                    values[contents.value_name] = contents.argument
        return {name: sql for name, sql in values.items() if name != HOLDS}

    @property
    def columns(self) -> list[str]:
        """The names of the collected columns, in order."""
        return [SLICE, HOLDS, *self.demand.keys, *self.values]

    @property
    def order(self) -> list[str]:
        """The columns that rows of the same instant are sorted by."""
        return order_of_ties(self.demand)

    def sql(self, bounds: Bounds) -> str:
        """The SELECT that collects the rows."""
        demand = self.demand
        stream = quoted(demand.stream.name)
        holds = f"CASE WHEN {bounds.good(demand.stream)} THEN {demand.where or 'true'} END"
        fated = f"{bounds.fate(demand.stream, INSTANT)} AS {FATE}"
        # A row that WHERE refuses takes a place in the window of its key, and so needs the key.
        partitioned = demand.row_window is not None and demand.row_window.partitioned
        has_key = f"{FATE} > {LATE}L" if partitioned else WHERE
        items = [
            FATE,
            WHERE,
            *(
                f"CASE WHEN {has_key} THEN {key} END AS {key_name(i)}"
                for i, key in enumerate(keys_as_grouped(demand))
            ),
            *(f"CASE WHEN {WHERE} THEN {sql} END AS _v{i}" for i, sql in enumerate(self.values.values())),
        ]
        order = [FATE, *(f"{stream}.{quoted(name)}" for name in self.order)]
        if len(self.order) + 1 < len(demand.scan.columns):
            # By all that is collected, then: rows that are alike in that can change places.
            order += [str(place + 1) for place in range(1, len(items))]
        judged = f"SELECT *, {fated}, {holds} AS {WHERE} FROM ({instants_sql(demand.stream)}) AS {stream}"
        lines = [f"SELECT {', '.join(items)}", f"FROM ({judged}) AS {stream}", f"ORDER BY {', '.join(order)}"]
        return "\n".join(lines)

    def counted(self, collected: pa.Table) -> tuple[pa.Table, Tally]:
        """The rows that count, and the tally of all."""
        return counted_rows(collected)

    @property
    def record(self) -> dict[str, Any]:
        """Nothing but its kind tells it from others."""
        return {"kind": "rows"}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], demands: Mapping[Any, Demand]) -> RowPass:
        """The pass that a record tells of, with all partials that its demands ask for."""
        own = demands_in(record, demands)
        return cls(own, partials_of(own))


def order_of_ties(demand: Demand) -> list[str]:
    """The columns in use that rows of the same instant are sorted by."""
    stream, columns = demand.stream, demand.scan.columns
    return [name for name in columns if name != stream.timestamp and _is_sortable(stream.columns[name])]


def keys_as_grouped(demand: Demand) -> list[str]:
    """The keys as GROUP BY would give them: adding zero turns -0.0 into 0.0, to which it is equal."""
    return [
        f"({key}) + {'0F' if pat.is_float32(of_type) else '0D'}" if pat.is_floating(of_type) else key
        for key, of_type in zip(demand.keys, demand.key_types, strict=True)
    ]


def _is_sortable(of_type: pa.DataType) -> bool:
    """Whether Spark can sort by it, also inside: a struct may have a map in it."""
    return not (pat.is_nested(of_type) or pat.is_interval(of_type))

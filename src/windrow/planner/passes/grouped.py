"""Which queries share one pass over a micro-batch, and the Spark SQL that the pass runs.

Queries with the same stream, tables, WHERE and GROUP BY differ only in windows and aggregates: one
pass cuts the rows finely enough for all their windows and lifts the union of their partials, each
once. What needs the values themselves takes a pass of its own for each argument: grouped by the value
too, or, where their order matters, not grouped at all.

A pass over the stream as it is (no WHERE, no table) also counts the rows and finds the latest event
time, so that the watermark costs no pass of its own; measured at 20 M rows and 1,000 keys, a separate
pass for them costs 15 % and `Dataset.observe` 18 %, in the pass it is 6 %.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from windrow.aggregates.contents import Counts, InOrder, contents_of
from windrow.columns import FATE, INSTANT, LATE, LATEST, ROWS, SLICE, key_name, quoted
from windrow.planner.passes.base import (
    BatchPass,
    counted_groups,
    demands_in,
    partials_of,
    without_refused,
)
from windrow.planner.passes.bounds import instants_sql
from windrow.planner.passes.experience import BATCHES_UNCOUNTED
from windrow.planner.passes.lifted import lifted_passes
from windrow.planner.passes.rows import RowPass
from windrow.planner.passes.selected import selected_passes
from windrow.slicing import cuts_for_pass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from windrow.aggregates import Partial
    from windrow.aggregates.contents import Contents
    from windrow.planner.passes.base import Demand, Tally
    from windrow.planner.passes.bounds import Bounds
    from windrow.planner.passes.experience import Experience
    from windrow.slicing import Cuts


@dataclass(frozen=True)
class Pass(BatchPass):
    """One scan of a batch for those who ask for the same rows and groups."""

    demands: Mapping[Any, Demand]
    partials: tuple[Partial, ...] = ()
    contents: Contents | None = None
    """The values that it collects, in place of partials."""
    row_by_row: bool = False
    """Whether `Counts` are collected uncounted, because most groups would be of one row."""

    @property
    def weavable(self) -> bool:
        """Whether it collects partials alone, so that it and others may be woven into one pass."""
        return self.contents is None

    @cached_property
    def cuts(self) -> Cuts:
        """Fine enough for the windows of all who ask."""
        windows = dict.fromkeys(window for demand in self.demands.values() for window in demand.time_windows)
        return cuts_for_pass(list(windows))

    @property
    def sees_every_row(self) -> bool:
        """Whether it can count the rows and find the latest instant on the side."""
        return self.demand.where is None and not self.demand.enrichments

    @property
    def _groups(self) -> bool:
        return not (isinstance(self.contents, InOrder) or self.row_by_row)

    @property
    def values(self) -> dict[str, str]:
        """What rows are grouped by, or give, beside the keys: Spark SQL by the name of the column."""
        if self.contents is None:
            return {}
        values = {self.contents.value_name: self.contents.argument}
        return values | ({self.contents.instant_name: INSTANT} if isinstance(self.contents, InOrder) else {})

    @property
    def expressions(self) -> dict[str, str]:
        """The aggregates that Spark computes, each once: Spark SQL by the name of the column."""
        if isinstance(self.contents, Counts):
            return {self.contents.count_name: "1L" if self.row_by_row else "count(*)"}
        return {e: e for partial in self.partials for e in partial.expressions}

    @property
    def columns(self) -> list[str]:
        """The names of the collected columns, in order; `WindowAggregate.push` finds them by these."""
        side = [LATEST, ROWS] if self.sees_every_row else []
        return [SLICE, *self.demand.keys, *self.values, *self.expressions, *side]

    def sql(self, bounds: Bounds) -> str:
        """The SELECT that lifts and combines partials in the JVM."""
        demand = self.demand
        start = self.cuts.slice_start_sql(INSTANT)
        names = [key_name(i) for i in range(len(demand.keys))] + [f"_v{i}" for i in range(len(self.values))]
        given = [*demand.keys, *self.values.values()]
        named = list(zip(given, names, strict=True))
        keys = [f"{key} AS {name}" for key, name in named]
        expressions = self.expressions.values()
        if self.sees_every_row:
            # Rows that do not count form groups of their own; their values are not looked at.
            counts = f"{FATE} > {LATE}L"
            keys = [f"CASE WHEN {counts} THEN {key} END AS {name}" for key, name in named]
            items = [f"{FATE} AS {SLICE}", *keys]
            where = "" if self.contents else f" FILTER (WHERE {counts})"
            items += [f"{e}{where} AS _p{i}" for i, e in enumerate(expressions)]
            if self._groups:
                items += [f"max({INSTANT}) FILTER (WHERE {counts}) AS {LATEST}", f"count(*) AS {ROWS}"]
            else:
                items += [f"CASE WHEN {counts} THEN {INSTANT} END AS {LATEST}", f"1L AS {ROWS}"]
            # In a step of its own: where it is used several times, it is not spelled out in each place.
            fate = bounds.fate(demand.stream, start)
            source = f"SELECT *, {fate} AS {FATE} FROM ({instants_sql(demand.stream)})"
        else:
            items = [f"{start} AS {SLICE}", *keys]
            items += [f"{e} AS _p{i}" for i, e in enumerate(expressions)]
            source = f"SELECT * FROM ({instants_sql(demand.stream)}) WHERE {bounds.good(demand.stream)}"
        lines = [f"SELECT {', '.join(items)}", f"FROM ({source}) AS {quoted(demand.stream.name)}"]
        lines += [enrichment.join for enrichment in demand.enrichments]
        if demand.where:
            lines.append(f"WHERE {demand.where}")
        if self._groups:
            lines.append(f"GROUP BY {', '.join(str(i + 1) for i in range(1 + len(keys)))}")
        return "\n".join(lines)

    def counted(self, collected: pa.Table) -> tuple[pa.Table, Tally]:
        """What was collected, without the two columns that count, and the tally of the batch."""
        return without_refused(collected.drop_columns([LATEST, ROWS]), counted_groups(collected))

    def cuts_by_demand(self) -> dict[Any, Cuts]:
        """One set of cuts for all who asked, where partials are collected."""
        return dict.fromkeys(self.demands, self.cuts) if self.contents is None else {}

    @property
    def place(self) -> tuple[Any, ...]:
        """What makes a pass that counts values the same one in the next batch."""
        demand = self.demand
        return demand.stream.name, tuple(self.columns), demand.where, demand.enrichments

    def learned(self, collected: pa.Table, tally: Tally | None, experience: Experience) -> Experience:
        """Whether counting values paid; where it did not, it is tried again after some batches."""
        if not isinstance(self.contents, Counts) or tally is None:
            return experience
        if self.row_by_row:
            left = experience.uncounted.get(self.place, 1) - 1
        else:
            pays = 3 * len(collected) <= tally.rows - tally.late - tally.dead
            left = 0 if pays else BATCHES_UNCOUNTED
        return replace(experience, uncounted={**experience.uncounted, self.place: left})

    def recalled(self, experience: Experience) -> Experience:
        """Values that were not worth being counted are still not, for one batch more: the number of batches
        that was left is not in the record."""
        if not self.row_by_row:
            return experience
        return replace(experience, uncounted={**experience.uncounted, self.place: 1})

    def by_experience(self, experience: Experience) -> Pass:
        """Values are counted only where that was seen to make few entries of many rows."""
        if not isinstance(self.contents, Counts):
            return self
        row_by_row = experience.uncounted.get(self.place, 0) > 0
        return self if row_by_row == self.row_by_row else replace(self, row_by_row=row_by_row)

    @property
    def record(self) -> dict[str, Any]:
        """Which partials it lifts, by their place among those that are asked for; or which values it has."""
        asked = {partial: place for place, partial in enumerate(partials_of(self.demands))}
        if self.contents is not None:
            return {"kind": "values", "of": str(self.contents), "row_by_row": self.row_by_row}
        return {"kind": "grouped", "partials": [asked[partial] for partial in self.partials]}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], demands: Mapping[Any, Demand]) -> Pass:
        """The pass that a record tells of; values are found among those that its demands ask for."""
        own = demands_in(record, demands)
        if record["kind"] == "values":
            items = (item for demand in own.values() for item in demand.aggregates)
            known = {str(contents): contents for contents in map(contents_of, items) if contents is not None}
            return cls(own, contents=known[record["of"]], row_by_row=record["row_by_row"])
        partials = partials_of(own)
        return cls(own, tuple(partials[place] for place in record["partials"]))


def share_passes(demands: Mapping[Any, Demand]) -> Sequence[BatchPass]:
    """The fewest passes in which those who ask share only what costs neither of them anything.

    Who asks is in as many of them as it needs.
    """
    groups: dict[tuple[object, ...], dict[Any, Demand]] = {}
    for who, demand in demands.items():
        alike: tuple[object, ...] = (demand.stream.name, demand.enrichments)
        if demand.handed_over:  # conditions may differ: rows say which they fulfil
            groups.setdefault(alike, {})[who] = demand
            continue
        alike = (*alike, demand.where, demand.keys)
        if demand.row_window is not None:
            # The order of rows depends on the columns in use, and must not on what others use.
            alike = (*alike, demand.row_window.partitioned, demand.scan.columns)
        groups.setdefault(alike, {})[who] = demand
    return [shared for some in groups.values() for shared in _passes(some)]


def _passes(demands: Mapping[Any, Demand]) -> Sequence[BatchPass]:
    """The passes for those who ask for the same rows and groups, or for rows as they are."""
    if any(demand.handed_over for demand in demands.values()):
        return selected_passes(demands)
    if any(demand.row_window is not None for demand in demands.values()):
        return [RowPass(demands, partials_of(demands))]
    grouped: dict[Any, Demand] = {}
    by_contents: dict[tuple[type[Contents], str], dict[Any, Demand]] = {}
    kinds: dict[tuple[type[Contents], str], Contents] = {}
    partials: dict[Partial, None] = {}
    for who, demand in demands.items():
        needed = [contents for item in demand.aggregates if (contents := contents_of(item)) is not None]
        given = partials_of({who: demand})
        in_the_jvm = [partial for partial in given if not partial.lifted_in_python]
        if in_the_jvm or not (needed or given):
            grouped[who] = demand
            partials |= dict.fromkeys(in_the_jvm)
        for contents in needed:
            kind = type(contents), contents.argument
            by_contents.setdefault(kind, {})[who] = demand
            kinds[kind] = contents
    made: list[BatchPass] = []
    if grouped:
        made.append(Pass(grouped, tuple(partials)))
    made += [Pass(some, contents=kinds[kind]) for kind, some in by_contents.items()]
    return [*made, *lifted_passes(demands)]

"""What every pass over a batch has: who asks for it, the SELECT that Spark runs, what becomes of its table.

A pass reads the rows of a batch once, in the JVM, for those whose *demands* it serves: the operators of a
plan, by their ports. What Spark gives back is one Arrow table; the pass counts the rows in it, where it
sees them all, and takes it apart for those who asked.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns import DEAD, LATE, LATEST, ROWS, SLICE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from windrow.aggregates import Aggregate, Partial
    from windrow.logical import Enrich, Scan, Stream
    from windrow.planner.passes.bounds import Bounds
    from windrow.planner.passes.experience import Experience
    from windrow.slicing import Cuts, RowWindow, Window


COLUMN = re.compile(r"`[^`]+`\.`[^`]+`")
"""A column of a relation, as binding writes it."""


class Demand(Protocol):
    """What an operator, or a query alone, asks of the rows of a batch."""

    @property
    def stream(self) -> Stream:
        """The stream that the rows are of."""

    @property
    def scan(self) -> Scan:
        """The columns in use."""

    @property
    def enrichments(self) -> tuple[Enrich, ...]:
        """The tables that rows are joined with."""

    @property
    def where(self) -> str | None:
        """The condition for a row to count; None: all do."""

    @property
    def keys(self) -> tuple[str, ...]:
        """What rows are grouped by."""

    @property
    def key_types(self) -> tuple[pa.DataType, ...]:
        """The types of the keys."""

    @property
    def time_windows(self) -> tuple[Window, ...]:
        """The windows of time that rows are cut for, each once."""

    @property
    def row_window(self) -> RowWindow | None:
        """The window that counts rows; None where windows are of time."""

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The aggregates that are to be computed, each once."""

    @property
    def handed_over(self) -> tuple[str, ...]:
        """What is wanted of each row that fulfils WHERE, as Spark SQL; nothing where rows are grouped."""

    def readable(self, sql: str) -> str:
        """An expression as a person would write it."""


@dataclass(frozen=True)
class Tally:
    """What a batch held: its latest instant (None: no usable one), and how many rows of each fate."""

    latest: int | None
    rows: int
    late: int
    dead: int


class BatchPass(ABC):
    """One scan of a batch."""

    demands: Mapping[Any, Demand]
    """What is asked for, by who asks."""

    @property
    def demand(self) -> Demand:
        """Any of the demands: all are of the same stream and tables."""
        return next(iter(self.demands.values()))

    @property
    def lifts_in_python(self) -> bool:
        """Whether rows are lifted in Python, from values that Spark hands over."""
        return False

    @property
    @abstractmethod
    def sees_every_row(self) -> bool:
        """Whether it can count the rows and find the latest instant on the side."""

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """The names of the collected columns, in order."""

    @abstractmethod
    def sql(self, bounds: Bounds) -> str:
        """The SELECT that Spark runs over a batch."""

    @abstractmethod
    def counted(self, collected: pa.Table) -> tuple[pa.Table, Tally]:
        """What was collected by a pass that sees every row, without what it counts on the side; and that."""

    @property
    @abstractmethod
    def record(self) -> dict[str, Any]:
        """What tells this pass from others for the same demands, as plain values; `kind` says of which kind
        it is, by which `recorded.py` finds the class that reads it."""

    @classmethod
    @abstractmethod
    def from_record(cls, record: Mapping[str, Any], demands: Mapping[Any, Demand]) -> BatchPass:
        """The pass that a record tells of: what `record` gave, and `for`, who asks, a key of `demands` each.

        Raises KeyError, IndexError or ValueError if the record is not of a pass for these demands.
        """

    def tables(self, collected: pa.Table) -> Iterator[tuple[Sequence[Any], pa.Table]]:
        """What was collected, for those who asked: they get the same table if they ask for the same rows."""
        yield tuple(self.demands), with_key_types(collected, self.demand)

    def cuts_by_demand(self) -> dict[Any, Cuts]:
        """Where the rows are cut for each of those who asked; nothing where they are not cut in the JVM."""
        return {}

    def row_seconds(self, a_row: float) -> float:
        """What a row costs in this pass, where in a plain one it costs so much."""
        return a_row

    def learned(self, collected: pa.Table, tally: Tally | None, experience: Experience) -> Experience:
        """The experience after a batch of which this pass has collected a table."""
        return experience

    def recalled(self, experience: Experience) -> Experience:
        """The experience of a stream with what this pass, read back from its record, shows of earlier
        batches."""
        return experience

    def by_experience(self, experience: Experience) -> BatchPass:
        """The pass as experience says that it should be run."""
        return self


def counted_groups(collected: pa.Table) -> Tally:
    """The tally of a table whose groups have their latest instant and their number of rows on the side."""

    def rows(condition: pc.Expression | None = None) -> int:
        counted = collected if condition is None else collected.filter(condition)
        return pc.sum(counted[ROWS]).as_py() or 0

    return Tally(
        pc.max(collected[LATEST]).as_py(),
        rows(),
        rows(pc.field(SLICE) == LATE),
        rows(pc.field(SLICE) == DEAD),
    )


def counted_rows(collected: pa.Table) -> tuple[pa.Table, Tally]:
    """A table of rows as they are, each with its instant in place of a slice, without those that do not
    count; and its tally."""
    late, dead = (pc.sum(pc.equal(collected[SLICE], fate)).as_py() or 0 for fate in (LATE, DEAD))
    counting = len(collected) - late - dead
    latest = pc.max(collected[SLICE]).as_py() if counting else None
    return without_refused(collected, Tally(latest, len(collected), late, dead))


def without_refused(collected: pa.Table, tally: Tally) -> tuple[pa.Table, Tally]:
    """A table without the rows that are late or dead, and its tally."""
    if tally.late or tally.dead:
        collected = collected.filter(pc.greater(collected[SLICE], LATE))
    return collected, tally


def with_key_types(collected: pa.Table, demand: Demand) -> pa.Table:
    """Key columns of the types that were planned: Spark's Arrow carries the session's time zone."""
    for name, of_type in zip(demand.keys, demand.key_types, strict=True):
        place = collected.schema.get_field_index(name)
        if collected.schema.field(place).type != of_type:
            collected = collected.set_column(place, name, collected.column(place).cast(of_type))
    return collected


def demands_in(record: Mapping[str, Any], demands: Mapping[Any, Demand]) -> dict[Any, Demand]:
    """Those of the demands that a pass's record is for, in its order; KeyError if one is not there."""
    known = {who: who for who in demands}  # JSON has lists in place of ports
    asking = [known[tuple(who) if isinstance(who, list) else who] for who in record["for"]]
    return {who: demands[who] for who in asking}


def partials_of(demands: Mapping[Any, Demand]) -> tuple[Partial, ...]:
    """The partials that are asked for, each once."""
    return tuple(
        dict.fromkeys(p for demand in demands.values() for item in demand.aggregates for p in item.partials)
    )

"""What several passes of one `sliding()` collect, in one DataFrame, so that a task gets all of a shard.

Each row says which pass it is of; a column that only another pass has is NULL in it. Where the order of
rows counts, they carry the columns that ties are broken by, and are sorted in the task.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from windrow.columns import SLICE, key_name
from windrow.planner import Bounds, LiftedPass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from windrow.planner import BatchPass

PASS = "_pass"


@dataclass(frozen=True)
class CollectedColumns:
    """The columns of what a pass collects."""

    names: tuple[str, ...]
    ties: int
    """How many columns behind them break ties; -1 if the order of rows does not count."""

    @classmethod
    def of(cls, shared: BatchPass) -> CollectedColumns:
        """Of a pass whose statement is `one_pass_sql`."""
        ties = len(shared.order) if isinstance(shared, LiftedPass) and shared.ordered else -1
        return cls(tuple(shared.columns), ties)

    def named(self, table: pa.Table) -> pa.Table:
        """What was collected, under the names by which operators know it, in order if that counts."""
        if self.ties < 0:
            return table.rename_columns(list(self.names))
        by = {"instant": table.column(0)}
        for place in range(len(self.names), len(self.names) + self.ties):
            # NULLs come first and NaN last, as Spark has it.
            by |= {f"has {place}": pc.is_valid(table.column(place)), f"tie {place}": table.column(place)}
        order = pc.sort_indices(pa.table(by), sort_keys=[(name, "ascending") for name in by])
        return table.select(range(len(self.names))).rename_columns(list(self.names)).take(order)


def one_pass_sql(shared: BatchPass) -> str:
    """The statement of a pass over a whole DataFrame, in any order."""
    return shared.sql(Bounds(), with_ties=True) if isinstance(shared, LiftedPass) else shared.sql(Bounds())


def together(frames: Sequence[DataFrame]) -> DataFrame:
    """The rows of all passes; a pass's own columns have its number in front."""
    labelled = [
        frame.select(
            F.lit(number).alias(PASS),
            *(F.col(name).alias(name if _is_shared(name) else f"_{number}{name}") for name in frame.columns),
        )
        for number, frame in enumerate(frames)
    ]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), labelled)


def apart(table: pa.Table, number: int, keys: int, shared: CollectedColumns) -> pa.Table:
    """The rows and columns of one pass."""
    own = [name for name in table.column_names if name.startswith(f"_{number}_")]
    names = [SLICE, *(key_name(i) for i in range(keys)), *own]
    assert len(names) == len(shared.names) + max(shared.ties, 0)
    return table.filter(pc.equal(table[PASS], number)).select(names)


def _is_shared(name: str) -> bool:
    return name == SLICE or name.startswith("_key")

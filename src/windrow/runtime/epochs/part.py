"""A part: what is staged of one stream, for an epoch to take in.

It says all that the epoch must know of the stream, so that the epoch needs nothing of what staged it, which
goes on changing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from windrow.planner import Tally

if TYPE_CHECKING:
    import pyarrow as pa

    from windrow.logical import Stream
    from windrow.planner import Experience
    from windrow.planner.plan import PhysicalPlan, Port
    from windrow.runtime.home.records import DataFile, Progress
    from windrow.runtime.spark.refused_tables import Behind
    from windrow.runtime.state.current_plan import Planned
    from windrow.runtime.state.queries import RunningQuery

NO_ROWS = Tally(None, 0, 0, 0)
"""The tally of a batch without rows, and of what is no batch."""


@dataclass(frozen=True)
class Part:
    """What an epoch does with one stream: a staged batch, a heartbeat or the seal."""

    stream: Stream
    queries: Sequence[RunningQuery]
    planned: Planned
    """The plan in which they run, as it was planned for this part alone."""
    operators: Sequence[int]
    """The operators that answer them, by number."""
    progress: Progress
    clock: float
    evaluated: int
    """The watermark that the stream's queries have been evaluated up to."""
    committed: Callable[[Part, PhysicalPlan, PhysicalPlan], None]
    """Tells the stage of the stream that an epoch with the part is committed, and by which plan in the place
    of which one."""
    plans_failed: Callable[[], int]
    """How often the stream's trees could not be planned anew so far."""
    proposal: PhysicalPlan | None = None
    """The plan of the background's that was looked at."""
    batch: int | None = None
    tally: Tally = NO_ROWS
    tables: Mapping[Port, Sequence[pa.Table]] = field(default_factory=dict)
    """What was collected for each port of an operator: a table from each of its passes."""
    experience: Experience | None = None
    """What is known of the passes since the batch."""
    failed: Mapping[int, Exception] = field(default_factory=dict)
    """Queries to be quarantined, and why, by their numbers."""
    stopping: Callable[[], bool] = lambda: False
    """Whether somebody is stopping the stream, so that nothing is worth being tried again."""
    refused: Callable[[int, Sequence[Behind]], list[DataFile]] = lambda epoch, behind: []
    """Writes the late and dead rows, and those that are behind queries, with the number of the epoch."""
    begun: float = field(default_factory=time.perf_counter)
    was_idle: bool = False

    @property
    def plan(self) -> PhysicalPlan:
        """The plan in which the queries run; of other streams it may have another than is committed."""
        return self.planned.after

    @property
    def fresh(self) -> frozenset[int]:
        """The queries that no epoch has had yet, by number."""
        return frozenset(query.stored.id for query in self.queries if not query.stored.started)

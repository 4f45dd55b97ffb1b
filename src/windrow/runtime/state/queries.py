"""The queries of an engine while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.planner.draft import Asked
from windrow.planner.plan import OutputPlan

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from windrow.logical import BoundQuery
    from windrow.runtime.home.records import StoredQuery


@dataclass
class RunningQuery:
    """A query as the home has it, what it was bound to, and where its answers also go."""

    stored: StoredQuery
    plan: BoundQuery
    sink: Callable[[int, pa.Table], None] | None = None
    behind: bool = True
    """Whether the sink may have missed answers: it has just come, or it has failed."""
    sink_error: BaseException | None = None
    """Why the sink failed."""
    _output: OutputPlan | None = None

    @property
    def output(self) -> OutputPlan:
        """The query as a plan has it; made once, since every batch asks for it, of ten thousand too."""
        stored, made = self.stored, self._output
        if (
            made is None
            or made.of is not self.plan
            or (made.query, made.retain) != (stored.id, stored.retain)
        ):
            made = OutputPlan(stored.id, stored.name, self.plan, stored.schema_id, retain=stored.retain)
            self._output = made
        return made

    @property
    def asked(self) -> Asked:
        """The query as a planner is asked for it."""
        return Asked(self.output, self.stored.latest_end)

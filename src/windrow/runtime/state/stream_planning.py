"""The planning of one stream: the plan with which the next epoch has its queries, batch by batch.

Prices are looked at again now and then, and the background is asked whether other operators would be better.
A batch for which nothing changes costs a look at its queries.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from windrow.columns import BEGINNING
from windrow.planner import Experience
from windrow.planner.observed import Observed
from windrow.runtime.logs import event
from windrow.runtime.state.replanning import Replanner

if TYPE_CHECKING:
    from collections.abc import Iterable

    from windrow.planner.plan import PhysicalPlan
    from windrow.runtime.home.home import Home
    from windrow.runtime.home.records import Progress
    from windrow.runtime.state.current_plan import CurrentPlan, Planned
    from windrow.runtime.state.queries import RunningQuery

LOOK_EVERY = 10
"""After how many batches at most prices are looked at again, where nothing changed: at first much sooner."""


class StreamPlanning:
    """Plans the batches of one stream, and remembers what they have shown."""

    def __init__(self, stream: str, home: Home, plan: CurrentPlan) -> None:
        self.replanner = Replanner(stream)
        read = plan.plan.inputs.get(stream)
        self.experience = Experience() if read is None else read.experience
        """What batches that are committed have shown."""
        self._stream = stream
        self._home = home
        self._plan = plan
        self._next_look, self._pause = 0, 1

    def for_batch(
        self, queries: Iterable[RunningQuery], progress: Progress
    ) -> tuple[Planned, PhysicalPlan | None]:
        """The plan with which the next epoch has queries, and the plan of the background's that was looked
        at for it."""
        observed, proposal = self.observed(progress), self.replanner.proposal
        look = self._is_time_to_look()
        operators = self._plan.plan.of_stream(self._stream).values()
        if any(not member.stays for operator in operators for member in operator.members.values()):
            proposal = None  # until those that move have arrived
        planned = self._plan.planned(
            self._stream, [query.asked for query in queries], observed, proposal, look=look
        )
        before, after = planned.before, planned.after
        if after is not before:
            self._next_look = self._pause = 1
        if after.of_stream(self._stream):
            changed = after.queries_over(self._stream) != before.queries_over(self._stream)
            self.replanner.consider(after, observed, self._plan.settings, changed=changed, look=look)
        return planned, proposal

    def for_frame(self, queries: Iterable[RunningQuery]) -> Planned:
        """The plan in which queries read a bounded frame, whole, that they have not seen."""
        observed = Observed(experience=self.experience)
        asked = [query.asked for query in queries]
        return self._plan.planned(self._stream, asked, observed, whole=False, anew=True)

    def observed(self, progress: Progress) -> Observed:
        """What is known of the stream."""
        catalog, name = self._home.catalog, self._stream
        return Observed(
            progress.latest, answered_until(progress), catalog.rate(name), catalog.batch_seconds(name),
            catalog.groups_known(), self.experience,
        )  # fmt: skip

    def committed(
        self,
        before: PhysicalPlan,
        after: PhysicalPlan,
        proposal: PhysicalPlan | None,
        experience: Experience | None,
    ) -> None:
        """An epoch of the stream is committed: the plans before it and with it, the proposal that was looked
        at for it, and what its batch has shown (None: there was none)."""
        self.replanner.taken(proposal)
        if experience is not None:
            self.experience = experience
        nodes_before, nodes = (
            {operator.node for operator in each.of_stream(self._stream).values()} - {None}
            for each in (before, after)
        )
        if nodes_before != nodes:
            operators = after.of_stream(self._stream).values()
            event(
                logging.INFO, "trees_settled",
                "stream '%(stream)s': %(away)d of %(trees)d trees are held by %(nodes)d Spark tasks",
                stream=self._stream, away=sum(operator.node is not None for operator in operators),
                trees=len(operators), nodes=len(nodes),
            )  # fmt: skip

    def _is_time_to_look(self) -> bool:
        """Whether to look whether all is well: now and then, at first more often."""
        self._next_look -= 1
        if self._next_look > 0:
            return False
        self._pause = min(2 * self._pause, LOOK_EVERY)
        self._next_look = self._pause
        return True


def answered_until(progress: Progress) -> int:
    """The instant up to which the windows over a stream have been answered."""
    return BEGINNING if progress.watermark is None else progress.watermark

"""The passes of a stream's queries: planned when the queries change, and by what batches have shown.

A thousand queries take a tenth of a second to plan, so that is not done for every batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from windrow.planner import Experience, plan_passes, share_passes
from windrow.planner.passes.pack import MOST_CELLS
from windrow.planner.passes.woven import COPY, LINEAGE
from windrow.runtime.logs import LOG

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from windrow.logical import AggregateQuery
    from windrow.planner import LiftedPass, Pass, RowPass, WovenPass

    AnyPass = Pass | RowPass | LiftedPass | WovenPass

CROWDED = 4
"""Fewer rows than this in a group make it no smaller than the rows are."""


class PlannedPasses:
    """Remembers the plan of the queries that ran last, and what it has learnt."""

    def __init__(self) -> None:
        self._groups: list[dict[str, AggregateQuery]] = []
        self._passes: Sequence[AnyPass] | None = None
        self._experience = Experience()
        self._weaves = True

    def of(self, groups: Sequence[Mapping[str, AggregateQuery]]) -> Sequence[AnyPass]:
        """The passes for all queries, which are the same as before if the queries are. Only those of one
        group share passes."""
        # By identity: to compare ten thousand plans would take as long as to plan.
        same = len(groups) == len(self._groups) and all(
            len(group) == len(known) and all(known.get(name) is query for name, query in group.items())
            for group, known in zip(groups, self._groups, strict=True)
        )
        if self._passes is None or not same:
            self._groups = [dict(group) for group in groups]
            self._passes = [shared for group in groups for shared in self.plan(group)]
        return self._passes

    def plan(self, queries: Mapping[str, AggregateQuery]) -> Sequence[AnyPass]:
        """The passes for some queries, this once."""
        return plan_passes(queries, self._experience) if self._weaves else share_passes(queries)

    def learn(self, shared: WovenPass, collected: pa.Table, rows: int) -> None:
        """Plan otherwise from the next batch on, if there are nearly as many groups as rows."""
        copies, lineage = collected[COPY].to_numpy(), collected[LINEAGE].to_numpy()
        groups = np.bincount(copies[lineage != 0], minlength=len(shared.copies))
        scattered, crowded = set(self._experience.scattered), set(self._experience.crowded)
        for number in np.flatnonzero(groups * CROWDED > rows):
            copy = shared.copies[number]
            if any(len(strand.query.keys) < len(copy.keys) for strand in copy.strands):
                crowded.add(frozenset(copy.keys))
            if len(np.unique(lineage[copies == number])) > MOST_CELLS:
                scattered.update(copy.predicates)
        most = 1 << int(groups.max(initial=1)).bit_length()
        known = self._experience.groups
        # By powers of two, and not for every smaller batch: other passes are other code for Spark to compile.
        settled = most <= known <= 16 * most
        experience = Experience(frozenset(scattered), frozenset(crowded), known if settled else most)
        if experience != self._experience:
            self._experience, self._passes = experience, None

    def give_up_weaving(self) -> None:
        """Plan a pass for each class from now on: woven ones fail though no query is at fault."""
        LOG.warning("queries that run well alone fail in one pass; from now on each class has its own")
        self._weaves, self._passes = False, None

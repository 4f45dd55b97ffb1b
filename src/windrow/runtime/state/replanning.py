"""Planning in the background: whether the queries of a class would be better off in other operators.

It takes seconds, so no epoch waits for it. What it makes is a plan like any other, which the next batch takes
over as far as its queries are still the same.
"""

from __future__ import annotations

import logging
from threading import Thread
from typing import TYPE_CHECKING

from windrow.planner.planning import all_windows, rewoven, wants_weaving
from windrow.runtime.logs import event

if TYPE_CHECKING:
    from collections.abc import Hashable

    from windrow.planner.observed import Observed
    from windrow.planner.plan import PhysicalPlan
    from windrow.planner.settings import Settings
    from windrow.slicing import Window


class Replanner:
    """Plans the classes of one stream anew, one at a time, and keeps a plan that pays until it is taken."""

    def __init__(self, stream: str) -> None:
        self._stream = stream
        self._thread: Thread | None = None
        self._tried: dict[Hashable, tuple[int, frozenset[Window]]] = {}
        self.proposal: PhysicalPlan | None = None
        """The plan that is ready to be taken over."""
        self.failures = 0
        """Plans that could not be made; the log has the reasons."""

    def consider(
        self, plan: PhysicalPlan, observed: Observed, settings: Settings, *, changed: bool, look: bool
    ) -> None:
        """Begin to plan a class anew, if one may be worth it: where queries came or went, or where one of its
        operators keeps a node busier than the rest."""
        if not (changed or look) or (self._thread is not None and self._thread.is_alive()):
            return
        nodes = settings.nodes or plan.inputs[self._stream].nodes
        alike = self._of_several_operators(plan) if changed else None
        if alike is None:
            alike = wants_weaving(plan, self._stream, nodes, self._tried)
            if alike is not None:
                own = [o for o in plan.of_stream(self._stream).values() if o.alike == alike]
                self._tried[alike] = nodes, all_windows(own)
        if alike is not None:
            self.begin(plan, alike, observed, settings)

    def begin(self, plan: PhysicalPlan, alike: Hashable, observed: Observed, settings: Settings) -> None:
        """Plan a class anew."""
        self._thread = Thread(
            target=self._make, args=(plan, alike, observed, settings), name="windrow replanning", daemon=True
        )
        self._thread.start()

    def wait(self) -> None:
        """Return when no plan is being made."""
        if self._thread is not None:
            self._thread.join()

    def taken(self, proposal: PhysicalPlan | None) -> None:
        """An epoch has been planned with a proposal, and is committed."""
        if proposal is not None and proposal is self.proposal:
            self.proposal = None

    def _of_several_operators(self, plan: PhysicalPlan) -> Hashable | None:
        known: set[Hashable] = set()
        for operator in plan.of_stream(self._stream).values():
            if operator.alike is not None and operator.alike in known:
                return operator.alike
            known.add(operator.alike)
        return None

    def _make(self, plan: PhysicalPlan, alike: Hashable, observed: Observed, settings: Settings) -> None:
        try:
            made = rewoven(plan, self._stream, alike, observed, settings)
        except Exception as error:  # a fault of ours: epochs go on with the plan there is, and report it
            self.failures += 1
            own = [o for o in plan.of_stream(self._stream).values() if o.alike == alike]
            event(
                logging.ERROR, "plan_failed", "the trees of %(windows)d windows stay as they are: %(reason)s",
                windows=len(all_windows(own)), reason=str(error), error=error,
            )  # fmt: skip
            return
        if made is not None:
            self.proposal = made

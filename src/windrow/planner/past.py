"""What the slices of an operator can tell about the time before a query came."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.columns import BEGINNING
from windrow.slicing import slices

if TYPE_CHECKING:
    from windrow.aggregates import Partial
    from windrow.logical import BoundQuery
    from windrow.planner.plan import OperatorPlan
    from windrow.slicing import Comb


class Past:
    """Since when an operator has made each cut and each partial, and from where on it holds slices.

    Cost: linear in its queries, once; then in the cuts and partials of the query that asks.
    """

    def __init__(self, operator: OperatorPlan, evaluated: int) -> None:
        self._combs: dict[Comb, int] = {}
        self._partials: dict[Partial, int] = {}
        self._held_from = evaluated
        for member in operator.members.values():
            query, window = member.output.of, member.window
            since = BEGINNING if member.joined is None else member.joined
            for comb in slices(window).cuts.combs:
                self._combs[comb] = min(since, self._combs.get(comb, since))
            for partial in (partial for item in query.aggregates for partial in item.partials):
                self._partials[partial] = min(since, self._partials.get(partial, since))
            if evaluated > BEGINNING:
                following = window.first_evaluation_after(max(evaluated, member.after))
                if following <= member.until:  # as the operator reckons what it holds
                    self._held_from = min(self._held_from, following - window.range)

    def complete_after(self, query: BoundQuery) -> int | None:
        """Windows of a query that begin later than this could be answered; None: no window could."""
        (window,) = query.time_windows
        needed = [self._cut_since(comb) for comb in slices(window).cuts.combs]
        needed += [self._partials.get(p) for item in query.aggregates for p in item.partials]
        known = [since for since in needed if since is not None]
        if len(known) < len(needed):
            return None
        return max(self._held_from - 1, *known)

    def _cut_since(self, comb: Comb) -> int | None:
        if comb in self._combs:
            return self._combs[comb]
        return min((since for held, since in self._combs.items() if held.covers(comb)), default=None)

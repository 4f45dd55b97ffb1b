"""How many edges a second a tree has, and how often a pass cuts for it: a counter of edges with a memory.

The counter is the one place where the optimizers meet the counting of edges; a benchmark puts another in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.planner.sharing.final_work import MICROSECONDS
from windrow.slicing.edge_counts import EdgeRate, edge_rate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from windrow.planner.sharing.combs import Combs
    from windrow.slicing import Comb

    EdgeCounter = Callable[[Sequence[Comb]], EdgeRate]

MOST_REMEMBERED = 200_000
BUDGET = 1 << 18
"""For counting one set: 400 entangled combs then take 50 ms, which with the counter's own budget take 150."""


def quickly(combs: Sequence[Comb]) -> EdgeRate:
    """How often combs cut, in the time that a search has for each of its sets."""
    return edge_rate(combs, BUDGET)


class EdgeRates:
    """A counter with a memory: optimizers come back to the same sets of combs."""

    def __init__(self, counter: EdgeCounter) -> None:
        self.counter = counter
        self._rates: dict[Combs, tuple[float, bool]] = {}
        self._known: dict[Combs, Combs] = {}
        self._joined: dict[tuple[Combs, Combs], Combs] = {}

    def known(self, combs: Combs) -> Combs:
        """A set of combs, as the object that was asked about before, which is quicker to find again."""
        return self._known.setdefault(combs, combs)

    def joined(self, one: Combs, other: Combs) -> Combs:
        """The combs with the cuts of two sets of combs, joined once however often they are asked for."""
        if (one, other) not in self._joined:
            self._make_room()
            self._joined[one, other] = self.known(one.joined(other))
        return self._joined[one, other]

    def a_second(self, combs: Combs) -> tuple[float, bool]:
        """Edges a second, and whether that is exact."""
        if combs not in self._rates:
            self._make_room()
            counted = self.counter(combs.cuts.combs)
            self._rates[combs] = (counted.rate * MICROSECONDS, counted.exact)
        return self._rates[combs]

    def of_pass(self, combs: Combs) -> float:
        """Cuts a second that a pass over the rows makes: the edges, or the granules that they are among."""
        return self.a_second(combs)[0] if combs.exactly else MICROSECONDS / combs.granule

    def _make_room(self) -> None:
        for remembered in (self._rates, self._joined, self._known):
            if len(remembered) >= MOST_REMEMBERED:
                remembered.clear()

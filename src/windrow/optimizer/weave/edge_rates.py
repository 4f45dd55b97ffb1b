"""How many edges a second a tree has: a counter of edges, and what it was asked before.

The counter is the one place where the optimizers meet the counting of edges; a benchmark puts another in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.slicing.edge_counts import EdgeRate, edge_rate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from windrow.optimizer.weave.combs import Combs
    from windrow.slicing import Comb

    EdgeCounter = Callable[[Sequence[Comb]], EdgeRate]

__all__ = ["EdgeRates", "edge_rate"]

MOST_REMEMBERED = 200_000


class EdgeRates:
    """A counter with a memory: optimizers come back to the same sets of combs."""

    def __init__(self, counter: EdgeCounter) -> None:
        self.counter = counter
        self._rates: dict[Combs, tuple[float, bool]] = {}
        self._known: dict[Combs, Combs] = {}
        self._joined: dict[tuple[Combs, Combs], Combs] = {}

    def known(self, combs: Combs) -> Combs:
        """The same set, as the object that was asked about before, which is quicker to find again."""
        return self._known.setdefault(combs, combs)

    def joined(self, one: Combs, other: Combs) -> Combs:
        """The cuts of both."""
        if (one, other) not in self._joined:
            self._make_room()
            self._joined[one, other] = self.known(one.joined(other))
        return self._joined[one, other]

    def a_second(self, combs: Combs) -> tuple[float, bool]:
        """Edges a second, and whether that is exact."""
        if combs not in self._rates:
            self._make_room()
            counted = self.counter(combs.cuts.combs)
            self._rates[combs] = (counted.rate * 1e6, counted.exact)
        return self._rates[combs]

    def _make_room(self) -> None:
        for remembered in (self._rates, self._joined, self._known):
            if len(remembered) >= MOST_REMEMBERED:
                remembered.clear()

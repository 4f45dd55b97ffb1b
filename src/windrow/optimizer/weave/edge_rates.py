"""How many edges a second a tree has: a counter of edges, and what it was asked before.

The counter is the one place where the optimizers meet the counting of edges; a benchmark puts another in.
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from windrow.optimizer.weave.combs import Combs
    from windrow.slicing import Comb

    EdgeCounter = Callable[[Sequence[Comb]], "EdgeRate"]

MOST_REMEMBERED = 200_000


class EdgeRate(NamedTuple):
    """Edges a microsecond, and whether they were counted or estimated."""

    rate: Fraction
    exact: bool


def edge_rate(combs: Sequence[Comb]) -> EdgeRate:
    return EdgeRate(_rate(tuple((c.period, c.phase) for c in combs)), True)


def _rate(combs: tuple[tuple[int, int], ...]) -> Fraction:
    total = Fraction(0)
    for k, (p, o) in enumerate(combs):
        inside = set()
        for q, r in combs[:k]:
            g = gcd(p, q)
            if (r - o) % g == 0:
                m = q // g
                inside.add((m, (r - o) // g * pow(p // g, -1, m) % m if m > 1 else 0))
        kept: list[tuple[int, int]] = []
        for m, r in sorted(inside):
            if not any(m % a == 0 and (r - b) % a == 0 for a, b in kept):
                kept.append((m, r))
        if kept and kept[0][0] == 1:
            continue
        total += Fraction(1, p) * (1 - _rate(tuple(kept)))
    return total


class EdgeRates:
    """A counter with a memory: optimizers come back to the same sets of combs."""

    def __init__(self, counter: EdgeCounter) -> None:
        self.counter = counter
        self._rates: dict[Combs, tuple[float, bool]] = {}
        self._joined: dict[tuple[Combs, Combs], Combs] = {}

    def joined(self, one: Combs, other: Combs) -> Combs:
        """The cuts of both."""
        if (one, other) not in self._joined:
            self._make_room()
            self._joined[one, other] = one.joined(other)
        return self._joined[one, other]

    def a_second(self, combs: Combs) -> tuple[float, bool]:
        """Edges a second, and whether that is exact."""
        if combs not in self._rates:
            self._make_room()
            counted = self.counter(combs.cuts.combs)
            self._rates[combs] = (float(counted.rate * 1_000_000), counted.exact)
        return self._rates[combs]

    def _make_room(self) -> None:
        for remembered in (self._rates, self._joined):
            if len(remembered) >= MOST_REMEMBERED:
                remembered.clear()

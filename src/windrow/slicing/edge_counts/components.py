"""The share of instants that some comb cuts, exactly, for any number of combs: our own way.

1. Combs inside others are dropped (`minimal`).
2. Combs that share no prime factor, however indirectly, are independent by the Chinese remainder theorem:
   the shares that they leave free multiply. So slides of 7, 11, 13, … seconds cost nothing, however
   long their common multiple.
3. When all periods of a component have a common divisor g, combs of different residues modulo g never
   meet: each class is a smaller problem, and their shares add up.
4. A component of few combs: inclusion and exclusion, with terms of the same LCM and residue merged, so
   that a term inside another comb cancels at once.
5. A larger one: boxes in a grid of residues, summed axis by axis (`boxes.py`).
6. Where its tables would be too large: given the residue modulo the prime that most combs have, fewer and
   smaller combs are left, which fall apart as in 1 to 5.
7. Beyond a budget: bounds (`estimate.py`).

Needs: nothing. Time: linear in the combs for independent ones; for dependent ones it grows with how
entangled they are, not with their number: 500 slides from 501 to 1,000 take a second, 100 random ones
below 1,000 take milliseconds. Space: a table. Source: our own.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from operator import truediv
from typing import TYPE_CHECKING, Any

from windrow.slicing.cuts import minimal
from windrow.slicing.edge_counts.boxes import Boxes
from windrow.slicing.edge_counts.factors import prime_powers

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

Pairs = tuple[tuple[int, int], ...]
"""Combs as (period, phase): plain tuples are hashed and compared many times faster than `Comb`s."""

# So few combs are counted sooner than their components are found.
FEW_COMBS = 4
# Inclusion and exclusion takes about 150 µs for 9 combs and twice that for one more; boxes take 250 µs.
MOST_IN_TERMS = 9
MOST_CELLS = 1 << 20
# What making boxes and tables costs a comb, in cells of a table.
COMB_COST = 500


class BudgetSpent(Exception):
    """The combs are too entangled for the budget; caught by those who gave it."""


def covered(combs: Collection[tuple[int, int]], leaf: Callable[[Pairs], Any], ratio: Any = truediv) -> Any:
    """The share of instants in some comb, with components worked out by `leaf`.

    The share is of the type that `leaf` and `ratio` give: float, Fraction, or an array of estimates.

    >>> covered([(2, 0), (3, 0), (4, 0), (5, 0), (6, 0)], Within(1_000), Fraction)
    Fraction(11, 15)
    """
    if not combs:
        return ratio(0, 1)
    if len(combs) <= FEW_COMBS:
        return _merged_terms(combs, ratio)
    return _joined(minimal(combs), leaf, ratio)


def _joined(combs: Sequence[tuple[int, int]], leaf: Callable[[Pairs], Any], ratio: Any) -> Any:
    """Steps 2 and 3, for combs none of which is inside another."""
    share: Any = 0
    for component in _components(combs):
        part = _of_component(component, leaf, ratio)
        share = share + part - share * part
    return share


def _of_component(component: list[tuple[int, int]], leaf: Callable[[Pairs], Any], ratio: Any) -> Any:
    if len(component) <= FEW_COMBS:
        return _merged_terms(component, ratio)
    divisor = gcd(*[period for period, _ in component])
    if divisor == 1:
        return leaf(tuple(component))
    classes: dict[int, list[tuple[int, int]]] = {}
    for period, phase in component:
        classes.setdefault(phase % divisor, []).append((period // divisor, phase // divisor))
    return sum(_joined(combs, leaf, ratio) for combs in classes.values()) / divisor


def _components(combs: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Combs that are tied to each other by common prime factors. A comb of every instant is alone."""
    representative: dict[int, int] = {}

    def root(prime: int) -> int:
        while (above := representative.setdefault(prime, prime)) != prime:
            representative[prime] = prime = representative.setdefault(above, above)
        return prime

    for period, _ in combs:
        powers = prime_powers(period)
        if len(powers) > 1:
            first = root(powers[0][0])
            for prime, _ in powers[1:]:
                representative[root(prime)] = first
    components: dict[int, list[tuple[int, int]]] = {}
    for comb in combs:
        powers = prime_powers(comb[0])
        components.setdefault(root(powers[0][0]) if powers else 1, []).append(comb)
    return list(components.values())


def _merged_terms(combs: Collection[tuple[int, int]], ratio: Any) -> Any:
    """Inclusion and exclusion. A term is the common comb (LCM, residue) of groups, their signs added up."""
    *earlier, (last, last_phase) = combs
    terms: dict[tuple[int, int], int] = {(1, 0): 1}
    for period, phase in earlier:
        for (multiple, residue), sign in list(terms.items()):
            divisor = gcd(multiple, period)
            distance = phase - residue
            if distance % divisor:
                continue
            step = period // divisor
            if distance and step > 1:
                residue += multiple * (distance // divisor * pow(multiple // divisor, -1, step) % step)
            common = (multiple * step, residue)
            signs = terms.get(common, 0) - sign
            if signs:
                terms[common] = signs
            else:
                del terms[common]
    length = lcm(*[period for period, _ in combs])
    free = 0
    for (multiple, residue), sign in terms.items():
        edges = length // multiple
        divisor = gcd(multiple, last)
        if (last_phase - residue) % divisor == 0:
            edges -= edges * divisor // last
        free += sign * edges
    return ratio(length - free, length)


class Within:
    """Steps 4 to 6 for components, within a budget, in cells of tables, for all of them."""

    def __init__(self, cells: int, exact: bool = False) -> None:
        self.left = cells
        self.exact = exact
        self.cell_cost = 16 if exact else 1  # whole numbers of any length are so much slower than floats
        self.ratio: Any = Fraction if exact else truediv
        self._known: dict[Pairs, Any] = {}

    def __call__(self, component: Pairs) -> Any:
        share = self._known.get(component)
        if share is None:
            share = self._known[component] = self._share(component)
        return share

    def _share(self, component: Pairs) -> Any:
        if len(component) <= MOST_IN_TERMS:
            return _merged_terms(component, self.ratio)
        self._spend(COMB_COST * len(component))
        boxes = Boxes(component)
        order = boxes.order(MOST_CELLS // self.cell_cost)
        if order is not None:
            self._spend(order.cells * self.cell_cost)
            return 1 - (boxes.free_exactly(order) if self.exact else boxes.free(order))
        busiest = max(range(len(boxes.axes)), key=boxes.users.__getitem__)
        return sum(
            self.ratio(weight, boxes.axes[busiest].modulus) * covered(combs, self, self.ratio)
            for weight, combs in boxes.given(busiest)
        )

    def _spend(self, cells: int) -> None:
        self.left -= cells
        if self.left < 0:
            raise BudgetSpent


@lru_cache(maxsize=1 << 16)
def share_of_component(component: Pairs, budget: int) -> float | None:
    """The share of a component; None beyond the budget. Remembered: trees have components in common."""
    try:
        return float(Within(budget)(component))
    except BudgetSpent:
        return None


@lru_cache(maxsize=1 << 10)
def exact_share_of_component(component: Pairs, budget: int) -> Fraction | None:
    """The share of a component, as a fraction; None beyond the budget."""
    try:
        return Fraction(Within(budget, exact=True)(component))
    except BudgetSpent:
        return None

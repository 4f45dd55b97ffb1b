"""Bounds for the share of instants in some comb, where combs are too entangled to be counted.

The densest combs are counted exactly, as many as the budget allows. They alone are a lower bound, the sums
over single combs and pairs of them give another. Each of the other combs adds at most the part of it that is
free of the densest; and when all
combs have an instant in common, being free of some makes being free of others more likely (Harris; for
multiples, Heilbronn and Rohrbach), so the free shares multiply to a bound as well. Both are certain.

The estimate between the bounds is Karp and Luby's: instants drawn from the others' cuts, each weighted
by how many of them have it, with a fixed seed, so that equal combs have equal estimates.
Needs: nothing. Time: the budget a few times over, and a remainder an instant drawn and a comb.
Source: Karp, Luby 1983, "Monte-Carlo algorithms for enumeration and reliability problems"; Dawson, Sankoff
1967, "An inequality for probabilities".
"""

from __future__ import annotations

from math import gcd, prod
from typing import Any, NamedTuple

import numpy as np

from windrow.slicing.edge_counts.components import BudgetSpent, Pairs, Within, covered

INSTANTS = 4_096
DENSEST = 6
MOST_PAIRED = 1_000
LONGEST = 1 << 62


class Between(NamedTuple):
    """An estimate, and what it is certainly between."""

    low: float
    share: float
    high: float


def estimated(component: Pairs, budget: int) -> Between:
    """The share of instants in some comb of a component.

    >>> primes = [p for p in range(3, 100) if all(p % d for d in range(2, p))]
    >>> tied = sorted((p * q, 0) for p in primes for q in primes if p < q < 3 * p)
    >>> low, share, high = estimated(tuple(tied), 50_000)
    >>> low < share < high < 1.1 * low
    True
    """
    combs = sorted(component)
    kept, counted = _densest(combs, budget)
    others = combs[len(kept) :]
    low = max(counted, _by_pairs(combs[:MOST_PAIRED]))
    high = min(1.0, counted + _adding_at_most(kept, others))
    if _have_an_instant_in_common(combs):
        high = min(high, 1 - (1 - counted) * prod(1 - 1 / period for period, _ in others))
    high = max(low, high)  # where they meet, but for rounding
    return Between(low, min(max(counted + _drawn(kept, others), low), high), high)


def _densest(combs: list[tuple[int, int]], budget: int) -> tuple[list[tuple[int, int]], float]:
    """As many as can be counted, found by halving, and their share."""
    kept = combs
    while True:
        kept = kept[: (len(kept) + 1) // 2]
        try:
            return kept, float(covered(kept, Within(budget)))
        except BudgetSpent:
            continue


def _by_pairs(combs: list[tuple[int, int]]) -> float:
    """A lower bound from single combs and pairs of them (Dawson and Sankoff)."""
    periods, phases = (np.array(column, np.int64) for column in zip(*combs))
    divisors = np.gcd(periods[:, None], periods)
    meet = (phases[:, None] - phases) % divisors == 0
    singles = float((1 / periods).sum())
    pairs = float((meet * divisors / periods[:, None] / periods).sum() - singles) / 2
    level = 1 + int(2 * pairs / singles)
    return 2 * singles / (level + 1) - 2 * pairs / (level * (level + 1))


def _adding_at_most(kept: list[tuple[int, int]], others: list[tuple[int, int]]) -> float:
    """What the others add to the kept ones, had no two of them an instant in common."""
    free = [
        1 - float(covered(_within(comb, kept[:DENSEST]), Within(LONGEST))) for comb in others[:MOST_PAIRED]
    ]
    free += [1.0] * (len(others) - len(free))
    return sum(part / period for part, (period, _) in zip(free, others))


def _within(comb: tuple[int, int], others: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """The others as combs on the numbers of this one's cuts."""
    period, phase = comb
    found = set()
    for other, shifted in others:
        divisor = gcd(period, other)
        if (shifted - phase) % divisor == 0:
            step = other // divisor
            found.add((step, (shifted - phase) // divisor * pow(period // divisor, -1, step) % step))
    return found


def _have_an_instant_in_common(combs: list[tuple[int, int]]) -> bool:
    multiple, instant = 1, 0
    for period, phase in combs:
        divisor = gcd(multiple, period)
        if (phase - instant) % divisor:
            return False
        step = period // divisor
        instant += multiple * ((phase - instant) // divisor * pow(multiple // divisor, -1, step) % step)
        multiple *= step
    return True


def _drawn(kept: list[tuple[int, int]], others: list[tuple[int, int]]) -> float:
    """What the others add to the kept ones, from instants that are drawn."""
    periods, phases = (np.array(column, np.int64) for column in zip(*others))
    rate = float((1 / periods).sum())
    generator = np.random.default_rng(0)
    chosen = generator.choice(len(others), INSTANTS, p=1 / periods / rate)
    instants = phases[chosen] + periods[chosen] * generator.integers(
        0, np.maximum(LONGEST // periods[chosen], 1)
    )
    times = np.zeros(INSTANTS, np.int64)
    for period, phase in others:
        times += (instants - phase) % period == 0
    free: Any = np.ones(INSTANTS, np.bool_)
    for period, phase in kept:
        free &= (instants - phase) % period != 0
    return rate * float((free / times).mean())

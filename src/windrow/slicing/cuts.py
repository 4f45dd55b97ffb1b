"""Where a stream is cut into slices: a set of combs, each a periodic sequence of cut points.

A slice runs from one cut to the next; no window boundary falls inside it. The slice of an instant
starts at the latest tooth of any comb, which is a remainder a comb, in SQL and in NumPy alike, so
neither the edges nor their period (the LCM of the slides) is ever materialised.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

# Trying them one by one takes 30 ns a pair.
FEW_PERIODS = 200


@dataclass(frozen=True, order=True)
class Comb:
    """Cuts at every t ≡ phase (mod period)."""

    period: int
    phase: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "phase", self.phase % self.period)

    def covers(self, other: Comb) -> bool:
        """Whether every cut of `other` is one of these."""
        return other.period % self.period == 0 and (other.phase - self.phase) % self.period == 0


@dataclass(frozen=True)
class Cuts:
    """A set of combs without redundant ones."""

    combs: tuple[Comb, ...]

    @classmethod
    def of(cls, combs: Iterable[Comb]) -> Cuts:
        """The smallest set of combs with these cuts (a comb inside another is dropped).

        >>> Cuts.of([Comb(10, 0), Comb(5, 0), Comb(10, 3)])
        Cuts(combs=(Comb(period=5, phase=0), Comb(period=10, phase=3)))
        """
        by_place = {(comb.period, comb.phase): comb for comb in combs}
        return cls(tuple(by_place[place] for place in minimal(by_place)))

    @property
    def rate(self) -> Fraction:
        """Cuts a microsecond, counting a cut that two combs share twice: an upper bound."""
        return sum((Fraction(1, comb.period) for comb in self.combs), Fraction(0))

    def slice_starts(self, instants: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The start of the slice that each instant falls in.

        >>> Cuts.of([Comb(8, 0), Comb(8, 2)]).slice_starts(np.array([-1, 0, 1, 2, 9, 10]))
        array([-6,  0,  0,  2,  8, 10])
        """
        starts = [instants - (instants - comb.phase) % comb.period for comb in self.combs]
        return np.maximum.reduce(starts)

    def slice_start_sql(self, instant: str) -> str:
        """The start of the slice that an instant falls in, in Spark SQL, for a BIGINT expression.

        >>> Cuts.of([Comb(8, 0), Comb(8, 2)]).slice_start_sql("us")
        'greatest(us - pmod(us, 8), us - pmod(us - 2, 8))'
        """
        starts = [
            f"{instant} - pmod({instant}{f' - {comb.phase}' if comb.phase else ''}, {comb.period})"
            for comb in self.combs
        ]
        return f"greatest({', '.join(starts)})" if len(starts) > 1 else starts[0]


def minimal(combs: Collection[tuple[int, int]]) -> list[tuple[int, int]]:
    """Combs, as (period, phase), without those that are inside others; in order.

    Only a period that divides another can have its cuts, so for each period its divisors among the periods
    are looked up, and for each comb its phase among theirs.

    >>> minimal([(10, 0), (5, 0), (10, 3)])
    [(5, 0), (10, 3)]
    """
    phases: dict[int, set[int]] = {}
    for period, phase in combs:
        phases.setdefault(period, set()).add(phase)
    periods = sorted(phases)
    for period, divisors in _divisors(periods):
        for divisor in divisors:
            covering = phases[divisor]
            if covering:
                phases[period] = {phase for phase in phases[period] if phase % divisor not in covering}
                if not phases[period]:
                    break
    return [(period, phase) for period in periods for phase in sorted(phases[period])]


def _divisors(periods: list[int]) -> Iterator[tuple[int, list[int]]]:
    """Each period that has smaller divisors among the periods, in order, and these divisors.

    A few periods are tried one by one. Of many, small divisors are tried each on all periods at once; large
    ones are found as quotients, by small numbers.
    """
    if len(periods) <= FEW_PERIODS:
        for place, period in enumerate(periods):
            divisors = [other for other in periods[:place] if not period % other]
            if divisors:
                yield period, divisors
        return
    numbers = np.array(periods)
    largest = periods[-1]
    # Trying `split` divisors and then largest / (the next one) quotients, whichever sum is the least.
    split = int(np.argmin(np.arange(len(periods)) + largest // numbers))
    found: dict[int, list[int]] = {}
    for divisor in periods[:split]:
        for multiple in numbers[numbers % divisor == 0][1:].tolist():
            found.setdefault(multiple, []).append(divisor)
    large = set(periods[split:])
    for quotient in range(2, largest // periods[split] + 1):
        for multiple in numbers[numbers % quotient == 0].tolist():
            if multiple // quotient in large:
                found.setdefault(multiple, []).append(multiple // quotient)
    for period in periods:
        if period in found:
            yield period, found[period]

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
    from collections.abc import Iterable


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
        kept: list[Comb] = []
        for comb in sorted(set(combs)):
            if not any(other.covers(comb) for other in kept):
                kept.append(comb)
        return cls(tuple(kept))

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
        """The same in Spark SQL, for a BIGINT expression.

        >>> Cuts.of([Comb(8, 0), Comb(8, 2)]).slice_start_sql("us")
        'greatest(us - pmod(us, 8), us - pmod(us - 2, 8))'
        """
        starts = [
            f"{instant} - pmod({instant}{f' - {comb.phase}' if comb.phase else ''}, {comb.period})"
            for comb in self.combs
        ]
        return f"greatest({', '.join(starts)})" if len(starts) > 1 else starts[0]

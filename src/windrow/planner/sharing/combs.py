"""Where a tree cuts: its combs as arrays, without redundant ones, so that two trees are woven quickly.

`Cuts` says the same with objects; an optimizer weaves thousands of trees on trial, some of hundreds of
combs, and tests divisibility on arrays.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.slicing import Comb, Cuts, composite
from windrow.slicing.cuts import minimal
from windrow.slicing.granules import MOST_COMBS, exactly

if TYPE_CHECKING:
    from collections.abc import Iterable

    from windrow.slicing import Window

    Array = np.ndarray[Any, Any]


class Combs:
    """A sorted set of combs, none inside another. Equal sets are equal."""

    def __init__(self, periods: Array, phases: Array) -> None:
        order = np.lexsort((phases, periods))
        self.periods = periods[order]
        self.phases = phases[order]
        self._key = self.periods.tobytes() + self.phases.tobytes()
        self._hash = hash(self._key)

    @classmethod
    def of(cls, windows: Iterable[Window]) -> Combs:
        """The cuts of windows.

        >>> from windrow.slicing import Window
        >>> Combs.of([Window(6, 2), Window(8, 4), Window(10, 3)])
        (Comb(period=2, phase=0), Comb(period=3, phase=0), Comb(period=3, phase=2))
        """
        combs = composite(list(windows)).combs
        return cls(np.array([c.period for c in combs]), np.array([c.phase for c in combs]))

    @classmethod
    def union(cls, several: Iterable[Combs]) -> Combs:
        """The cuts of all of them."""
        combs = {comb for one in several for comb in zip(one.periods.tolist(), one.phases.tolist())}
        periods, phases = zip(*minimal(combs))
        return cls(np.array(periods), np.array(phases))

    @cached_property
    def cuts(self) -> Cuts:
        return Cuts(tuple(Comb(*comb) for comb in zip(self.periods.tolist(), self.phases.tolist())))

    @cached_property
    def granule(self) -> int:
        """The greatest length such that all cuts are whole numbers of it apart."""
        distances = np.gcd.reduce(self.phases - self.phases[0])
        return int(np.gcd(np.gcd.reduce(self.periods), distances))

    @cached_property
    def exactly(self) -> bool:
        """Whether a pass over the rows cuts just here, not into granules."""
        return len(self) <= MOST_COMBS and exactly(self.cuts, self.granule)

    def joined(self, other: Combs) -> Combs:
        """The combs with the cuts of these combs and of others; no new ones if either set has all cuts."""
        new = ~self._covered(other.periods, other.phases)
        if not new.any():
            return self
        periods, phases = other.periods[new], other.phases[new]
        added = Combs(periods, phases)
        old = ~added._covered(self.periods, self.phases)
        if len(added) == len(other) and not old.any():
            return other
        return Combs(np.concatenate([self.periods[old], periods]), np.concatenate([self.phases[old], phases]))

    def _covered(self, periods: Array, phases: Array) -> Array:
        """For each comb, by its period and phase, whether all its cuts are among those of one of these."""
        divides = periods[:, None] % self.periods == 0
        return (divides & ((phases[:, None] - self.phases) % self.periods == 0)).any(axis=1)

    def __len__(self) -> int:
        return len(self.periods)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Combs) and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return repr(self.cuts.combs)

"""Granules: how the JVM cuts rows when several windows share one pass over them.

A granule is as long as the greatest common divisor of all periods and distances between combs, so every
window's slices are made of whole granules. It costs one remainder a row however many windows there are.
When the divisor is so small that granules would hardly shrink the data (slides of 7 and 11 seconds have
granules of one), the exact cuts are used instead, one remainder a comb, up to `MOST_COMBS` of them: code
generation was measured to slow down with many more.
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd
from typing import TYPE_CHECKING

from windrow.slicing.composite import composite
from windrow.slicing.cuts import Comb, Cuts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.slicing.window import Window

MOST_COMBS = 12
MOST_GRANULES_PER_SLICE = Fraction(3, 2)


def granules(cuts: Cuts) -> Cuts:
    """The one comb that has all of these cuts.

    >>> granules(Cuts.of([Comb(10, 3), Comb(15, 8)]))
    Cuts(combs=(Comb(period=5, phase=3),))
    """
    first = cuts.combs[0].phase
    period = gcd(*(part for comb in cuts.combs for part in (comb.period, comb.phase - first)))
    return Cuts((Comb(period, first),))


def cuts_for_pass(windows: Sequence[Window]) -> Cuts:
    """How one pass over the rows should cut them for all these windows.

    >>> from windrow.slicing.window import Window
    >>> cuts_for_pass([Window(60, 10), Window(3600, 30)])
    Cuts(combs=(Comb(period=10, phase=0),))
    >>> cuts_for_pass([Window(10_000, 3_001)])
    Cuts(combs=(Comb(period=3001, phase=0), Comb(period=3001, phase=2004)))
    """
    exact = composite(windows)
    regular = granules(exact)
    return exact if exactly(exact, regular.combs[0].period) else regular


def exactly(cuts: Cuts, granule: int) -> bool:
    """Whether a pass should make just these cuts, not granules of this length."""
    few = len(cuts.combs) <= MOST_COMBS
    return few and Fraction(1, granule) > MOST_GRANULES_PER_SLICE * cuts.rate

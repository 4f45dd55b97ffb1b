"""The slices of instants where the cuts have many combs: thousands of windows that share their slices.

Two ways, whichever takes fewer steps: the edges of the stretch of time are made and searched, or every
distinct instant is compared with every comb. The first is linear in the edges of the stretch, the second
does not mind how long it is, so neither a long gap in the data nor a long period can make it slow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.machine_code import compiled
from windrow.slicing.composite import edges

if TYPE_CHECKING:
    from windrow.slicing.cuts import Cuts

    Array = np.ndarray[Any, Any]

FEW_COMBS = 4


def slice_starts(cuts: Cuts, instants: Array) -> Array:
    """The start of the slice that each instant falls in, as `Cuts.slice_starts` gives it.

    >>> from windrow.slicing.cuts import Comb, Cuts
    >>> slice_starts(Cuts.of(Comb(period, 0) for period in (7, 11, 13, 17, 19)), np.array([-1, 0, 12, 50]))
    array([-7,  0, 11, 49])
    """
    if len(cuts.combs) <= FEW_COMBS or not len(instants):
        return cuts.slice_starts(instants)
    distinct, which = np.unique(instants, return_inverse=True)
    first, last = int(distinct[0]), int(distinct[-1])
    first = min(first - (first - comb.phase) % comb.period for comb in cuts.combs)
    made = (last - first + 1) * float(cuts.rate)
    if made <= len(distinct) * len(cuts.combs):
        cut = edges(cuts, first, last + 1)
        starts = cut[np.searchsorted(cut, distinct, side="right") - 1]
    else:
        periods = np.array([comb.period for comb in cuts.combs], np.int64)
        phases = np.array([comb.phase for comb in cuts.combs], np.int64)
        starts = _latest_teeth(distinct.astype(np.int64), periods, phases)
    return starts[which]


@compiled
def _latest_teeth(instants: Array, periods: Array, phases: Array) -> Array:
    latest = np.empty_like(instants)
    for i in range(len(instants)):
        nearest = periods[0]
        for comb in range(len(periods)):
            nearest = min(nearest, (instants[i] - phases[comb]) % periods[comb])
        latest[i] = instants[i] - nearest
    return latest

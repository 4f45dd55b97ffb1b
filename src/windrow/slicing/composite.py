"""The composite slide: the cuts of several windows together, so that they share their slices.

Its pattern repeats after the least common multiple of the slides, which may be astronomically long; it
is kept as combs, and its edges are made for a stretch of time only where somebody asks.
Source: Shein 2019, §2.4.1.
"""

from __future__ import annotations

from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.slicing.cuts import Comb, Cuts, minimal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.slicing.window import Window


def composite(windows: Sequence[Window]) -> Cuts:
    """Every window's own cuts, panes or pairs, without the redundant ones: where one ends or begins.

    >>> from windrow.slicing.window import Window
    >>> composite([Window(6, 2), Window(8, 4)])
    Cuts(combs=(Comb(period=2, phase=0),))
    """
    ends = {(window.slide, window.offset) for window in windows}
    begins = {(window.slide, (window.offset - window.range) % window.slide) for window in windows}
    return Cuts(tuple(Comb(period, phase) for period, phase in minimal(ends | begins)))


def composite_slide(windows: Sequence[Window]) -> int:
    """After how long the pattern of cuts repeats.

    >>> from windrow.slicing.window import Window
    >>> composite_slide([Window(6, 2), Window(8, 4)])
    4
    """
    return lcm(*(window.slide for window in windows))


def edges(cuts: Cuts, start: int, end: int) -> np.ndarray[Any, Any]:
    """The cuts from an instant up to, and without, another, each once.

    >>> from windrow.slicing.window import Window
    >>> edges(composite([Window(14, 8), Window(6, 3)]), 0, 12)
    array([ 0,  2,  3,  6,  8,  9, 10])
    """
    teeth = [
        np.arange(start + (comb.phase - start) % comb.period, end, comb.period, dtype=np.int64)
        for comb in cuts.combs
    ]
    return np.unique(np.concatenate(teeth))

"""Pairs: a cut where a window ends and one where a window begins, so two slices a slide at most.

Slices a window: range / slide when the slide divides the range, otherwise 2 ⌊range / slide⌋ + 1;
never more than panes need. Source: Shein 2019, §2.3.1 and Table 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.slicing.cuts import Comb, Cuts

if TYPE_CHECKING:
    from windrow.slicing.window import Window


def pairs(window: Window) -> Cuts:
    """Cut a stream into pairs.

    >>> from windrow.slicing.window import Window
    >>> pairs(Window(range=14, slide=8))
    Cuts(combs=(Comb(period=8, phase=0), Comb(period=8, phase=2)))
    """
    ends = Comb(window.slide, window.offset)
    begins = Comb(window.slide, window.offset - window.range)
    return Cuts.of([ends, begins])


def pairs_per_window(window: Window) -> int:
    """How many slices a window is assembled from.

    >>> from windrow.slicing.window import Window
    >>> pairs_per_window(Window(range=14, slide=8)), pairs_per_window(Window(range=16, slide=8))
    (3, 2)
    """
    whole, rest = divmod(window.range, window.slide)
    return 2 * whole + 1 if rest else whole

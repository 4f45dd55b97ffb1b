"""Cutty slicing: a cut only where a window begins; a window may end in the middle of a slice.

It needs the aggregate of the slice that is still open at the moment of the answer, so it serves the
in-order, one-by-one path (`final/partitioned_rows.py`), not partials that come in bulk and in any order.
Slices a window: ⌈range / slide⌉, the fewest there can be, the open one included. Source: Shein 2019,
§2.3.1 and Table 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.slicing.cuts import Comb, Cuts

if TYPE_CHECKING:
    from windrow.slicing.window import Window


def cutty(window: Window) -> Cuts:
    """Cut a stream where windows begin.

    >>> from windrow.slicing.window import Window
    >>> cutty(Window(range=5, slide=3))
    Cuts(combs=(Comb(period=3, phase=1),))
    """
    return Cuts((Comb(window.slide, window.offset - window.range),))


def cutty_per_window(window: Window) -> int:
    """How many slices a window is assembled from.

    >>> from windrow.slicing.window import Window
    >>> cutty_per_window(Window(range=14, slide=8)), cutty_per_window(Window(range=16, slide=8))
    (2, 2)
    """
    return -(-window.range // window.slide)

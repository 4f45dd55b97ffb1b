"""Panes: slices of equal length, the greatest common divisor of range and slide.

Slices a window: range / gcd(range, slide), so range / slide when the slide divides the range.
Source: Shein 2019, §2.3.1 and Table 1.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from windrow.slicing.cuts import Comb, Cuts

if TYPE_CHECKING:
    from windrow.slicing.window import Window


def panes(window: Window) -> Cuts:
    """Cut a stream into panes.

    >>> from windrow.slicing.window import Window
    >>> panes(Window(range=14, slide=8))
    Cuts(combs=(Comb(period=2, phase=0),))
    """
    length = gcd(window.range, window.slide)
    return Cuts((Comb(length, window.offset),))


def panes_per_window(window: Window) -> int:
    """How many panes a window is assembled from.

    >>> from windrow.slicing.window import Window
    >>> panes_per_window(Window(range=14, slide=8)), panes_per_window(Window(range=16, slide=8))
    (7, 2)
    """
    return window.range // gcd(window.range, window.slide)

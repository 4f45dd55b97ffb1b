"""How one window is cut: panes or pairs, whichever gives fewer slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from windrow.slicing.pairs import pairs, pairs_per_window
from windrow.slicing.panes import panes, panes_per_window

if TYPE_CHECKING:
    from windrow.slicing.cuts import Cuts
    from windrow.slicing.window import Window


class Slices(NamedTuple):
    """The cuts of a window, by which technique, and how many slices a window has."""

    technique: str
    cuts: Cuts
    per_window: int


def slices(window: Window) -> Slices:
    """Panes where the slide divides the range, pairs otherwise: then they are never more.

    A slide that is longer than the range leaves gaps, which pairs do not cut.

    >>> from windrow.slicing.window import Window
    >>> slices(Window(16, 8)).technique, slices(Window(14, 8)).technique, slices(Window(1, 3600)).technique
    ('panes', 'pairs', 'pairs')
    """
    if window.range % window.slide == 0:
        return Slices("panes", panes(window), panes_per_window(window))
    return Slices("pairs", pairs(window), pairs_per_window(window))

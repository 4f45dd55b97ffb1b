"""The results of a query as a stream, in a window of their own.

Each result comes once, at its time, and never ends by itself: only the window says how long it lives. The
windows below are those of another query: nobody above counts them.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.logical.tree.node import Column, OfOne
from windrow.logical.tree.rows import InWindow, written


@dataclass(frozen=True)
class Windowed(InWindow, OfOne):
    """Every row of the input lives as long as the window is, from when it comes on."""

    window: int | None
    """How long a row lives, in microseconds; None: for ever."""
    internal: bool = False
    """Whether results above stay when rows leave the window."""
    times: tuple[tuple[Column, int], ...] = ()
    """Columns that say when a row came, each so many microseconds later: window_end and window_start, where
    the query selects them."""

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.of.columns, *(column for column, _ in self.times))

    def __str__(self) -> str:
        return f"results {written(self.window, internal=self.internal)}"

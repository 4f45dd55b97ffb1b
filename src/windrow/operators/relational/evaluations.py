"""The instants of evaluations, and the slots between them.

An evaluation at e sees what is alive at the instant before it: the slot of what ends is the last evaluation
that sees it. What never ends has END_OF_TIME for its slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.columns import BEGINNING, END_OF_TIME

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

FIRST_NUMBER = 1 << 61
"""The number of the slot around 1970: none is negative, and that of what never ends is behind all others."""


@dataclass(frozen=True)
class Grid:
    """Evaluations every `slide` microseconds.

    >>> grid = Grid(slide=10, offset=3)
    >>> grid.following(12), grid.following(13)
    (13, 23)
    >>> grid.last_seen(np.array([12, 13, END_OF_TIME])).tolist() == [3, 13, END_OF_TIME]
    True
    """

    slide: int
    offset: int

    def following(self, instant: int) -> int:
        """The first evaluation after an instant."""
        return self.offset + ((instant - self.offset) // self.slide + 1) * self.slide

    def all_following(self, instants: Array) -> Array:
        """The first evaluation after each instant."""
        return self.offset + ((instants - self.offset) // self.slide + 1) * self.slide

    def last_seen(self, ends: Array) -> Array:
        """The slots of what ends at these instants."""
        slots = self.offset + (ends - self.offset) // self.slide * self.slide
        return np.where(ends >= END_OF_TIME, END_OF_TIME, slots)

    def numbers(self, slots: Array) -> Array:
        """Small numbers for slots, in their order; none is negative."""
        slots = np.where(slots >= END_OF_TIME, END_OF_TIME, (slots - self.offset) // self.slide)
        return slots + FIRST_NUMBER

    def needed_until(self, slots: Array) -> Array:
        """Until which instant slots are needed: that of the evaluation which sees them no more."""
        return np.where(slots >= END_OF_TIME, END_OF_TIME, slots + self.slide - 1)

    def slots(self, needed_until: Array) -> Array:
        """The slots that are needed until these instants."""
        return np.where(needed_until >= END_OF_TIME, END_OF_TIME, needed_until - self.slide + 1)

    def settled(self, instants: Array, slots: Array) -> int:
        """The first evaluation that sees all of these come and go, as far as they do."""
        finite = slots[slots < END_OF_TIME]
        comes = self.following(int(instants.max())) if len(instants) else BEGINNING
        return max(comes, int(finite.max()) + self.slide if len(finite) else BEGINNING)

    def evaluations(self, first: Array, slots: Array, until: int) -> Array:
        """The evaluations up to an instant from each that is the first, in order, to the one behind the slot.

        >>> Grid(10, 0).evaluations(np.array([10, 20, 70]), np.array([20, 20, 70]), 100).tolist()
        [10, 20, 30, 70, 80]
        """
        if not len(first):
            return np.empty(0, np.int64)
        last = np.maximum.accumulate(np.minimum(slots, until - self.slide) + self.slide)
        begins = np.append(True, first[1:] > last[:-1])
        ends = np.append(begins[1:], True)
        first, counts = first[begins], (last[ends] - first[begins]) // self.slide + 1
        counts = np.maximum(counts, 0)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.repeat(first, counts) + within * self.slide

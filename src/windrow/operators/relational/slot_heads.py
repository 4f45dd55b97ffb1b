"""The slots that have leaves, each with a small number, by which kernels find the leaves of a slot.

Cost: a sort of the slots of a batch. Space: a word for each slot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.columns import BEGINNING
from windrow.final.live.forest import NONE

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]


class SlotHeads:
    """The slots that have leaves."""

    def __init__(self) -> None:
        self.first = np.empty(0, np.int64)
        """The first leaf of each slot, by its number; -1 for none."""
        self._numbers: dict[int, int] = {}
        self._free: list[int] = []

    @property
    def last(self) -> int:
        """The last of the slots; BEGINNING if there are none."""
        return max(self._numbers, default=BEGINNING)

    def of(self, slots: Array, slide: int) -> Array:
        """The numbers of slots; those that had none get one."""
        distinct, places = _distinct(slots, slide)
        numbers = []
        for slot in distinct.tolist():
            if slot not in self._numbers:
                self._numbers[slot] = self._free.pop() if self._free else len(self._numbers)
            numbers.append(self._numbers[slot])
        lacking = len(self._numbers) + len(self._free) - len(self.first)
        if lacking > 0:
            more = np.full(max(lacking, len(self.first)), NONE, np.int64)
            self.first = np.concatenate([self.first, more])
        return np.array(numbers, np.int64)[places]

    def find(self, slots: Array) -> Array:
        """The numbers of slots; -1 for one that has none."""
        return np.array([self._numbers.get(slot, NONE) for slot in slots.tolist()], np.int64)

    def let_go(self, slots: Array) -> None:
        """These have no leaves any more."""
        for slot in slots.tolist():
            number = self._numbers.pop(slot, None)
            if number is not None:
                self._free.append(number)


def _distinct(slots: Array, slide: int) -> tuple[Array, Array]:
    """The different slots, and the place of each among them: without a sort, where they are close
    together."""
    if not len(slots) or (last := int(slots.max()) - (least := int(slots.min()))) // slide > len(slots):
        return np.unique(slots, return_inverse=True)
    steps = (slots - least) // slide
    is_there = np.zeros(last // slide + 1, bool)
    is_there[steps] = True
    return np.flatnonzero(is_there) * slide + least, (np.cumsum(is_there) - 1)[steps]

"""Subtract on evict: a running total a key; entries are added when they enter and subtracted when they leave.

| | |
|---|---|
| needs | invertible (integers and decimals; floats only when a hint asks for it, since they drift) |
| time | 2 operations a slide, worst case 2 |
| space | n, and one record a key |
| source | "Panes (Inv)", also R-Int and Subtract-on-Evict, in Shein 2019, §2.3.2 |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from windrow.final.base import FinalAggregator
from windrow.final.specialise import specialise

if TYPE_CHECKING:
    from windrow.aggregates import Algebra, Operation
    from windrow.final.schedule import Schedule

    Array = np.ndarray[Any, Any]

    WIDTH: int
    combine: Any
    inverse: Any


class SubtractOnEvict(FinalAggregator):
    """Running totals, corrected by the inverse."""

    name: ClassVar[str] = "subtract_on_evict"

    def __init__(self, operation: Operation, columns: int) -> None:
        super().__init__(operation, columns)
        self.total = operation.empty(0, columns)
        self.cursor = np.zeros(2, np.int64)  # evicted, pushed

    @classmethod
    def refusal(cls, algebra: Algebra) -> str | None:
        if algebra.invertible or algebra.nearly_invertible:
            return None
        return "it needs an inverse, and a value that leaves the window cannot be taken out of this aggregate"

    def reserve(self, keys: int) -> None:
        self.total = self._extended(self.total, keys)

    def slide(self, records: Array, keys: Array, base: int, schedule: Schedule) -> Array:
        out = np.empty((len(schedule.keys), self.columns), self.operation.dtype)
        specialise(_slide, self.operation, self.columns)(
            records, keys, base, schedule.evict_to, schedule.push_to,
            schedule.answers_from, schedule.keys, self.total, self.cursor, out,
        )  # fmt: skip
        return out

    def state(self) -> list[Array]:
        return [self.total]


def _slide(
    records: Array, keys: Array, base: int, evict_to: Array, push_to: Array,
    answers_from: Array, answer_keys: Array, total: Array, cursor: Array, out: Array,
) -> None:  # fmt: skip
    evicted, pushed = cursor[0] - base, cursor[1] - base
    # Entries that left before anything was evaluated (after a restore, or in gaps) were never added.
    for step in range(len(evict_to)):
        for entry in range(pushed, push_to[step] - base):
            combine(total, keys[entry], records, entry, total, keys[entry])
        for entry in range(evicted, evict_to[step] - base):
            inverse(total, keys[entry], records, entry, total, keys[entry])
        evicted, pushed = evict_to[step] - base, push_to[step] - base
        for answer in range(answers_from[step], answers_from[step + 1]):
            for column in range(WIDTH):
                out[answer, column] = total[answer_keys[answer], column]
    cursor[0], cursor[1] = evicted + base, pushed + base

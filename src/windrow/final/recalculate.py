"""Recalculate: fold every window from scratch. The oracle that the others are compared with.

| | |
|---|---|
| needs | nothing beyond a fold in order |
| time | n operations a slide, n slices in the window |
| space | n |
| source | "Panes" as final aggregation in Shein 2019, §2.3.2 |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from windrow.final.base import FinalAggregator
from windrow.final.specialise import specialise

if TYPE_CHECKING:
    import numpy as np

    from windrow.aggregates import Algebra, Operation
    from windrow.final.schedule import Schedule

    Array = np.ndarray[Any, Any]

    WIDTH: int
    combine: Any


class Recalculate(FinalAggregator):
    """Folds the window's entries at every evaluation."""

    name: ClassVar[str] = "recalculate"

    def __init__(self, operation: Operation, columns: int) -> None:
        super().__init__(operation, columns)
        self.total = operation.empty(0, columns)

    @classmethod
    def refusal(cls, algebra: Algebra) -> str | None:
        return None

    def reserve(self, keys: int) -> None:
        self.total = self._extended(self.total, keys)

    def slide(self, records: Array, keys: Array, base: int, schedule: Schedule) -> Array:
        out = self.operation.empty(len(schedule.keys), self.columns)
        specialise(_slide, self.operation, self.columns)(
            records, keys, base, schedule.evict_to, schedule.push_to,
            schedule.answers_from, schedule.keys, self.total, self.operation.identity, out,
        )  # fmt: skip
        return out


def _slide(
    records: Array, keys: Array, base: int, evict_to: Array, push_to: Array,
    answers_from: Array, answer_keys: Array, total: Array, identity: Any, out: Array,
) -> None:  # fmt: skip
    for step in range(len(evict_to)):
        for answer in range(answers_from[step], answers_from[step + 1]):
            for column in range(WIDTH):
                total[answer_keys[answer], column] = identity
        for entry in range(evict_to[step] - base, push_to[step] - base):
            combine(total, keys[entry], records, entry, total, keys[entry])
        for answer in range(answers_from[step], answers_from[step + 1]):
            for column in range(WIDTH):
                out[answer, column] = total[answer_keys[answer], column]

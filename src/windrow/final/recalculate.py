"""Recalculate: fold every window from scratch. The oracle that the others are compared with.

The cheapest way for windows of one or two slices, where nothing is saved by remembering.

| | |
|---|---|
| needs | nothing beyond a fold in order |
| time | n operations a slide, n slices in the window; n² / 2 for all ranges |
| space | n |
| ranges | many |
| source | "Panes" as final aggregation in Shein 2019, §2.3.2 |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from windrow.final.base import FinalAggregator
from windrow.final.specialise import specialise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from windrow.aggregates import Algebra, Operation
    from windrow.final.steps import Steps

    Array = np.ndarray[Any, Any]

    WIDTH: int
    combine: Any


class Recalculate(FinalAggregator):
    """Folds the window's entries at every evaluation."""

    name: ClassVar[str] = "recalculate"
    many_ranges: ClassVar[bool] = True
    repeatable: ClassVar[bool] = True

    def __init__(self, operation: Operation, columns: int, ranges: int = 1) -> None:
        super().__init__(operation, columns, ranges)
        self.total = operation.empty(0, columns)

    @staticmethod
    def refusal(algebra: Algebra) -> str | None:
        return None

    def reserve(self, keys: int) -> None:
        self.total = self._extended(self.total, keys)

    def slide(self, records: Array, keys: Array, base: int, steps: Steps) -> list[Array]:
        out = self._answers(steps)
        specialise(_slide, self.operation, self.columns)(
            records, keys, base, steps.evict_to, steps.push_to,
            steps.answers_from, steps.answer_keys, self.total, self.operation.identity, out,
        )  # fmt: skip
        return self._by_range(out, steps)

    def state(self) -> list[Array]:
        return [self.total]

    def snapshot(self) -> dict[str, Array]:
        return {"keys": np.array(self.keys), "total": self.total.copy()}

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        self.keys = int(snapshot["keys"])
        self.total = snapshot["total"].copy()


def _slide(
    records: Array, keys: Array, base: int, evict_to: Array, push_to: Array,
    answers_from: Array, answer_keys: Array, total: Array, identity: Any, out: Array,
) -> None:  # fmt: skip
    room = answer_keys.shape[1]
    for step in range(len(push_to)):
        for r in range(len(evict_to)):
            for answer in range(answers_from[r, step], answers_from[r, step + 1]):
                for column in range(WIDTH):
                    total[answer_keys[r, answer], column] = identity
            for entry in range(evict_to[r, step] - base, push_to[step] - base):
                combine(total, keys[entry], records, entry, total, keys[entry])
            for answer in range(answers_from[r, step], answers_from[r, step + 1]):
                for column in range(WIDTH):
                    out[r * room + answer, column] = total[answer_keys[r, answer], column]

"""Subtract on evict: a running total a key; entries are added when they enter and subtracted when they leave.

| | |
|---|---|
| needs | invertible (integers and decimals; floats only when a hint asks for it, since they drift) |
| time | 2 operations a slide, worst case 2 |
| space | n, and one record a key |
| ranges | one; for many see slick_deque_inv |
| source | "Panes (Inv)", also R-Int and Subtract-on-Evict, in Shein 2019, §2.3.2 |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from windrow.final.base import FinalAggregator, needs_an_inverse
from windrow.final.specialise import specialise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from windrow.aggregates import Operation
    from windrow.final.steps import Steps

    Array = np.ndarray[Any, Any]

    WIDTH: int
    combine: Any
    inverse: Any


class SubtractOnEvict(FinalAggregator):
    """Running totals, corrected by the inverse."""

    name: ClassVar[str] = "subtract_on_evict"
    many_ranges: ClassVar[bool] = False
    repeatable: ClassVar[bool] = False

    def __init__(self, operation: Operation, columns: int, ranges: int = 1) -> None:
        super().__init__(operation, columns, ranges)
        self.total = operation.empty(0, columns)
        self.entries = np.zeros(0, np.int64)  # per key, in the window
        self.cursor = np.zeros(2, np.int64)  # evicted, pushed

    refusal = staticmethod(needs_an_inverse)

    def reserve(self, keys: int) -> None:
        self.total = self._extended(self.total, keys)
        self.entries = np.pad(self.entries, (0, keys - len(self.entries)))

    def slide(self, records: Array, keys: Array, base: int, steps: Steps) -> list[Array]:
        out = self._answers(steps)
        specialise(_slide, self.operation, self.columns)(
            records, keys, base, steps.evict_to[0], steps.push_to, steps.answers_from[0],
            steps.answer_keys[0], self.total, self.entries, self.cursor, self.operation.identity, out,
        )  # fmt: skip
        return [out]

    def state(self) -> list[Array]:
        return [self.total]

    def snapshot(self) -> dict[str, Array]:
        return {
            "keys": np.array(self.keys),
            "total": self.total.copy(),
            "entries": self.entries.copy(),
            "cursor": self.cursor.copy(),
        }

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        self.keys = int(snapshot["keys"])
        self.total = snapshot["total"].copy()
        self.entries = snapshot["entries"].copy()
        self.cursor = snapshot["cursor"].copy()


def _slide(
    records: Array, keys: Array, base: int, evict_to: Array, push_to: Array, answers_from: Array,
    answer_keys: Array, total: Array, entries: Array, cursor: Array, identity: Any, out: Array,
) -> None:  # fmt: skip
    evicted, pushed = cursor
    for step in range(len(evict_to)):
        for entry in range(evicted - base, min(evict_to[step], pushed) - base):
            key = keys[entry]
            entries[key] -= 1
            if entries[key] == 0:
                # Nothing is left, so nothing may be left over: neither rounding nor an infinity.
                for column in range(WIDTH):
                    total[key, column] = identity
            else:
                inverse(total, key, records, entry, total, key)
        # Entries that left before anything was evaluated (after a restore, or in gaps) never enter.
        for entry in range(max(pushed, evict_to[step]) - base, push_to[step] - base):
            entries[keys[entry]] += 1
            combine(total, keys[entry], records, entry, total, keys[entry])
        evicted, pushed = evict_to[step], push_to[step]
        for answer in range(answers_from[step], answers_from[step + 1]):
            for column in range(WIDTH):
                out[answer, column] = total[answer_keys[answer], column]
    cursor[0], cursor[1] = evicted, pushed

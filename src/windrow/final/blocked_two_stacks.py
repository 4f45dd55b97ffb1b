"""Blocked two stacks: every window is a suffix of one block and a prefix of the next.

Time is divided into blocks as long as the range, so a window touches at most two. The entries of the
earlier block keep the aggregate of what follows them in their block (the front stack, made once when
a block is complete); the later block keeps a running aggregate a key (the back stack). Blocks lie at
fixed instants for all keys, so the flip is one backward pass over memory, and the same entries always
fold in the same order.

| | |
|---|---|
| needs | associative |
| time | 3 operations a slide and range amortised, n at a flip |
| space | 2n, and two records a key; each range has its own |
| ranges | many, which share the entries and nothing else (arrays share more, see slide.py) |
| source | TwoStacks in Shein 2019, §2.3.2; fixed blocks and bulk evaluation are our own |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from windrow.final.base import FinalAggregator, needs_associativity
from windrow.final.specialise import specialise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from windrow.aggregates import Algebra, Operation
    from windrow.final.schedule import Schedule

    Array = np.ndarray[Any, Any]

    WIDTH: int
    combine: Any

NO_BLOCK = np.iinfo(np.int64).min


class BlockedTwoStacks(FinalAggregator):
    """A front and a back aggregate a key, flipped for all keys together."""

    name: ClassVar[str] = "blocked_two_stacks"
    many_ranges: ClassVar[bool] = True
    repeatable: ClassVar[bool] = True

    def __init__(self, operation: Operation, columns: int, ranges: int = 1) -> None:
        super().__init__(operation, columns, ranges)
        self.stacks = [_Stacks(operation, columns) for _ in range(ranges)]

    @classmethod
    def refusal(cls, algebra: Algebra) -> str | None:
        return needs_associativity(algebra)

    def reserve(self, keys: int) -> None:
        for stacks in self.stacks:
            stacks.front = self._extended(stacks.front, keys)
            stacks.back = self._extended(stacks.back, keys)

    def slide(self, records: Array, keys: Array, base: int, schedule: Schedule) -> list[Array]:
        out = self._answers(schedule)
        slide = specialise(_slide, self.operation, self.columns)
        answers = self._by_range(out, schedule)
        for r, stacks in enumerate(self.stacks):
            evict_to, block_from = schedule.evict_to[r], schedule.block_from[r]
            front_entries = int(np.max(block_from - evict_to, initial=0))
            if front_entries > len(stacks.behind):
                stacks.behind = self._extended(stacks.behind, max(front_entries, 2 * len(stacks.behind)))
            slide(
                records, keys, base, evict_to, schedule.push_to, schedule.block[r], block_from,
                schedule.answers_from[r], schedule.answer_keys[r], stacks.front, stacks.back,
                stacks.behind, stacks.cursor, self.operation.identity, answers[r],
            )  # fmt: skip
        return answers

    def state(self) -> list[Array]:
        return [array for stacks in self.stacks for array in (stacks.front, stacks.back, stacks.behind)]

    def snapshot(self) -> dict[str, Array]:
        arrays = {f"{r} {name}": a.copy() for r, s in enumerate(self.stacks) for name, a in vars(s).items()}
        return {"keys": np.array(self.keys), **arrays}

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        self.keys = int(snapshot["keys"])
        for r, stacks in enumerate(self.stacks):
            for name in vars(stacks):
                setattr(stacks, name, snapshot[f"{r} {name}"].copy())


class _Stacks:
    """The stacks of one range."""

    def __init__(self, operation: Operation, columns: int) -> None:
        self.front = operation.empty(0, columns)
        self.back = operation.empty(0, columns)
        self.behind = operation.empty(0, columns)  # per front entry, the aggregate of what follows it
        self.cursor = np.array([0, 0, NO_BLOCK, 0], np.int64)  # evicted, pushed, block, first of `behind`


def _slide(
    records: Array, keys: Array, base: int, evict_to: Array, push_to: Array, block: Array, block_from: Array,
    answers_from: Array, answer_keys: Array, front: Array, back: Array, behind: Array, cursor: Array,
    identity: Any, out: Array,
) -> None:  # fmt: skip
    evicted, pushed, current, first = cursor
    for step in range(len(evict_to)):
        if block[step] != current:
            # Flip. The old front has left the window; what remains of the old back becomes the front.
            for entry in range(evicted - base, pushed - base):
                for column in range(WIDTH):
                    front[keys[entry], column] = identity
                    back[keys[entry], column] = identity
            current = block[step]
            first = evicted = evict_to[step]
            for entry in range(block_from[step] - 1 - base, first - 1 - base, -1):
                key = keys[entry]
                for column in range(WIDTH):
                    behind[entry + base - first, column] = front[key, column]
                combine(records, entry, front, key, front, key)
            pushed = block_from[step]
        for entry in range(evicted, evict_to[step]):
            key = keys[entry - base]
            for column in range(WIDTH):
                front[key, column] = behind[entry - first, column]
        for entry in range(pushed - base, push_to[step] - base):
            combine(back, keys[entry], records, entry, back, keys[entry])
        evicted, pushed = evict_to[step], push_to[step]
        for answer in range(answers_from[step], answers_from[step + 1]):
            key = answer_keys[answer]
            combine(front, key, back, key, out, answer)
    cursor[0], cursor[1], cursor[2], cursor[3] = evicted, pushed, current, first

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
| ranges | many, which share the entries and nothing else |
| source | TwoStacks in Shein 2019, §2.3.2; fixed blocks and bulk evaluation are our own |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from windrow.final.base import FinalAggregator, needs_associativity
from windrow.final.specialise import specialise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from windrow.aggregates import Operation
    from windrow.final.steps import Steps

    Array = np.ndarray[Any, Any]

    WIDTH: int
    combine: Any

NO_BLOCK = np.iinfo(np.int64).min
KEPT = ("front", "back", "behind", "behind_from", "cursor")


class BlockedTwoStacks(FinalAggregator):
    """A front and a back aggregate a key and range, flipped for all keys together."""

    name: ClassVar[str] = "blocked_two_stacks"
    many_ranges: ClassVar[bool] = True
    repeatable: ClassVar[bool] = True

    def __init__(self, operation: Operation, columns: int, ranges: int = 1) -> None:
        super().__init__(operation, columns, ranges)
        self.front = operation.empty(0, columns)
        self.back = operation.empty(0, columns)
        self.behind = operation.empty(0, columns)  # per front entry, the aggregate of what follows it
        self.behind_from = np.zeros(ranges + 1, np.int64)  # where each range's begins
        # per range: evicted, pushed, block, the entry that `behind` begins with
        self.cursor = np.tile(np.array([0, 0, NO_BLOCK, 0], np.int64), (ranges, 1))

    refusal = staticmethod(needs_associativity)

    def reserve(self, keys: int) -> None:
        self.front, self.back = self._wider(self.front, keys), self._wider(self.back, keys)

    def _wider(self, records: Array, keys: int) -> Array:
        """Room for more keys in every range; those of a range lie together."""
        wider = self.operation.empty(self.ranges * keys, self.columns).reshape(
            self.ranges, keys, self.columns
        )
        wider[:, : self.keys] = records.reshape(self.ranges, self.keys, self.columns)
        return wider.reshape(-1, self.columns)

    def slide(self, records: Array, keys: Array, base: int, steps: Steps) -> list[Array]:
        out = self._answers(steps)
        self._make_room(np.max(steps.block_from - steps.evict_to, axis=1, initial=0))
        specialise(_slide, self.operation, self.columns)(
            records, keys, base, steps.evict_to, steps.push_to, steps.block, steps.block_from,
            steps.answers_from, steps.answer_keys, self.front, self.back, self.behind,
            self.behind_from, self.cursor, self.operation.identity, out,
        )  # fmt: skip
        return self._by_range(out, steps)

    def _make_room(self, front_entries: Array) -> None:
        """See that `behind` can hold so many entries for each range."""
        room = np.diff(self.behind_from)
        if np.all(front_entries <= room):
            return
        wider = np.where(front_entries > room, np.maximum(front_entries, 2 * room), room)
        behind_from = np.concatenate([[0], np.cumsum(wider)])
        behind = self.operation.empty(int(behind_from[-1]), self.columns)
        for old, new, held in zip(self.behind_from, behind_from, room, strict=False):
            behind[new : new + held] = self.behind[old : old + held]
        self.behind, self.behind_from = behind, behind_from

    def state(self) -> list[Array]:
        return [self.front, self.back, self.behind]

    def snapshot(self) -> dict[str, Array]:
        kept = {name: getattr(self, name).copy() for name in KEPT}
        return {"keys": np.array(self.keys), **kept}

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        self.keys = int(snapshot["keys"])
        for name in KEPT:
            setattr(self, name, snapshot[name].copy())


def _slide(
    records: Array, keys: Array, base: int, evict_to: Array, push_to: Array, block: Array, block_from: Array,
    answers_from: Array, answer_keys: Array, front: Array, back: Array, behind: Array, behind_from: Array,
    cursor: Array, identity: Any, out: Array,
) -> None:  # fmt: skip
    room, held_keys = answer_keys.shape[1], len(front) // len(evict_to)
    for r in range(len(evict_to)):
        own = r * held_keys
        evicted, pushed, current, first = cursor[r, 0], cursor[r, 1], cursor[r, 2], cursor[r, 3]
        for step in range(len(push_to)):
            if block[r, step] != current:
                # Flip. The old front has left the window; what remains of the old back becomes the front.
                for entry in range(evicted - base, pushed - base):
                    place = own + keys[entry]
                    for column in range(WIDTH):
                        front[place, column] = identity
                        back[place, column] = identity
                current = block[r, step]
                first = evicted = evict_to[r, step]
                kept = behind_from[r] - first
                for entry in range(block_from[r, step] - 1, first - 1, -1):
                    place = own + keys[entry - base]
                    for column in range(WIDTH):
                        behind[kept + entry, column] = front[place, column]
                    combine(records, entry - base, front, place, front, place)
                pushed = block_from[r, step]
            kept = behind_from[r] - first
            for entry in range(evicted, evict_to[r, step]):
                place = own + keys[entry - base]
                for column in range(WIDTH):
                    front[place, column] = behind[kept + entry, column]
            for entry in range(pushed - base, push_to[step] - base):
                place = own + keys[entry]
                combine(back, place, records, entry, back, place)
            evicted, pushed = evict_to[r, step], push_to[step]
            for answer in range(answers_from[r, step], answers_from[r, step + 1]):
                place = own + answer_keys[r, answer]
                combine(front, place, back, place, out, r * room + answer)
        cursor[r, 0], cursor[r, 1], cursor[r, 2], cursor[r, 3] = evicted, pushed, current, first

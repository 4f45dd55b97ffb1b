"""A binary tree of each key's entries, whose shape follows from the times of the entries and nothing else.

Two neighbouring entries are split where the binary digits of their start times first differ: the higher that
digit, the nearer to the root. (It is the binary trie of the times without its empty branches.) So how
entries are put together depends on their own times only; not on the past, on what has been dropped, on how
evaluations were cut into epochs, or on which windows there are. A window folded again after a restart gives
the same bits, also with rounding.

1. An entry that comes completes the subtrees that end before it: those split from their left neighbours by a
   lower digit than the new entry is from its own. Each goes to its left neighbour, which it makes larger, and
   keeps a link to the new entry, which is where the next subtree begins.
2. What is not complete is the right edge of the tree: subtrees of falling size, each with a link to the one
   before it.
3. A window is its first entry; complete subtrees of growing size, forward link by link; and from there on the
   right edge, backward from the latest entry. (Its first entry is taken by itself, because how large the
   subtree is that begins with it depends on what came before the window.)

| | |
|---|---|
| needs | associative |
| time | fewer than 1 operation an entry amortised; log n an answer on average, 2 log n at most, where n is |
| | the window's length over the shortest distance of two entries |
| space | n, and n links |
| source | our own; kept as one keeps a Cartesian tree |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from windrow.final.growing_array import GrowingArray
from windrow.final.shared.entries import FOLLOWING, NONE, PREVIOUS
from windrow.final.shared.structure import SharedStructure

if TYPE_CHECKING:
    from windrow.aggregates import Operation
    from windrow.final.shared.entries import Entries
    from windrow.final.shared.live_keys import AnswerSpans

    Array = np.ndarray[Any, Any]

    WIDTH: int
    combine: Any

ORIGIN = 1 << 62
"""Added to times, which makes them positive: the sign is no digit."""


class TimeTree(SharedStructure):
    """For each entry, the aggregate of a subtree that begins with it, and where to go on."""

    name: ClassVar[str] = "time_tree"
    reason: ClassVar[str] = "its order counts or it cannot be undone: subtrees by time, log n operations"

    def __init__(self, operation: Operation, columns: int) -> None:
        super().__init__(operation, columns)
        self._subtrees = self._records()
        self._onward = GrowingArray(np.empty(0, np.int64))
        self._scratch = operation.empty(1, columns)

    @property
    def rows(self) -> list[GrowingArray]:
        return [self._subtrees, self._onward]

    def column(self, place: int, base: int) -> list[Array]:
        return [self._subtrees.view[: self.pushed - base, place]]

    def _follow(self, entries: Entries, spans: AnswerSpans, out: Array) -> int:
        return self._kernel(_follow)(
            entries.records(self.operation), entries.starts, entries.links, entries.base, self.pushed,
            spans.first, spans.last, self._subtrees.view, self._onward.view, self._scratch, out,
        )  # fmt: skip


def _follow(
    records: Array, starts: Array, links: Array, base: int, pushed: int, first: Array, last: Array,
    subtrees: Array, onward: Array, scratch: Array, out: Array,
) -> int:  # fmt: skip
    entry = pushed - base
    for answer in range(len(first)):
        newest = last[answer] - base
        while entry <= newest:
            for column in range(WIDTH):
                subtrees[entry, column] = records[entry, column]
            edge = links[entry, PREVIOUS] - base
            if edge >= 0:
                split = (starts[edge] + ORIGIN) ^ (starts[entry] + ORIGIN)
            while edge >= 0:
                left = links[edge, PREVIOUS] - base
                if left < 0:
                    break  # no window holds both sides of this split
                lower = (starts[left] + ORIGIN) ^ (starts[edge] + ORIGIN)
                if lower >= split:  # no two splits in a row have the same highest digit: this compares those
                    break
                neighbour = onward[edge] - base
                onward[edge] = base + entry
                if neighbour >= 0:
                    combine(subtrees, neighbour, subtrees, edge, subtrees, neighbour)
                edge = neighbour
            onward[entry] = base + edge if edge >= 0 else NONE
            entry += 1
        place = first[answer] - base
        for column in range(WIDTH):
            out[answer, column] = records[place, column]
        if place == newest:
            continue
        place = links[place, FOLLOWING] - base
        while onward[place] - base > place:
            combine(out, answer, subtrees, place, out, answer)
            place = onward[place] - base
        for column in range(WIDTH):
            scratch[0, column] = subtrees[newest, column]
        edge = newest
        while edge != place:
            edge = onward[edge] - base
            combine(subtrees, edge, scratch, 0, scratch, 0)
        combine(out, answer, scratch, 0, out, answer)
    return base + entry

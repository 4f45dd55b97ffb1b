"""SlickDeque (Non-Inv) with a search: the deque of each key, kept as links between the entries.

A new value outdoes values before it, which can never be an answer again. They get a link to it; those that
nothing has outdone yet are the deque of their key and link to the one before them. The answer of a window is
what one comes to by following links forward from its first entry. Each search shortens the links that it
has followed, as union-find does, so a window of any length takes a step or two. Each column of a record has
links of its own; values are read where the entries have them.

| | |
|---|---|
| needs | selective (`combine` returns one of its arguments, as max does), associative |
| time | fewer than 2 operations an entry amortised; no operation an answer, O(log n) steps amortised |
| space | n links |
| source | SlickDeque (Non-Inv), Shein 2019, §4.2.1.2; the links are our own |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from windrow.final.growing_array import GrowingArray
from windrow.final.shared.entries import NONE, PREVIOUS
from windrow.final.shared.structure import SharedStructure

if TYPE_CHECKING:
    from windrow.aggregates import Operation
    from windrow.final.shared.entries import Entries
    from windrow.final.shared.live_keys import AnswerSpans

    Array = np.ndarray[Any, Any]

    WIDTH: int
    combine: Any


class SearchedDeque(SharedStructure):
    """For each entry and column, a link: forward to what has outdone it, or back along the deque."""

    name: ClassVar[str] = "searched_deque"
    reason: ClassVar[str] = "it selects one of its values: a search among those that may still be an answer"

    def __init__(self, operation: Operation, columns: int) -> None:
        super().__init__(operation, columns)
        self._outdone = GrowingArray(np.empty((0, columns), np.int64))
        self._scratch = operation.empty(1, columns)

    @property
    def rows(self) -> list[GrowingArray]:
        return [self._outdone]

    def _follow(self, entries: Entries, spans: AnswerSpans, out: Array) -> int:
        return self._kernel(_follow)(
            entries.records(self.operation), entries.links, entries.base, self.pushed,
            spans.first, spans.last, self._outdone.view, self._scratch, out,
        )  # fmt: skip


def _follow(
    records: Array, links: Array, base: int, pushed: int, first: Array, last: Array,
    outdone: Array, scratch: Array, out: Array,
) -> int:  # fmt: skip
    entry = pushed - base
    for answer in range(len(first)):
        while entry <= last[answer] - base:
            for column in range(WIDTH):
                other = links[entry, PREVIOUS] - base
                while other >= 0:
                    combine(records, other, records, entry, scratch, 0)
                    if scratch[0, column] != records[entry, column]:
                        break
                    before = outdone[other, column] - base
                    outdone[other, column] = base + entry
                    other = before
                outdone[entry, column] = base + other if other >= 0 else NONE
            entry += 1
        for column in range(WIDTH):
            place = first[answer] - base
            by = outdone[place, column] - base
            while by > place:
                further = outdone[by, column] - base
                if further > by:
                    outdone[place, column] = base + further
                    by = further
                place, by = by, outdone[by, column] - base
            out[answer, column] = records[place, column]
    return base + entry

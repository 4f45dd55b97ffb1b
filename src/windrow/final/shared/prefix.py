"""Prefixes: what a key had before an entry is taken out of what it has by now.

Each entry keeps the aggregate of the entries of its key before it, back to when the key last had none. An
answer takes the prefix of its first entry out of all up to its last one. Prefixes go back further than any
window, so only an inverse that is exact whatever has been added will do: integers that overflow wrap around
both ways. A user's own inverse promises no such thing (products overflow, counters grow), nor do floats.

| | |
|---|---|
| needs | an inverse that is exact over any length |
| time | 1 operation an entry, 2 an answer |
| space | n |
| source | SlickDeque (Inv), Shein 2019, §4.2.1.1, which has a total for each range instead |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from windrow.final.shared.entries import PREVIOUS
from windrow.final.shared.structure import SharedStructure

if TYPE_CHECKING:
    import numpy as np

    from windrow.aggregates import Operation
    from windrow.final.growing_array import GrowingArray
    from windrow.final.shared.entries import Entries
    from windrow.final.shared.live_keys import AnswerSpans

    Array = np.ndarray[Any, Any]

    WIDTH: int
    combine: Any
    inverse: Any


class Prefix(SharedStructure):
    """For each entry, the aggregate of its key's entries before it."""

    name: ClassVar[str] = "prefix"
    reason: ClassVar[str] = "it has an exact inverse: what came before a window is taken out, 2 operations"

    def __init__(self, operation: Operation, columns: int) -> None:
        super().__init__(operation, columns)
        self._before = self._records()

    @property
    def rows(self) -> list[GrowingArray]:
        return [self._before]

    def column(self, place: int, base: int) -> list[Array]:
        return [self._before.view[: self.pushed - base, place]]

    def _follow(self, entries: Entries, spans: AnswerSpans, out: Array) -> int:
        return self._kernel(_follow)(
            entries.records(self.operation), entries.links, entries.base, self.pushed,
            spans.first, spans.last, self._before.view, self.operation.identity, out,
        )  # fmt: skip


def _follow(
    records: Array, links: Array, base: int, pushed: int, first: Array, last: Array,
    before: Array, identity: Any, out: Array,
) -> int:  # fmt: skip
    entry = pushed - base
    for answer in range(len(first)):
        newest = last[answer] - base
        while entry <= newest:
            previous = links[entry, PREVIOUS] - base
            if previous >= 0:
                combine(before, previous, records, previous, before, entry)
            else:
                for column in range(WIDTH):
                    before[entry, column] = identity
            entry += 1
        combine(before, newest, records, newest, out, answer)
        inverse(out, answer, before, first[answer] - base, out, answer)
    return base + entry

"""The one interface of the structures that answer all windows of a tree, for one operation.

A structure has a row for each entry, next to the entry's record, and nothing for a key or a window. Entries
enter in slice order, each when the first answer that it is part of is due; they leave by being dropped from
the front, which no structure has to take note of. An answer is a *suffix*: of what has entered of a key, all
from some entry on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from windrow.final.growing_array import GrowingArray
from windrow.final.specialise import specialise

if TYPE_CHECKING:
    from collections.abc import Callable

    from windrow.aggregates import Operation
    from windrow.final.shared.entries import Entries
    from windrow.final.shared.live_keys import AnswerSpans

    Array = np.ndarray[Any, Any]


class SharedStructure(ABC):
    """Answers any suffix of any key's entries."""

    name: ClassVar[str]
    reason: ClassVar[str]
    """Why an operation that it serves is served by it, for people."""

    def __init__(self, operation: Operation, columns: int) -> None:
        self.operation = operation
        self.columns = columns
        self.pushed = 0
        """Entries before this one have entered."""

    @property
    @abstractmethod
    def rows(self) -> list[GrowingArray]:
        """What it holds, each with a row an entry."""

    @abstractmethod
    def _follow(self, entries: Entries, spans: AnswerSpans, out: Array) -> int:
        """Write the answer of each span; returns how many entries have then entered."""

    def answers(self, entries: Entries, spans: AnswerSpans) -> Array:
        """One record for each span."""
        for rows in self.rows:
            rows.extend(len(entries) - len(rows.view))
        out = np.empty((len(spans.keys), self.columns), self.operation.dtype)
        self.pushed = self._follow(entries, spans, out)
        return out

    def drop(self, rows: int, base: int) -> None:
        """Forget the oldest entries; the oldest one held is then number `base`."""
        for held in self.rows:
            held.drop(min(rows, len(held.view)))
        self.pushed = max(self.pushed, base)

    def rewind(self, base: int) -> None:
        """Let all entries enter anew, from the oldest one held."""
        self.pushed = base

    def column(self, place: int, base: int) -> list[Array]:
        """Views of one column of all records that it holds besides the entries' own."""
        return []

    @property
    def bytes(self) -> int:
        """What it takes."""
        return sum(rows.bytes for rows in self.rows)

    def _kernel(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        return specialise(kernel, self.operation, self.columns)

    def _records(self) -> GrowingArray:
        return GrowingArray(np.empty((0, self.columns), self.operation.dtype))

"""The windows of a tree, as arrays: each once, with the number of queries that ask for it.

A class may have a million queries; costs, joins and groups of them are computed on arrays, and `Window`
objects are made only for those who ask.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from windrow.slicing import Window

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Array = np.ndarray[Any, Any]
    Windows: TypeAlias = "WindowSet | Mapping[Window, int] | Iterable[Window]"


@dataclass(frozen=True, eq=False)
class WindowSet:
    """Distinct windows (a row each: range, slide, offset) and how many queries ask for each."""

    rows: Array
    queries: Array

    @classmethod
    def of(cls, windows: Windows) -> WindowSet:
        """From windows, a query each, or from windows with their number of queries.

        >>> WindowSet.of([Window(6, 2), Window(8, 4), Window(6, 2)])
        {RANGE 6 SLIDE 2 OFFSET 0: 2, RANGE 8 SLIDE 4 OFFSET 0: 1}
        """
        if isinstance(windows, WindowSet):
            return windows
        asked = windows if isinstance(windows, Mapping) else Counter(windows)
        rows = np.array([(w.range, w.slide, w.offset) for w in asked], np.int64).reshape(-1, 3)
        return cls(rows, np.fromiter(asked.values(), np.int64, len(asked)))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Window]:
        return (Window(*row) for row in self.rows.tolist())

    def __repr__(self) -> str:
        asked = zip(self, self.queries.tolist())
        return f"{{{', '.join(f'RANGE {w.range} SLIDE {w.slide} OFFSET {w.offset}: {n}' for w, n in asked)}}}"

    @cached_property
    def ranges(self) -> Array:
        return self.rows[:, 0].astype(np.float64)

    @cached_property
    def slides(self) -> Array:
        return self.rows[:, 1].astype(np.float64)

    @cached_property
    def fired(self) -> float:
        """Answers a microsecond, over all queries."""
        return float(np.sum(self.queries / self.slides))

    def asked(self) -> dict[Window, int]:
        """Windows, and how many queries ask for each."""
        return dict(zip(self, self.queries.tolist()))

    @classmethod
    def union(cls, sets: Iterable[WindowSet], *, disjoint: bool = True) -> WindowSet:
        """All of them. Where they need not be `disjoint`, the queries of a window are added up."""
        listed = list(sets)
        if len(listed) == 1:
            return listed[0]
        rows = np.concatenate([part.rows for part in listed])
        queries = np.concatenate([part.queries for part in listed])
        if disjoint:
            return cls(rows, queries)
        distinct, at = np.unique(rows, axis=0, return_inverse=True)
        return cls(distinct, np.bincount(at.ravel(), queries).astype(np.int64))

    def groups(self) -> list[WindowSet]:
        """Windows with the same cuts together: the slide, the offset, and the rest of range by slide."""
        if not len(self):
            return []
        _, at = np.unique(self._kinds(), axis=0, return_inverse=True)
        order = np.argsort(at.ravel(), kind="stable")
        bounds = np.flatnonzero(np.diff(at.ravel()[order])) + 1
        return [WindowSet(self.rows[part], self.queries[part]) for part in np.split(order, bounds)]

    def of_each_group(self) -> list[Window]:
        """One window of each: they have the cuts of all."""
        if len(self) <= 1:
            return list(self)
        _, first = np.unique(self._kinds(), axis=0, return_index=True)
        return [Window(*row) for row in self.rows[first].tolist()]

    def _kinds(self) -> Array:
        ranges, slides, offsets = self.rows.T
        return np.stack([slides, offsets, ranges % slides], axis=1)

    def singles(self) -> list[WindowSet]:
        """Each window alone."""
        return [WindowSet(self.rows[i : i + 1], self.queries[i : i + 1]) for i in range(len(self))]

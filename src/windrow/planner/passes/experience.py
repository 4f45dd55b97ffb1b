"""What batches have shown of the passes over them, by which the next ones are planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

BATCH = 1_000_000
"""The rows of a batch for which passes are packed; of a smaller one, jobs are dearer still."""
BATCHES_UNCOUNTED = 100
"""To count a value that does not repeat takes Spark some 700 ns, to hand over its row 100 (measured)."""


@dataclass(frozen=True)
class Experience:
    """What batches of a stream have shown of predicates, groupings and values."""

    scattered: frozenset[str] = frozenset()
    """Predicates that hold independently of each other."""
    crowded: frozenset[frozenset[str]] = frozenset()
    """Groupings with nearly as many groups as rows."""
    groups: int = BATCH
    """How many groups a copy of a batch has, at most."""
    uncounted: Mapping[Any, int] = field(default_factory=dict)
    """By what tells a pass from others: for how many batches more its values are not worth being counted;
    0: they are."""
    weaves: bool = True
    """Whether classes are woven into one pass; not where woven ones fail though no query is at fault."""

    def plans_like(self, other: Experience) -> bool:
        """Whether the passes that this experience leads to are those that another one leads to."""
        return replace(self, uncounted=self._row_by_row) == replace(other, uncounted=other._row_by_row)

    @property
    def _row_by_row(self) -> dict[Any, int]:
        """Which values are not counted, whatever the number of batches that is left."""
        return {place: 1 for place, left in self.uncounted.items() if left > 0}


NO_EXPERIENCE = Experience()
"""Before any batch."""

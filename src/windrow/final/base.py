"""The one interface of final aggregation, and the rule that matches an algorithm with an algebra.

A final aggregator assembles windows from the partials of their slices, for many keys at once and a
whole run of evaluations at a time. Its state is a few arrays, and is a function of the entries that
are still in the window: blocks lie at fixed instants, so folding the same entries again after a
restart gives the same bits, and the slice log is all that a checkpoint has to hold.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from windrow.errors import PlanError

if TYPE_CHECKING:
    from windrow.aggregates import Algebra, Operation
    from windrow.final.schedule import Schedule

    Array = np.ndarray[Any, Any]


class FinalAggregator(ABC):
    """Assembles the windows of one operation's records."""

    name: ClassVar[str]

    def __init__(self, operation: Operation, columns: int) -> None:
        self.operation = operation
        self.columns = columns
        self.keys = 0

    @classmethod
    @abstractmethod
    def refusal(cls, algebra: Algebra) -> str | None:
        """Why this algorithm may not be used with an algebra; None if it may."""

    def grow(self, keys: int) -> None:
        """Make room for key numbers below `keys`."""
        if keys > self.keys:
            room = max(keys, 2 * self.keys)
            self.reserve(room)
            self.keys = room

    @abstractmethod
    def reserve(self, keys: int) -> None:
        """Extend the per-key state to `keys` keys."""

    @abstractmethod
    def slide(self, records: Array, keys: Array, base: int, schedule: Schedule) -> Array:
        """One answer record for each answer of the schedule.

        `records` and `keys` hold the entries numbered `base` and on, at least all that the
        schedule's windows still contain.
        """

    def state(self) -> list[Array]:
        """The arrays that hold records, for a caller that has to rewrite them (see ranks)."""
        return []

    def _extended(self, records: Array, keys: int) -> Array:
        fresh = self.operation.empty(keys - len(records), self.columns)
        return np.concatenate([records, fresh])


def refuse_mismatch(algorithm: type[FinalAggregator], operation: Operation, aggregate: str) -> None:
    """Raise a PlanError that names both if the algorithm may not serve the aggregate."""
    reason = algorithm.refusal(operation.algebra)
    if reason:
        raise PlanError(f"{algorithm.name} cannot compute {aggregate}: {reason}")

"""The one interface of final aggregation, and the rules that match an algorithm with an algebra.

A final aggregator assembles windows from the partials of their slices, for many keys at once, a whole
run of evaluations at a time (one by one is a run of one), and for one range or several that end
together. Its state is a few arrays.

Where an algorithm is `repeatable`, that state is a function of the entries that are still in the
window: folding the same entries again after a restart gives the same bits, and the slice log is all
that a checkpoint has to hold. The others associate a float sum in an order that depends on the past.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from windrow.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from windrow.aggregates import Algebra, Operation
    from windrow.final.steps import Steps

    Array = np.ndarray[Any, Any]


class FinalAggregator(ABC):
    """Assembles the windows of one operation's records."""

    name: ClassVar[str]
    many_ranges: ClassVar[bool]
    """Whether one structure can answer several ranges."""
    own_windows: ClassVar[bool] = False
    """Whether every key can have a window that moves by itself."""
    repeatable: ClassVar[bool]
    """Whether a restart gives the same bits also where the operation rounds."""

    def __init__(self, operation: Operation, columns: int, ranges: int = 1) -> None:
        self.operation = operation
        self.columns = columns
        self.ranges = ranges
        self.keys = 0
        self.known = 0

    @staticmethod
    @abstractmethod
    def refusal(algebra: Algebra) -> str | None:
        """Why this algorithm may not be used with an algebra; None if it may."""

    def grow(self, keys: int) -> None:
        """Make room for key numbers below `keys`."""
        self.known = max(self.known, keys)
        if keys > self.keys:
            room = max(keys, 2 * self.keys)
            self.reserve(room)
            self.keys = room

    @abstractmethod
    def reserve(self, keys: int) -> None:
        """Extend the per-key state to `keys` keys."""

    @abstractmethod
    def slide(self, records: Array, keys: Array, base: int, steps: Steps) -> list[Array]:
        """For each range, one answer record for each answer of the steps.

        `records` and `keys` hold the entries numbered `base` and on, at least all that
        windows still contain at the first of the steps.
        """

    @abstractmethod
    def state(self) -> list[Array]:
        """The arrays that hold records."""

    @abstractmethod
    def snapshot(self) -> dict[str, Array]:
        """Everything that it takes to go on from here, to the same bits."""

    @abstractmethod
    def restore(self, snapshot: Mapping[str, Array]) -> None:
        """Go on from a snapshot."""

    def column(self, place: int) -> list[Array]:
        """Views of one column of all records held, for a caller that has to rewrite them (see ranks)."""
        return [array[:, place] for array in self.state()]

    @property
    def bytes(self) -> int:
        """What the state takes."""
        return sum(array.nbytes for array in self.state())

    def _extended(self, records: Array, rows: int) -> Array:
        fresh = self.operation.empty(rows - len(records), records.shape[1])
        return np.concatenate([records, fresh])

    def _answers(self, steps: Steps) -> Array:
        """Room for the answers of all ranges: those of range r begin at r times `steps.room`."""
        return np.empty((self.ranges * steps.room, self.columns), self.operation.dtype)

    def _by_range(self, out: Array, steps: Steps) -> list[Array]:
        starts = range(0, len(out), steps.room) if steps.room else [0] * self.ranges
        return [out[start : start + len(steps.keys(r))] for r, start in enumerate(starts)]


def needs_associativity(algebra: Algebra) -> str | None:
    """The refusal of the algorithms that combine partials in another order than they came in."""
    return None if algebra.associative else "it needs an associative operation"


def needs_an_inverse(algebra: Algebra) -> str | None:
    """The refusal of the algorithms that take values out again."""
    if algebra.invertible or algebra.nearly_invertible:
        return None
    return "it needs an inverse, and a value that leaves the window cannot be taken out of this aggregate"


def needs_selection(algebra: Algebra) -> str | None:
    """The refusal of the algorithms that drop values which a later one outdoes."""
    if algebra.selective:
        return None
    return "it needs an operation that returns one of its arguments, as MAX does"


def refusal(
    algorithm: type[FinalAggregator], algebra: Algebra, ranges: int = 1, *, partitioned: bool = False
) -> str | None:
    """Why an algorithm may not be used: for an operation, so many ranges, or each key's own rows."""
    if ranges > 1 and not algorithm.many_ranges:
        return f"it answers one range, and these are {ranges}"
    if partitioned and not algorithm.own_windows:
        return "it moves the windows of all keys together, and with PARTITION BY each key moves alone"
    return algorithm.refusal(algebra)


def refuse_mismatch(
    algorithm: type[FinalAggregator],
    operation: Operation,
    aggregate: str,
    ranges: int = 1,
    *,
    partitioned: bool = False,
) -> None:
    """Raise a PlanError that names both if the algorithm may not serve the aggregate.

    >>> from windrow.aggregates.operations import GREATEST
    >>> from windrow.final import DABA
    >>> refuse_mismatch(DABA, GREATEST, "MAX(x)", ranges=3)
    Traceback (most recent call last):
    windrow.errors.PlanError: daba cannot compute MAX(x): it answers one range, and these are 3
    """
    reason = refusal(algorithm, operation.algebra, ranges, partitioned=partitioned)
    if reason:
        raise PlanError(f"{algorithm.name} cannot compute {aggregate}: {reason}")

"""Which values each answer sees: the last so many, or those of the last so long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.final.arrays.bind import bind
from windrow.final.arrays.blocked import BLOCKS, accumulate, slide_blocked
from windrow.final.arrays.bounded import Monoid, count_present, longest, scalar, slide_bounded

if TYPE_CHECKING:
    from windrow.final.arrays.joins import Join

    Array = np.ndarray[Any, Any]
    Joins = tuple[Join, Join]
    """The plain one, and the one for values among which there are NaN; see `joins.py`."""

    join: Any


@dataclass(frozen=True)
class LastValues:
    """The last `window` values at every `every`-th; without `partial`, only where there are so many."""

    length: int
    window: int
    every: int = 1
    partial: bool = True
    blocks: range = BLOCKS

    @property
    def ends(self) -> slice:
        """The positions of the values at which there is an answer."""
        first = self.every - 1
        if not self.partial:
            first = -(-self.window // self.every) * self.every - 1
        return slice(first, None, self.every)

    @property
    def size(self) -> int:
        """How many answers there are."""
        return len(range(self.length)[self.ends])

    @property
    def longest(self) -> int:
        """The most values that an answer sees."""
        return min(self.window, self.length)

    def counts(self) -> Array:
        """How many values each answer sees."""
        counts = np.arange(1, self.length + 1)[self.ends]
        return np.minimum(counts, self.window)

    def count(self, missing: Array) -> Array:
        """How many of the values that each answer sees are not missing."""
        counts = np.empty(self.length // self.every, np.int64)
        count_present(missing, None, self.window, self.every, counts)
        return counts[len(counts) - self.size :]

    def divide(self, sums: Array) -> Array:
        """Sums to means, in place: without an array of counts, which are all the same but at the start."""
        starting = len(range(self.window - 1)[self.ends])
        sums[:starting] /= np.arange(1, self.window)[self.ends][: len(sums)]
        sums[starting:] /= self.window
        return sums

    def fold(self, values: Array, joins: Joins, out: Array) -> None:
        """Write the answers."""
        if self.every > 1:
            self._fold_panes(values, joins[1], out)
            return
        plain, careful = joins
        window = min(self.window, self.length) if self.partial else self.window
        if self.length < window or not self.length:
            return
        if self.partial:
            start = out[: window - 1]
            done = accumulate(values[: window - 1], plain, start, self.blocks)
            if done < len(start):
                # Begun anew rather than resumed: a prefix is no window of its own.
                accumulate(values[: window - 1], careful, start, self.blocks)
            out = out[window - 1 :]
        done = slide_blocked(values, window, plain, out, self.blocks)
        if done < len(out):
            slide_blocked(values[done:], window, careful, out[done:], self.blocks)

    def _fold_panes(self, values: Array, op: Join, out: Array) -> None:
        # A window is some values at the end of a pane of `every` values, and then whole panes.
        whole, rest = divmod(self.window, self.every)
        identity = out.dtype.type(op.identity(out.dtype))
        panes = np.empty(self.length // self.every, out.dtype)
        answers = np.full(len(panes), identity, out.dtype)
        fold = bind(_fold_ends, join=op.function)
        if whole:
            fold(values, self.every, self.every, identity, panes)
            LastValues(len(panes), whole, blocks=self.blocks).fold(panes, (op, op), answers)
        if rest:
            fold(values, self.every, rest, identity, panes)
            bind(_join_to, join=op.function)(answers[whole:], panes)
        out[:] = answers[len(answers) - len(out) :]

    def fold_states(self, values: Array, monoid: Monoid, identity: Any, out: Array) -> None:
        """Fold windows over values whose states are more than a scalar."""
        answers = np.empty(self.length // self.every, out.dtype) if not self.partial else out
        slide_bounded(values, monoid, identity, None, self.window, self.every, answers)
        if answers is not out:
            out[:] = answers[len(answers) - len(out) :]


@dataclass(frozen=True)
class LastDuration:
    """The values since each answer's lower bound, at every `every`-th."""

    length: int
    bounds: Array
    every: int = 1

    @property
    def ends(self) -> slice:
        """The positions of the values at which there is an answer."""
        return slice(self.every - 1, None, self.every)

    @property
    def size(self) -> int:
        """How many answers there are."""
        return len(self.bounds)

    @property
    def longest(self) -> int:
        """The most values that an answer sees."""
        return longest(self.bounds, self.every)

    def counts(self) -> Array:
        """How many values each answer sees."""
        return np.arange(1, self.length + 1)[self.ends] - self.bounds

    def count(self, missing: Array) -> Array:
        """How many of the values that each answer sees are not missing."""
        counts = np.empty(self.size, np.int64)
        count_present(missing, self.bounds, 0, self.every, counts)
        return counts

    def divide(self, sums: Array) -> Array:
        """Sums to means, in place."""
        sums /= self.counts()
        return sums

    def fold(self, values: Array, joins: Joins, out: Array) -> None:
        """Write the answers."""
        careful = joins[1]
        identity = out.dtype.type(careful.identity(out.dtype))
        slide_bounded(values, scalar(careful), identity, self.bounds, 0, self.every, out)

    def fold_states(self, values: Array, monoid: Monoid, identity: Any, out: Array) -> None:
        """Fold windows over values whose states are more than a scalar."""
        slide_bounded(values, monoid, identity, self.bounds, 0, self.every, out)


Frame = LastValues | LastDuration


def _fold_ends(values: Array, every: int, last: int, identity: Any, out: Array) -> None:
    for pane in range(len(out)):
        end = (pane + 1) * every
        total = identity
        for i in range(end - last, end):
            total = join(total, values[i])
        out[pane] = total


def _join_to(answers: Array, others: Array) -> None:
    for i in range(len(answers)):
        answers[i] = join(others[i], answers[i])

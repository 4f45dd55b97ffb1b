"""How many final operations a tree takes: one function for each way to assemble windows from slices.

Work comes in parts, because of what happens to them when two trees are woven into one: what every window
adds at each edge is added up, what a structure does at each edge for all windows alike is done once, and
what an answer costs when its window fires is added up too, but does not come with the edges of others. So
the work of a woven tree can be estimated from its two halves.

Ω of Shein 2019, Table 11, is the first two together. nP, the slices in a window, is its range times
the edge rate. Where table and text differ (SlickDeque for invertible operations), the text's twice the
number of distinct nP is right: it is what our implementation was counted to take. `shared_*` is our own
structure: an entry is pushed once for all windows of a tree, whatever their slides, and a window costs
something only when it fires.
"""

from __future__ import annotations

from math import factorial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from windrow.errors import PlanError, suggestion

if TYPE_CHECKING:
    from collections.abc import Callable

    from windrow.planner.sharing.window_set import WindowSet

    Array = np.ndarray[Any, Any]
    WorkOf = Callable[[WindowSet, "Array", float], "FinalWork"]

MICROSECONDS = 1e6


class FinalWork(NamedTuple):
    """Operations of one group's final aggregation."""

    each: float
    """At every edge, the sum over the windows."""
    once: float
    """At every edge, by the structure that all windows share."""
    answers: float
    """A second, when windows fire."""
    kinds: float
    """What `once` would be if windows differed in every way in which it can tell them apart."""

    def a_second(self, edges: float) -> float:
        """All of it, at so many edges a second."""
        return edges * (self.each + self.once) + self.answers


def slices_in(windows: WindowSet, edges: float) -> Array:
    """nP: how many slices each window has on average, at so many edges a second."""
    return np.maximum(1.0, windows.ranges * (edges / MICROSECONDS))


def panes(windows: WindowSet, answers: Array, edges: float) -> FinalWork:
    """Every window from its own panes, at every edge."""
    return FinalWork(float(np.dot(answers, np.maximum(1.0, windows.ranges / windows.slides))), 0.0, 0.0, 0.0)


def flat_fat(windows: WindowSet, answers: Array, edges: float) -> FinalWork:
    """A binary tree over the slices: a window is a path in it."""
    inner = np.maximum(1.0, slices_in(windows, edges) - 1.0)
    levels = np.floor(np.log2(inner)) + inner / 2.0 ** np.floor(np.log2(inner + 1.0))
    return FinalWork(float(np.dot(answers, levels)), 0.0, 0.0, 0.0)


def flat_fit(windows: WindowSet, answers: Array, edges: float) -> FinalWork:
    """Three operations a window."""
    return FinalWork(3.0 * float(answers.sum()), 0.0, 0.0, 0.0)


def slick_deque_inv(windows: WindowSet, answers: Array, edges: float) -> FinalWork:
    """A running aggregate for each number of slices that windows have: one in, one out."""
    lengths = np.rint(slices_in(windows, edges))
    return FinalWork(0.0, 2.0 * len(np.unique(lengths)), 0.0, 2.0 * float(lengths.max()))


def slick_deque_non_inv(windows: WindowSet, answers: Array, edges: float) -> FinalWork:
    """A monotonic deque, walked once at every edge for all windows (equation 7.7)."""
    longest = slices_in(windows, edges).max()
    nodes = sum(1.0 / factorial(i) for i in range(1, min(int(longest), 20) + 1))
    deque = 2.0 - 2.0 / longest + nodes
    return FinalWork(float(answers.sum()), deque, 0.0, deque)


def shared_invertible(windows: WindowSet, answers: Array, edges: float) -> FinalWork:
    """Prefix sums: one operation to push, one to answer."""
    return FinalWork(0.0, 1.0, _fired(windows, answers, 1.0), 1.0)


def shared_selective(windows: WindowSet, answers: Array, edges: float) -> FinalWork:
    """A monotonic deque: two operations to push at most; a binary search of it to answer.

    The deque of n random values has about ln n nodes.
    """
    nodes = 1.0 + np.log(slices_in(windows, edges))
    return FinalWork(0.0, 2.0, _fired(windows, answers, np.log2(1.0 + nodes)), 2.0)


PUSHED_LEVELS = 4.0
"""How many levels of a structure of disjoint blocks an entry is folded into on the way."""


def shared_any(windows: WindowSet, answers: Array, edges: float) -> FinalWork:
    """Aggregates of blocks of growing sizes: a handful to push, the logarithm of the slices to answer."""
    operations = 1.0 + np.log2(slices_in(windows, edges))
    return FinalWork(0.0, PUSHED_LEVELS, _fired(windows, answers, operations), PUSHED_LEVELS)


def _fired(windows: WindowSet, answers: Array, operations: Array | float) -> float:
    return float(np.sum(answers * operations / windows.slides)) * MICROSECONDS


FINAL_WORK: dict[str, WorkOf] = {
    function.__name__: function
    for function in (
        panes,
        flat_fat,
        flat_fit,
        slick_deque_inv,
        slick_deque_non_inv,
        shared_invertible,
        shared_selective,
        shared_any,
    )
}


def final_work(name: str) -> WorkOf:
    """The work of the final aggregation that a name stands for.

    >>> final_work("pains")
    Traceback (most recent call last):
    windrow.errors.PlanError: no costs are known of final aggregation by 'pains'; did you mean panes?
    """
    if name not in FINAL_WORK:
        close = suggestion(name, FINAL_WORK) or f"there are {', '.join(FINAL_WORK)}"
        raise PlanError(f"no costs are known of final aggregation by '{name}'; {close}")
    return FINAL_WORK[name]

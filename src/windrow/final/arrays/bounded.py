"""Two stacks for windows whose beginning is given: of a duration, or of state that is more than a number.

The window of an answer runs from its lower bound to its end, and neither ever goes back. Values before a
border keep the aggregate from themselves to it (one backward pass whenever the beginning reaches the
border); those after it are in one running aggregate.

| | |
|---|---|
| needs | associative; states, not only scalars: `lift`, `join`, `lower`, and `keep` and `kept` in a row |
| time | 3 operations a value, the longest window at a flip |
| space | the states of the longest window |
| source | TwoStacks in Shein 2019, §2.3.2 |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.final.arrays.bind import bind

if TYPE_CHECKING:
    from collections.abc import Callable

    from windrow.final.arrays.joins import Join

    Array = np.ndarray[Any, Any]

    lift: Any
    join: Any
    lower: Any
    keep: Any
    kept: Any


@dataclass(frozen=True)
class Monoid:
    """An aggregate whose state is a scalar or a tuple of floats; `keep` and `kept` store it in a row."""

    lift: Callable[..., Any]
    join: Callable[..., Any]
    lower: Callable[..., Any]
    keep: Callable[..., Any]
    kept: Callable[..., Any]
    width: int = 1


def slide_bounded(
    values: Array,
    monoid: Monoid,
    identity: Any,
    bounds: Array | None,
    window: int,
    every: int,
    out: Array,
) -> None:
    """Answers at every `every`-th value, of the `window` last values, or of those from its lower bound."""
    if bounds is None:
        bounds = np.empty(0, np.int64)
    else:
        window = longest(bounds, every)
    kernel = bind(
        _slide, lift=monoid.lift, join=monoid.join, lower=monoid.lower, keep=monoid.keep, kept=monoid.kept
    )
    states = np.empty((min(window, len(values)), monoid.width), np.float64 if monoid.width > 1 else out.dtype)
    kernel(values, bounds, window, every, identity, states, out)


def _slide(
    values: Array, bounds: Array, window: int, every: int, identity: Any, states: Array, out: Array
) -> None:
    border = 0
    first = 0
    pushed = 0
    later = identity
    for answer in range(len(out)):
        end = (answer + 1) * every
        begin = bounds[answer] if len(bounds) else max(0, end - window)
        if begin >= border:
            state = identity
            for i in range(end - 1, begin - 1, -1):
                state = join(lift(values[i]), state)
                keep(states, i - begin, state)
            later = identity
            first = begin
            border = pushed = end
        for i in range(pushed, end):
            later = join(later, lift(values[i]))
        pushed = end
        out[answer] = lower(join(kept(states, begin - first), later))


def lower_bounds(times: Array, duration: Any, every: int) -> Array:
    """Where the window of each answer begins: the first value later than the answer's time - duration."""
    bounds: Array = bind(_lower_bounds)(times, duration, every)
    return bounds


def _lower_bounds(times: Array, duration: Any, every: int) -> Array:
    bounds = np.empty(len(times) // every, np.int64)
    begin = 0
    for answer in range(len(bounds)):
        now = times[(answer + 1) * every - 1]
        while now - times[begin] >= duration:
            begin += 1
        bounds[answer] = begin
    return bounds


def longest(bounds: Array, every: int) -> int:
    """The most values that a window holds."""
    return int(bind(_longest)(bounds, every))


def _longest(bounds: Array, every: int) -> int:
    most = 0
    for answer in range(len(bounds)):
        most = max(most, (answer + 1) * every - bounds[answer])
    return most


def count_present(missing: Array, bounds: Array | None, window: int, every: int, out: Array) -> None:
    """How many values of each window are there: integers, so what leaves is subtracted."""
    bind(_count_present)(missing, np.empty(0, np.int64) if bounds is None else bounds, window, every, out)


def _count_present(missing: Array, bounds: Array, window: int, every: int, out: Array) -> None:
    begin = 0
    pushed = 0
    count = 0
    for answer in range(len(out)):
        end = (answer + 1) * every
        later = bounds[answer] if len(bounds) else max(begin, end - window)
        for i in range(pushed, end):
            count += not missing[i]
        for i in range(begin, later):
            count -= not missing[i]
        begin, pushed = later, end
        out[answer] = count


def scalar(op: Join) -> Monoid:
    """A join of scalars in the form that has states."""
    return Monoid(_itself, op.function, _itself, _keep, _kept)


def _itself(value: Any) -> Any:
    return value


def _keep(states: Any, i: int, state: Any) -> None:
    states[i, 0] = state


def _kept(states: Any, i: int) -> Any:
    return states[i, 0]

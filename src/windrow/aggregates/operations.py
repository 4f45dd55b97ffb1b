"""The operations that merge partial aggregates, each with its declared algebra.

A partial is a *record*: one row of a two-dimensional array. An operation reads record `i` of `left`
and record `j` of `right` and writes record `k` of `out`, which may be either of its inputs; passing
arrays and positions instead of rows keeps Numba from counting references in the inner loop. Columns
of one operation lie side by side, so one pass of a kernel serves every SUM, COUNT and AVG of a query.
The functions are compiled together with the kernels that call them (see `final/specialise.py`); WIDTH,
the number of columns, is bound then.

Cost: one addition or comparison a column; `moments` takes two divisions a record.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    WIDTH: int

MIN_INT64 = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Algebra:
    """What an operation promises; final aggregators say which of these promises they need."""

    associative: bool = True
    commutative: bool = True
    invertible: bool = False
    """There is an inverse, and it undoes `combine` to the last bit."""
    nearly_invertible: bool = False
    """There is an inverse, but rounding makes it drift and Inf or NaN cannot be undone."""
    selective: bool = False
    """`combine` returns one of its arguments, as max does."""
    rounds: bool = False
    """The result depends, in its last bits, on the order in which partials are combined."""


@dataclass(frozen=True)
class Operation:
    """How records of one kind merge. `identity` fills a record that stands for no rows at all."""

    name: str
    dtype: type[np.generic]
    identity: int | float | None
    algebra: Algebra
    combine: Callable[..., None]
    inverse: Callable[..., None] | None = None
    interpreted: bool = False
    """Run the kernels in Python, not compiled: for functions that Numba does not know, such as counters,
    and for records of Python objects."""
    like: str = ""
    """The operation whose measured costs stand for its own, where those are not measured."""
    note: str = field(default="", compare=False)
    """What people should know of how it runs."""

    def __reduce__(self) -> tuple[Any, ...]:
        # By name: a worker process uses its own compiled functions, and equality survives the trip.
        return _operation, (self.name,)

    def guarded(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """A compiled kernel as it is called: an operation whose functions may raise can say which it was."""
        return kernel

    def empty(self, records: int, columns: int) -> np.ndarray[Any, Any]:
        """`records` identity records of `columns` columns."""
        return np.full((records, columns), self.identity, self.dtype)


def _add(left: Any, i: int, right: Any, j: int, out: Any, k: int) -> None:
    for column in range(WIDTH):
        out[k, column] = left[i, column] + right[j, column]


def _subtract(left: Any, i: int, right: Any, j: int, out: Any, k: int) -> None:
    for column in range(WIDTH):
        out[k, column] = left[i, column] - right[j, column]


def _greatest(left: Any, i: int, right: Any, j: int, out: Any, k: int) -> None:
    for column in range(WIDTH):
        out[k, column] = max(left[i, column], right[j, column])


def _merge_moments(left: Any, i: int, right: Any, j: int, out: Any, k: int) -> None:
    # Chan, Golub and LeVeque's pairwise update; (count, mean, sum of squared deviations) each.
    for column in range(0, WIDTH, 3):
        n, m = left[i, column], right[j, column]
        mean, other = left[i, column + 1], right[j, column + 1]
        spread, spread_other = left[i, column + 2], right[j, column + 2]
        if n == 0.0:
            out[k, column], out[k, column + 1], out[k, column + 2] = m, other, spread_other
        elif m == 0.0:
            out[k, column], out[k, column + 1], out[k, column + 2] = n, mean, spread
        else:
            total = n + m
            delta = other - mean
            out[k, column] = total
            out[k, column + 1] = mean + delta * (m / total)
            out[k, column + 2] = spread + spread_other + delta * delta * n * (m / total)


def of_objects(merge: Callable[[Any, Any], Any]) -> Callable[..., None]:
    """A `combine` for records of Python objects, None standing for no rows at all."""

    def combine(left: Any, i: int, right: Any, j: int, out: Any, k: int) -> None:
        for column in range(left.shape[1]):
            one, other = left[i, column], right[j, column]
            out[k, column] = other if one is None else one if other is None else merge(one, other)

    return combine


ADD_INTEGERS = Operation("add_integers", np.int64, 0, Algebra(invertible=True), _add, _subtract)
ADD_FLOATS = Operation(
    "add_floats", np.float64, 0.0, Algebra(nearly_invertible=True, rounds=True), _add, _subtract
)
GREATEST = Operation("greatest", np.int64, MIN_INT64, Algebra(selective=True), _greatest)
MOMENTS = Operation("moments", np.float64, 0.0, Algebra(rounds=True), _merge_moments)

_BY_NAME = {operation.name: operation for operation in (ADD_INTEGERS, ADD_FLOATS, GREATEST, MOMENTS)}


def known(operation: Operation) -> Operation:
    """Make an operation known by its name, by which it goes to worker processes."""
    return _BY_NAME.setdefault(operation.name, operation)


def _operation(name: str) -> Operation:
    return _BY_NAME[name]

"""The operations that merge partial aggregates, each with its declared algebra.

A partial is a *record*: one row of a two-dimensional array. An operation reads record `i` of `left`
and record `j` of `right` and writes record `k` of `out`, which may be either of its inputs; passing
arrays and positions instead of rows keeps Numba from counting references in the inner loop. Columns
of one operation lie side by side, so one pass of a kernel serves every SUM, COUNT and AVG of a query.
The functions are compiled together with the kernels that call them (see `final/specialise.py`); WIDTH,
the number of columns, is bound then.

Where a logical record takes several columns (moments, pairs), they stand together and the loop goes on in
steps of as many.

Cost: one addition or comparison a column; the moments take two to four divisions a record.
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


def _merge_co_moments(left: Any, i: int, right: Any, j: int, out: Any, k: int) -> None:
    # As above for two variables: count, both means, both sums of squares, and that of the products.
    for column in range(0, WIDTH, 6):
        n, m = left[i, column], right[j, column]
        if n == 0.0:
            for place in range(column, column + 6):
                out[k, place] = right[j, place]
        elif m == 0.0:
            for place in range(column, column + 6):
                out[k, place] = left[i, place]
        else:
            total = n + m
            share, weight = m / total, n * (m / total)
            x, y = left[i, column + 1], left[i, column + 2]
            dx, dy = right[j, column + 1] - x, right[j, column + 2] - y
            out[k, column + 3] = left[i, column + 3] + right[j, column + 3] + dx * dx * weight
            out[k, column + 4] = left[i, column + 4] + right[j, column + 4] + dy * dy * weight
            out[k, column + 5] = left[i, column + 5] + right[j, column + 5] + dx * dy * weight
            out[k, column] = total
            out[k, column + 1], out[k, column + 2] = x + dx * share, y + dy * share


def _merge_higher_moments(left: Any, i: int, right: Any, j: int, out: Any, k: int) -> None:
    # Pébay's pairwise update; (count, mean, sums of squared, cubed and fourth powers of deviations) each.
    for column in range(0, WIDTH, 5):
        n, m = left[i, column], right[j, column]
        if n == 0.0:
            for place in range(column, column + 5):
                out[k, place] = right[j, place]
        elif m == 0.0:
            for place in range(column, column + 5):
                out[k, place] = left[i, place]
        else:
            total = n + m
            mean, second, third = left[i, column + 1], left[i, column + 2], left[i, column + 3]
            delta = right[j, column + 1] - mean
            other, third_other = right[j, column + 2], right[j, column + 3]
            step = delta / total
            square = delta * step * n * m
            out[k, column + 4] = (
                left[i, column + 4]
                + right[j, column + 4]
                + square * step * step * (n * n - n * m + m * m)
                + 6.0 * step * step * (n * n * other + m * m * second)
                + 4.0 * step * (n * third_other - m * third)
            )
            out[k, column + 3] = (
                third + third_other + square * step * (n - m) + 3.0 * step * (n * other - m * second)
            )
            out[k, column + 2] = second + other + square
            out[k, column + 1] = mean + step * m
            out[k, column] = total


def _bits_of_both(left: Any, i: int, right: Any, j: int, out: Any, k: int) -> None:
    for column in range(WIDTH):
        out[k, column] = left[i, column] & right[j, column]


def _bits_of_either(left: Any, i: int, right: Any, j: int, out: Any, k: int) -> None:
    for column in range(WIDTH):
        out[k, column] = left[i, column] | right[j, column]


def _bits_that_differ(left: Any, i: int, right: Any, j: int, out: Any, k: int) -> None:
    for column in range(WIDTH):
        out[k, column] = left[i, column] ^ right[j, column]


def _greatest_pair(left: Any, i: int, right: Any, j: int, out: Any, k: int) -> None:
    # (key, whether there is a value, value) each; the first that differs decides.
    for column in range(0, WIDTH, 3):
        key, has, value = left[i, column], left[i, column + 1], left[i, column + 2]
        other, other_has, other_value = right[j, column], right[j, column + 1], right[j, column + 2]
        if other > key or (other == key and (other_has > has or (other_has == has and other_value > value))):
            key, has, value = other, other_has, other_value
        out[k, column], out[k, column + 1], out[k, column + 2] = key, has, value


def _first_greatest_key(left: Any, i: int, right: Any, j: int, out: Any, k: int) -> None:
    for column in range(0, WIDTH, 3):
        key, has, value = left[i, column], left[i, column + 1], left[i, column + 2]
        if right[j, column] > key:
            key, has, value = right[j, column], right[j, column + 1], right[j, column + 2]
        out[k, column], out[k, column + 1], out[k, column + 2] = key, has, value


def _last_greatest_key(left: Any, i: int, right: Any, j: int, out: Any, k: int) -> None:
    for column in range(0, WIDTH, 3):
        key, has, value = left[i, column], left[i, column + 1], left[i, column + 2]
        if right[j, column] >= key:
            key, has, value = right[j, column], right[j, column + 1], right[j, column + 2]
        out[k, column], out[k, column + 1], out[k, column + 2] = key, has, value


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

CO_MOMENTS = Operation("co_moments", np.float64, 0.0, Algebra(rounds=True), _merge_co_moments, like="moments")
HIGHER_MOMENTS = Operation(
    "higher_moments", np.float64, 0.0, Algebra(rounds=True), _merge_higher_moments, like="moments"
)
BIT_AND = Operation("bit_and", np.int64, -1, Algebra(), _bits_of_both, like="greatest")
BIT_OR = Operation("bit_or", np.int64, 0, Algebra(), _bits_of_either, like="greatest")
BIT_XOR = Operation(
    "bit_xor",
    np.int64,
    0,
    Algebra(invertible=True),
    _bits_that_differ,
    _bits_that_differ,
    like="add_integers",
)
# Pairs do return one of their arguments, but `selective` is a promise about each column alone.
GREATEST_PAIR = Operation("greatest_pair", np.int64, MIN_INT64, Algebra(), _greatest_pair, like="greatest")
FIRST_GREATEST_KEY = Operation(
    "first_greatest_key",
    np.int64,
    MIN_INT64,
    Algebra(commutative=False),
    _first_greatest_key,
    like="greatest",
)
LAST_GREATEST_KEY = Operation(
    "last_greatest_key", np.int64, MIN_INT64, Algebra(commutative=False), _last_greatest_key, like="greatest"
)

_BY_NAME = {
    operation.name: operation
    for operation in (
        ADD_INTEGERS,
        ADD_FLOATS,
        GREATEST,
        MOMENTS,
        CO_MOMENTS,
        HIGHER_MOMENTS,
        BIT_AND,
        BIT_OR,
        BIT_XOR,
        GREATEST_PAIR,
        FIRST_GREATEST_KEY,
        LAST_GREATEST_KEY,
    )
}


def known(operation: Operation) -> Operation:
    """Make an operation known by its name, by which it goes to worker processes."""
    return _BY_NAME.setdefault(operation.name, operation)


def _operation(name: str) -> Operation:
    return _BY_NAME[name]

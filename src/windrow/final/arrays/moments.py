"""The variance as a state: (count, mean, sum of squared deviations), merged pairwise.

The same update as the operation MOMENTS of queries (Chan, Golub and LeVeque 1979): unlike a sum of squares
it keeps its digits when the mean is far larger than the spread.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windrow.final.arrays.bounded import Monoid

NO_MOMENTS = (0.0, 0.0, 0.0)
"""The state of no values."""


def moments(sample: bool, skip_nan: bool) -> Monoid:
    """The variance of a sample or of a population; NaN where there are too few values."""
    return Monoid(
        _lift_number if skip_nan else _lift, _merge, _of_sample if sample else _of_population, _keep, _kept, 3
    )


def _lift(value: Any) -> tuple[float, float, float]:
    return 1.0, value, value - value  # an infinity has no variance, even alone


def _lift_number(value: Any) -> tuple[float, float, float]:
    return (0.0, 0.0, 0.0) if value != value else (1.0, value, value - value)


def _merge(a: Any, b: Any) -> tuple[float, float, float]:
    n, mean, spread = a
    m, other, spread_other = b
    if n == 0.0:
        return m, other, spread_other
    if m == 0.0:
        return n, mean, spread
    total = n + m
    delta = other - mean
    part = m / total
    return total, mean + delta * part, spread + spread_other + delta * delta * n * part


def _of_sample(state: Any) -> float:
    n, _, spread = state
    return spread / (n - 1.0) if n > 1.0 else np.nan


def _of_population(state: Any) -> float:
    n, _, spread = state
    return spread / n if n > 0.0 else np.nan


def _keep(states: Any, i: int, state: Any) -> None:
    states[i, 0], states[i, 1], states[i, 2] = state


def _kept(states: Any, i: int) -> tuple[float, float, float]:
    return states[i, 0], states[i, 1], states[i, 2]

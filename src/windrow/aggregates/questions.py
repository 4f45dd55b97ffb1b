"""What can be asked of the values in a window and how often each of them occurs.

`final/values/frequencies.py` answers; values are known to it by codes, and have an order.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Distinct:
    """How many different values."""


@dataclass(frozen=True)
class DistinctTotals:
    """Sums over the different values, a column each, of an integer matrix with a row a value."""


@dataclass(frozen=True)
class Quantile:
    """The values around a position, with 0 the least and 1 the greatest."""

    p: float


@dataclass(frozen=True)
class Commonest:
    """The k values with the greatest counts; among equals the least."""

    k: int


@dataclass(frozen=True)
class OverRest:
    """The values whose count is greater than the rest, with that rest; the greatest counts first."""


@dataclass(frozen=True)
class Each:
    """All values, in order, with their counts."""


Question = Distinct | DistinctTotals | Quantile | Commonest | OverRest | Each

"""How two aggregates become one: the scalar operations that the kernels for arrays are compiled with.

These are the operations of `windrow.aggregates.operations` without their records. Comparing floats
comes in several forms, because only NaN is expensive: the plain form takes one instruction, and the
kernels say when they meet a NaN (see `blocked.py`), so that the others are used from there on only.
NaN sorts above every number as in Spark SQL; where NaN means "missing", it is the identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Join:
    """An associative, commutative operation on two scalars. `identity` is what changes nothing."""

    name: str
    function: Callable[[Any, Any], Any]
    identity: Callable[[np.dtype[Any]], Any]
    needs_numbers: bool = False
    """Whether NaN is outside what it can order."""


def _add(a: Any, b: Any) -> Any:
    return a + b


# Numba's max() and min() mind NaN, which takes several instructions.


def _larger(a: Any, b: Any) -> Any:
    return b if b > a else a  # noqa: FURB136


def _smaller(a: Any, b: Any) -> Any:
    return b if b < a else a  # noqa: FURB136


def _larger_or_nan(a: Any, b: Any) -> Any:
    return a if (a > b) | (a != a) else b


def _larger_number(a: Any, b: Any) -> Any:
    return a if (a > b) | (b != b) else b


def _smaller_number(a: Any, b: Any) -> Any:
    return a if (a < b) | (b != b) else b


def _lowest(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype: np.dtype[Any]) -> Any:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


ADD = Join("add", _add, lambda _: 0)
LARGER = Join("larger", _larger, _lowest, needs_numbers=True)
SMALLER = Join("smaller", _smaller, _highest, needs_numbers=True)
LARGER_OR_NAN = Join("larger_or_nan", _larger_or_nan, _lowest)
LARGER_NUMBER = Join("larger_number", _larger_number, lambda _: np.nan)
SMALLER_NUMBER = Join("smaller_number", _smaller_number, lambda _: np.nan)


def extreme(op: str, skip_nan: bool) -> tuple[Join, Join]:
    """The join for min or max: the plain one, and the one from the first NaN on."""
    if op == "min":
        return SMALLER, SMALLER_NUMBER  # NaN is the largest: a minimum passes over it either way
    return LARGER, LARGER_NUMBER if skip_nan else LARGER_OR_NAN

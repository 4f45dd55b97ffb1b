"""The answers of one frame: which join an aggregate takes, and how its sums become answers.

Each function fills `out`, of the type that `result_type` says, and returns where no value was seen (None
if there was one everywhere).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.errors import InputError, SumOverflow
from windrow.final.arrays.joins import ADD, extreme
from windrow.final.arrays.moments import NO_MOMENTS, moments

if TYPE_CHECKING:
    from windrow.final.arrays.column import Column
    from windrow.final.arrays.frames import Frame

    Array = np.ndarray[Any, Any]

LARGEST = np.iinfo(np.int64).max
LIMB_BITS = 32
LIMB_MASK = (1 << LIMB_BITS) - 1


def result_type(op: str, column: Column) -> np.dtype[Any]:
    """What an aggregate of these values is."""
    if op in ("min", "max"):
        return column.kind
    if column.kind.kind in "mM" and op != "count":
        raise InputError(f"{op} of {column.kind} values; only min, max and count are defined for them")
    if op == "count" or (op == "sum" and column.kind.kind in "iub"):
        return np.dtype(np.int64)
    return np.dtype(np.float64)


def answer(op: str, column: Column, frame: Frame, out: Array) -> Array | None:
    """Fill `out` with the aggregate of every window."""
    if op == "count":
        _count(column, frame, out)
        return None
    if op in ("min", "max"):
        _extreme(op, column, frame, out)
    elif op == "sum":
        _sum(column, frame, out)
    elif op == "avg":
        _mean(column, frame, out)
    else:
        _variance(op, column, frame, out)
    if column.missing is None:
        return None
    empty: Array = frame.count(column.missing) <= (1 if op.endswith("samp") else 0)
    if out.dtype.kind == "f":
        np.copyto(out, np.nan, where=empty)
    return empty


def _count(column: Column, frame: Frame, out: Array) -> None:
    missing = column.missing
    if column.kind.kind in "mM":
        missing = column.values == np.iinfo(np.int64).min  # NaT
    np.copyto(out, frame.counts() if missing is None else frame.count(missing))


def _sum(column: Column, frame: Frame, out: Array) -> None:
    values = _without_missing(column, 0)
    if out.dtype.kind == "f" or _fits(values, frame.longest):
        frame.fold(values, (ADD, ADD), out)
    else:
        _sum_in_limbs(values, frame, out)


def _fits(values: Array, longest: int) -> bool:
    """Whether no window of so many values can overflow."""
    furthest = max(abs(int(values.min(initial=0))), int(values.max(initial=0)))
    return furthest * longest <= LARGEST


def _sum_in_limbs(values: Array, frame: Frame, out: Array) -> None:
    # As `aggregates/sum.py`: no limb overflows before 2^31 values; whether the sum fits is decided once.
    low, high = np.empty_like(out), np.empty_like(out)
    frame.fold((values & values.dtype.type(LIMB_MASK)).astype(np.int64), (ADD, ADD), low)
    frame.fold((values >> values.dtype.type(LIMB_BITS)).astype(np.int64), (ADD, ADD), high)
    high += low >> LIMB_BITS
    too_far = (high < -(1 << 31)) | (high >= 1 << 31)
    if too_far.any():
        raise SumOverflow(
            f"the sum of a window does not fit in 64 bits (answer {int(np.argmax(too_far))}); "
            "slide values.astype(float), or a shorter window"
        )
    np.copyto(out, (high << LIMB_BITS) | (low & LIMB_MASK))


def _mean(column: Column, frame: Frame, out: Array) -> None:
    values = _without_missing(column, 0)
    if values.dtype.kind == "f" or not _fits(values, frame.longest):
        # Large integers are added up as floats, as Spark does.
        frame.fold(values.astype(np.float64, copy=False), (ADD, ADD), out)
    else:
        sums = np.empty(len(out), np.int64)
        frame.fold(values, (ADD, ADD), sums)
        np.copyto(out, sums)
    if column.missing is None:
        frame.divide(out)
    else:
        out /= np.maximum(frame.count(column.missing), 1)


def _extreme(op: str, column: Column, frame: Frame, out: Array) -> None:
    plain, careful = extreme(op, column.missing is not None)
    values = column.values
    shift = 0
    if values.dtype.kind == "f":
        values = _without_missing(column, np.nan)
    elif column.kind.kind in "mM":
        # NaT is the least integer: right for max; for min, one less makes it the greatest.
        shift = 1 if op == "min" else 0
        values = values - shift
        careful = plain
    else:
        values = _without_missing(column, plain.identity(values.dtype))
        careful = plain
    answers = out.view(np.int64) if column.kind.kind in "mM" else out
    direct = answers if answers.dtype == values.dtype else np.empty(len(out), values.dtype)
    frame.fold(values, (plain, careful), direct)
    if direct is not answers:
        np.copyto(answers, direct, casting="unsafe")
    if shift:
        answers += shift


def _variance(op: str, column: Column, frame: Frame, out: Array) -> None:
    values = column.values.astype(np.float64, copy=False)
    if column.missing is not None:
        values = np.where(column.missing, np.nan, values)
    monoid = moments(op.endswith("samp"), column.missing is not None)
    frame.fold_states(values, monoid, NO_MOMENTS, out)
    if op.startswith("stddev"):
        np.sqrt(out, out=out)


def _without_missing(column: Column, filling: Any) -> Array:
    if column.missing is None:
        return column.values
    return np.where(column.missing, column.values.dtype.type(filling), column.values)

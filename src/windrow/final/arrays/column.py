"""What goes in and comes out: arrays, masked arrays and pandas objects as numbers with a mask, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from windrow.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Column:
    """Values in a form that kernels take, and the object they came from."""

    source: Any
    values: Array
    """One-dimensional and contiguous: float64, or integers (bools and times too, by what is underneath)."""
    missing: Array | None
    """True where there is no value; None if they are all there."""
    kind: np.dtype[Any]
    """What the values are, before they were made numbers."""

    def wrap(self, answers: Array, empty: Array | None, ends: slice, labels: Sequence[Any] | None) -> Any:
        """Answers as the caller's own kind of object. `empty` are the ones that saw no value.

        `answers` has a row a window; `labels`, if given, names the windows.
        """
        if isinstance(self.source, pd.Series):
            return self._as_pandas(answers, empty, ends, labels)
        if np.ma.isMaskedArray(self.source) and empty is not None:
            answers = np.ma.array(answers, mask=empty)
        return answers[0] if labels is None else answers.T

    def _as_pandas(
        self, answers: Array, empty: Array | None, ends: slice, labels: Sequence[Any] | None
    ) -> pd.Series[Any] | pd.DataFrame:
        index = self.source.index[ends]
        nullable = pd.api.types.is_extension_array_dtype(self.source.dtype)
        columns = []
        for row, answer in enumerate(answers):
            column = pd.Series(answer, index, name=self.source.name, copy=False)
            if isinstance(self.source.dtype, pd.DatetimeTZDtype) and column.dtype.kind == "M":
                column = column.dt.tz_localize("UTC").dt.tz_convert(self.source.dtype.tz)
            elif nullable:
                mask = np.zeros(len(answer), bool) if empty is None else empty[row]
                column = pd.Series(_masked(answer, mask), index, name=self.source.name)
            columns.append(column)
        if labels is None:
            return columns[0]
        return pd.DataFrame(dict(enumerate(columns)), index).set_axis(list(labels), axis=1)


def _masked(answers: Array, empty: Array) -> Any:
    if answers.dtype.kind == "f":
        return pd.arrays.FloatingArray(answers, empty)
    if answers.dtype.kind == "b":
        return pd.arrays.BooleanArray(answers, empty)
    return pd.arrays.IntegerArray(answers, empty)


def column(source: Any, skip_nan: bool | None) -> Column:
    """Read an argument; where NaN is skipped it counts as missing.

    >>> column(pd.Series([1, None], dtype="Int8"), None).missing
    array([False,  True])
    """
    if isinstance(source, pd.DataFrame):
        raise InputError("values must have one dimension; slide each column of the DataFrame by itself")
    if isinstance(source, pd.Index | pd.api.extensions.ExtensionArray):
        source = pd.Series(source)
    if skip_nan is None:
        skip_nan = isinstance(source, pd.Series)
    values, missing = _read(source)
    if values.ndim != 1:
        raise InputError(f"values must have one dimension, not {values.ndim}; slide each column by itself")
    kind = values.dtype
    if kind.kind not in "fiubmM":
        raise InputError(f"values must be numbers, not {kind}; convert them first, as with astype(float)")
    values = _numbers(values)
    if skip_nan and kind.kind == "f":
        nan = np.isnan(values)
        if nan.any():
            missing = nan if missing is None else missing | nan
    return Column(source, values, missing, kind)


def _read(source: Any) -> tuple[Array, Array | None]:
    if np.ma.isMaskedArray(source):
        missing = np.ma.getmaskarray(source)
        return source.data, missing if missing.any() else None
    if isinstance(source, pd.Series) and pd.api.types.is_extension_array_dtype(source.dtype):
        if isinstance(source.dtype, pd.DatetimeTZDtype):
            return source.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), None
        kind = getattr(source.dtype, "numpy_dtype", None)
        if kind is None or kind.kind not in "fiub":
            raise InputError(f"values must be numbers, not {source.dtype}; convert them first")
        missing = source.isna().to_numpy()
        return source.to_numpy(kind, na_value=kind.type(0)), missing if missing.any() else None
    return np.asarray(source), None


def _numbers(values: Array) -> Array:
    """As the kernels take them: float64, int64, or uint64 for those beyond; without gaps.

    Narrower types would be compiled each by itself, which takes a second and saves a copy.
    """
    if values.dtype.kind == "f":
        return np.ascontiguousarray(values, np.float64)
    if values.dtype.kind in "mM":
        return np.ascontiguousarray(values, values.dtype.newbyteorder("=")).view(np.int64)
    if values.dtype.kind == "u" and values.max(initial=0) > np.iinfo(np.int64).max:
        return np.ascontiguousarray(values, np.uint64)
    return np.ascontiguousarray(values, np.int64)

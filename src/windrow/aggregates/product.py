"""PRODUCT and GEOMETRIC_MEAN, from counted zeros and signs and the sum of logarithms.

Spark has a product, but not in SQL, and that of a slice may overflow where the window's does not; a sum of
logarithms never does. It costs digits: a product has a relative error of about 1e-16 times its own logarithm
and the number of values, and one of integers is rounded to an integer again. Nothing is ever divided out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.types as pat

from windrow.aggregates.base import Aggregate, Partial
from windrow.aggregates.call import Call
from windrow.aggregates.count import CountPartial, count_if
from windrow.aggregates.function import Function
from windrow.aggregates.sum import FloatSumPartial, is_number, masked, sum_of_doubles
from windrow.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    Column = np.ndarray[Any, Any]


class Product(Aggregate):
    """PRODUCT: a double, NULL when no row had a value; 0 times an infinity is NaN."""

    @property
    def partials(self) -> tuple[Partial, ...]:
        x = f"CAST({self.argument} AS DOUBLE)"
        counts = (CountPartial(self.argument), count_if(f"{x} = 0"), count_if(f"{x} < 0"))
        return (*counts, FloatSumPartial(f"ln(abs({x}))"))  # Spark's logarithm of zero is NULL

    def lower(self, columns: Sequence[Any]) -> pa.Array:
        count, zeros, negatives, _, logarithms = columns
        with np.errstate(over="ignore", invalid="ignore"):
            magnitude = np.where(zeros > 0, logarithms * 0.0, np.exp(self._of_all(logarithms, count)))
        return masked(self._signed(magnitude, negatives), count, self.result_type)

    def _of_all(self, logarithms: Column, count: Column) -> Column:
        return logarithms

    def _signed(self, magnitude: Column, negatives: Column) -> Column:
        whole = np.rint(magnitude) if pat.is_integer(self.argument_type) else magnitude
        return np.where(negatives & 1, -whole, whole)


class GeometricMean(Product):
    """GEOMETRIC_MEAN: NULL when no row had a value, NaN when one was negative, else 0 when one was zero."""

    def _of_all(self, logarithms: Column, count: Column) -> Column:
        return np.asarray(logarithms / np.maximum(count, 1))

    def _signed(self, magnitude: Column, negatives: Column) -> Column:
        return np.where(negatives > 0, np.nan, magnitude)


def _product(call: Call, types: tuple[pa.DataType, ...], answer: pa.DataType) -> Aggregate:
    if not is_number(types[0]):
        raise PlanError(f"{call}: cannot multiply values of type {types[0]}")
    return (Product if call.function == "product" else GeometricMean)(call, types, answer)


FUNCTIONS = dict.fromkeys(("product", "geometric_mean"), Function(_product, answer=sum_of_doubles))

"""The aggregates that a query may name, and which implementation each name and type gets."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pat

from windrow.aggregates.average import Average
from windrow.aggregates.base import Aggregate, Partial
from windrow.aggregates.count import Count
from windrow.aggregates.extremes import Extreme, is_ranked, is_sortable_integer
from windrow.aggregates.sum import DecimalSumPartial, FloatSumPartial, IntegerSumPartial, Sum
from windrow.aggregates.variance import Variance
from windrow.errors import PlanError

SYNONYMS = {
    "mean": "avg",
    "std": "stddev_samp",
    "stddev": "stddev_samp",
    "variance": "var_samp",
}
VARIANCES = ("var_pop", "var_samp", "stddev_pop", "stddev_samp")
AGGREGATES = frozenset({"count", "sum", "avg", "min", "max", *VARIANCES, *SYNONYMS})
"""Every name, in lower case."""


def aggregate(
    function: str, argument: str, argument_type: pa.DataType, result_type: pa.DataType
) -> Aggregate:
    """The aggregate for a call; types are those that Spark gives the argument and the result.

    >>> str(aggregate("MEAN", "x", pa.int32(), pa.float64()))
    'AVG(x)'
    >>> aggregate("max", "m", pa.map_(pa.string(), pa.int32()), pa.null())
    Traceback (most recent call last):
    windrow.errors.PlanError: MAX(m): values of type map<string, int32> cannot be compared over windows
    """
    name = SYNONYMS.get(function.lower(), function.lower())
    if name == "count":
        return Count(name, argument, argument_type, result_type)
    if name in ("min", "max"):
        if not (
            is_ranked(argument_type) or is_sortable_integer(argument_type) or pat.is_floating(argument_type)
        ):
            raise PlanError(
                f"{_call(name, argument)}: values of type {argument_type} cannot be compared over windows"
            )
        return Extreme(name, argument, argument_type, result_type)
    if name == "sum":
        partial = _sum_partial(name, argument, argument_type)
        return Sum(name, argument, argument_type, result_type, partial=partial)
    if name == "avg":
        # Spark averages BIGINT in doubles, so that a large one does not overflow; narrower integers
        # cannot, and share the exact sum.
        partial = _sum_partial(name, argument, pa.float64() if pat.is_int64(argument_type) else argument_type)
        return Average(name, argument, argument_type, result_type, partial=partial)
    if name in VARIANCES:
        return Variance(name, argument, argument_type, result_type)
    raise PlanError(f"{function.upper()} is not an aggregate that Windrow knows")


def _sum_partial(name: str, argument: str, argument_type: pa.DataType) -> Partial:
    if pat.is_decimal(argument_type):
        return DecimalSumPartial(argument)
    if pat.is_integer(argument_type):
        return IntegerSumPartial(argument)
    if pat.is_floating(argument_type) or pat.is_string(argument_type):
        # The cast is a no-op on doubles and makes the others add up as Spark's SUM and AVG do.
        return FloatSumPartial(f"CAST({argument} AS DOUBLE)")
    raise PlanError(f"{_call(name, argument)}: cannot add values of type {argument_type}")


def _call(name: str, argument: str) -> str:
    return f"{name.upper()}({argument})".replace("`", "")

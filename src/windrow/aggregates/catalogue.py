"""The aggregates that a query may name, and which implementation each name and type gets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.aggregates import (
    average,
    bits,
    co_moments,
    count,
    counted,
    ends,
    extent,
    extremes,
    extremes_by,
    higher_moments,
    ordered,
    product,
    sketches,
    sum,
    variance,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from windrow.aggregates.base import Aggregate
    from windrow.aggregates.call import Call
    from windrow.aggregates.function import Function

SYNONYMS = {
    "any": "bool_or",
    "any_value": "first",
    "arg_max": "max_by",
    "arg_min": "min_by",
    "every": "bool_and",
    "first_value": "first",
    "last_value": "last",
    "mean": "avg",
    "some": "bool_or",
    "percentile_approx": "approx_percentile",
    "std": "stddev_samp",
    "stddev": "stddev_samp",
    "variance": "var_samp",
    "array_agg": "collect_list",
    "string_agg": "listagg",
}
FAMILIES = (
    count,
    sum,
    average,
    product,
    extremes,
    extent,
    extremes_by,
    ends,
    bits,
    variance,
    higher_moments,
    co_moments,
    counted,
    ordered,
    sketches,
)
FUNCTIONS: Mapping[str, Function] = {
    name: replace(function, distinct=counted.DISTINCT.get(name, function.distinct))
    for family in FAMILIES
    for name, function in family.FUNCTIONS.items()
}
"""Every function by its name in lower case."""
AGGREGATES = frozenset({*FUNCTIONS, *SYNONYMS})
"""Every name, in lower case."""


def aggregate(call: Call, argument_types: tuple[pa.DataType, ...], result_type: pa.DataType) -> Aggregate:
    """The aggregate for a call; types are those that Spark gives the arguments and the result.

    >>> import pyarrow as pa
    >>> from windrow.aggregates.call import Call
    >>> str(aggregate(Call("avg", ("x",)), (pa.int32(),), pa.float64()))
    'AVG(x)'
    >>> aggregate(Call("max", ("m",)), (pa.map_(pa.string(), pa.int32()),), pa.null())
    Traceback (most recent call last):
    windrow.errors.PlanError: MAX(m): values of type map<string, int32> cannot be compared over windows
    """
    return FUNCTIONS[call.function].make(call, argument_types, result_type)

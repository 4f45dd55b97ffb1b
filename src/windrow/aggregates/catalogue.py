"""The aggregates that a query may name, and which implementation each name and type gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.aggregates import average, count, extremes, sketches, sum, variance

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from windrow.aggregates.base import Aggregate
    from windrow.aggregates.call import Call, Function

SYNONYMS = {
    "mean": "avg",
    "percentile_approx": "approx_percentile",
    "std": "stddev_samp",
    "stddev": "stddev_samp",
    "variance": "var_samp",
}
FAMILIES = (count, sum, average, extremes, variance, sketches)
FUNCTIONS: Mapping[str, Function] = {
    name: function for family in FAMILIES for name, function in family.FUNCTIONS.items()
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

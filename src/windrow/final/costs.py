"""What a slide costs with each final aggregator: a table that was measured, and is read by the planner.

For an algorithm and an operation the table has points: so many slices a window, so many nanoseconds for
a slide of one key, and so many more for each further range. Between two points the cost is a power of
the slices, so what is constant, linear or in between is met and continued. `windrow calibrate HOME`
measures the table on the machine at hand and keeps it in the home; otherwise the one that comes with
Windrow is used.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from math import isfinite, log2
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.errors import WindrowError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from windrow.aggregates import Operation
    from windrow.final.base import FinalAggregator


@dataclass(frozen=True)
class Costs:
    """The measured table, and where it comes from."""

    source: str
    nanoseconds: Mapping[str, Mapping[str, Sequence[Sequence[float | None]]]]
    """By algorithm and operation: slices a window, nanoseconds a slide, and for each further range."""

    def slide(
        self, algorithm: type[FinalAggregator], operation: Operation, slices: int, ranges: int = 1
    ) -> float:
        """Nanoseconds for a slide of one key, all ranges answered; as shipped where it was not measured.

        >>> from windrow.aggregates.operations import GREATEST
        >>> from windrow.final import DABA
        >>> Costs("made up", {"daba": {"greatest": [[1, 10, None], [4, 40, None]]}}).slide(DABA, GREATEST, 2)
        20.0
        """
        measured = self.nanoseconds.get(algorithm.name, {})
        points = measured.get(operation.name) or measured.get(operation.like)
        if not points:  # measured before there was this algorithm
            shipped = shipped_costs()
            return float("inf") if self is shipped else shipped.slide(algorithm, operation, slices, ranges)
        one = _interpolated([(n, ns) for n, ns, _ in points], slices)
        if ranges == 1:
            return one
        more = [(n, further) for n, _, further in points if further is not None]
        return one + (ranges - 1) * _interpolated(more, slices) if more else float("inf")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Costs:
        """The table in a file."""
        try:
            return cls._of(json.loads(Path(path).read_text(encoding="utf-8")), str(path))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise WindrowError(
                f"{path} is not a table of costs ({error}); remove it, or measure with windrow calibrate"
            ) from error

    @classmethod
    def _of(cls, content: Any, source: str) -> Costs:
        for by_operation in content["nanoseconds"].values():
            for points in by_operation.values():
                _check(points)
        return cls(source, content["nanoseconds"])


def _check(points: Any) -> None:
    """Windows of one slice and more, ascending; costs that are more than nothing."""
    slices = [float(n) for n, _, _ in points]
    costs = [float(cost) for _, one, further in points for cost in (one, further) if cost is not None]
    if not (points and slices[0] >= 1 and all(low < high for low, high in pairwise(slices))):
        raise ValueError(f"windows of {slices} slices")
    if not all(isfinite(cost) and cost > 0 for cost in costs):
        raise ValueError(f"costs of {costs}")


@cache
def shipped_costs() -> Costs:
    """The table that comes with Windrow."""
    content = files("windrow.final").joinpath("costs.json").read_text(encoding="utf-8")
    return Costs._of(json.loads(content), "as shipped; `windrow calibrate HOME` measures this machine")


def _interpolated(points: Sequence[Any], slices: int) -> float:
    """A power of the slices between two points; beyond the last, as from the first one to it."""
    if len(points) == 1:
        return float(points[0][1])
    low, high = points[0], points[-1]
    if slices <= high[0]:
        low, high = next(pair for pair in pairwise(points) if slices <= pair[1][0])
    part = log2(slices / low[0]) / log2(high[0] / low[0])
    return float(low[1] * (high[1] / low[1]) ** part)

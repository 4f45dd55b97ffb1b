"""What an operator does in an epoch, and how it fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    import pyarrow as pa

    from windrow.planner.plan import OperatorPlan

NOBODY: frozenset[int] = frozenset()


class OperatorFailed(Exception):
    """An operator failed, because of one of some queries."""

    def __init__(self, operator: int, queries: Iterable[int], error: Exception) -> None:
        super().__init__(f"operator {operator}: {error}")
        self.operator = operator
        self.queries = set(queries)
        self.error = error


@dataclass(frozen=True)
class Work:
    """What an operator does in an epoch."""

    plan: OperatorPlan
    tables: Mapping[int, Sequence[pa.Table]]
    """What was collected for it, by port."""
    evaluated: int
    """Up to where it has been answered."""
    until: int
    """Up to where it is to be answered."""
    fresh: AbstractSet[int] = NOBODY
    """Queries that no epoch has had yet."""
    apart: AbstractSet[int] = NOBODY
    """Queries that are answered one by one, because one of them is suspected to fail."""

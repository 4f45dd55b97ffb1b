"""Count the operations of an algorithm: a combine and an inverse that note each call.

Kernels run interpreted with such an operation, so this is for windows of thousands, not millions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from windrow.final.specialise import bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from windrow.aggregates import Operation


@dataclass
class OperationCount:
    """How many operations there were."""

    operations: int = 0

    def take(self) -> int:
        """How many since the last time it was taken."""
        taken, self.operations = self.operations, 0
        return taken


def counted(operation: Operation, width: int) -> tuple[Operation, OperationCount]:
    """The operation for records of a width, and its count."""
    count = OperationCount()

    def noting(function: Callable[..., None]) -> Callable[..., None]:
        plain = bound(function, WIDTH=width)

        def note(*arguments: Any) -> None:
            count.operations += 1
            plain(*arguments)

        return note

    inverse = noting(operation.inverse) if operation.inverse is not None else None
    instrumented = replace(operation, combine=noting(operation.combine), inverse=inverse, interpreted=True)
    return instrumented, count

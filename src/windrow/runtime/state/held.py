"""What the driver knows of an operator whose state a Spark task holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.columns import BEGINNING, END_OF_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from windrow.operators.aggregate.shared_aggregate import SharedAggregate


@dataclass(frozen=True)
class HeldByTask:
    """What an operator would tell of its state, as a task told it with the last epoch."""

    entries: int = 0
    bytes: int = 0
    groups_known: int = 0
    horizon: int = BEGINNING
    next_end: int | None = None
    """When a window is evaluated next; None: nobody has asked."""
    closed: Sequence[pa.Table] = ()
    """At rest: the slices that the last epoch closed and that a window still needs."""
    open: pa.Table | None = None
    """At rest: the slices that may still receive rows."""

    @classmethod
    def of(cls, operator: SharedAggregate) -> HeldByTask:
        """What there is to tell of a state."""
        return cls(
            operator.entries,
            operator.bytes,
            operator.groups_known,
            operator.horizon,
            operator.next_end if operator.entries else END_OF_TIME,
            operator.closed_slices(),
            operator.open_slices(),
        )

    def closes(self, until: int) -> bool:
        """Whether advancing that far could answer anything."""
        assert self.next_end is not None
        return self.next_end <= until

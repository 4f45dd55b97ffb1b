"""What the runtime asks of the state of a query, whatever kind of window it has.

At rest a state is tables: those that `advance` has closed, epoch by epoch, and one of all that is still
open, written anew each time. Both have a column `_slice`, on an axis of the operator's own choice: the
runtime only compares it with `horizon`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa


class WindowOperator(Protocol):
    """The running state of one query."""

    @property
    def entries(self) -> int:
        """How many partials and rows it holds."""

    @property
    def bytes(self) -> int:
        """About how much memory they take."""

    @property
    def horizon(self) -> int:
        """Closed slices that begin before this are no longer needed."""

    def closes(self, until: int) -> bool:
        """Whether advancing that far could answer anything."""

    def push(self, partials: pa.Table) -> None:
        """Take in what a pass of Spark's has collected from a batch; a query may have several passes."""

    def advance(self, until: int) -> Iterator[pa.Table]:
        """No row before this instant will come any more: answer what is final."""

    def closed_slices(self) -> pa.Table:
        """At rest: what the last `advance` closed and a window still needs."""

    def open_slices(self) -> pa.Table:
        """At rest: what may still change."""

    def restore(
        self,
        closed: Sequence[pa.Table],
        open_slices: pa.Table | None,
        evaluated: int,
        complete_after: int | None = None,
    ) -> None:
        """Go on from tables at rest, closed ones in the order in which they were made.

        `evaluated`: up to where event time had come. `complete_after`: when the query came, rows up to
        this instant had passed without it.
        """

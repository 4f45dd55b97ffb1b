"""What the runtime asks of an operator, whatever it computes, for however many queries, whoever holds it.

An operator takes what was collected from a batch on one of its ports, advances to an instant, gives answers,
and gives what has changed of its state at rest. At rest a state is tables: those that `advance` has closed,
epoch by epoch, and one of all that is still open, written anew each time. All have a column `_slice`, on an
axis of the operator's own choice: the runtime only compares it with `horizon`. What is closed may be several
tables with columns of their own, each of which names its part of the state (`tables_at_rest.named`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from windrow.operators.aggregate.shared_aggregate import Member


class HeldState(Protocol):
    """What an operator says of its state, also where a Spark task holds it."""

    @property
    def entries(self) -> int:
        """How many partials and rows it holds."""

    @property
    def bytes(self) -> int:
        """About how much memory they take."""

    @property
    def groups_known(self) -> int:
        """How many groups it knows."""

    @property
    def horizon(self) -> int:
        """Closed slices that begin before this are no longer needed."""

    def closes(self, until: int) -> bool:
        """Whether advancing that far could answer anything."""

    def closed_slices(self) -> Sequence[pa.Table]:
        """At rest: what the last `advance` closed and a window still needs."""

    def open_slices(self) -> pa.Table | None:
        """At rest: what may still change."""


class Operator(HeldState, Protocol):
    """The running state of queries."""

    def push(self, tables: Sequence[pa.Table], port: int = 0) -> None:
        """Take in what the passes over a batch have collected for a port, a table each."""

    def advance(self, until: int) -> Iterator[tuple[int, pa.Table]]:
        """No row before this instant will come any more: answer what is final.

        Each table is of queries of one shape, whose number comes with it; `_query` says whose row it is.
        """

    def set_members(self, members: Sequence[Member]) -> None:
        """Let queries come and go."""

    def restore(self, closed: Sequence[pa.Table], open_slices: pa.Table | None, evaluated: int) -> None:
        """Go on from tables at rest, closed ones in the order in which they were made.

        `evaluated`: up to where event time had come.
        """


class WindowOperator(Protocol):
    """The running state of the window of one query, which `SingleQuery` makes an operator of. It says of its
    state what an operator says, but that its closed slices are one table."""

    @property
    def entries(self) -> int:
        """How many partials and rows it holds."""

    @property
    def bytes(self) -> int:
        """About how much memory they take."""

    @property
    def groups_known(self) -> int:
        """How many groups it knows."""

    @property
    def horizon(self) -> int:
        """Closed slices that begin before this are no longer needed."""

    def closes(self, until: int) -> bool:
        """Whether advancing that far could answer anything."""

    def closed_slices(self) -> pa.Table:
        """At rest: what the last `advance` closed and a window still needs."""

    def open_slices(self) -> pa.Table:
        """At rest: what may still change."""

    def push(self, partials: pa.Table) -> None:
        """Take in what a pass has collected from a batch; a query may have several passes."""

    def advance(self, until: int) -> Iterator[pa.Table]:
        """No row before this instant will come any more: answer what is final."""

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

"""What a window aggregation asks of the state of contents, whichever kind they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from windrow.aggregates.contents import Counts, contents_of
from windrow.final.steps import Steps
from windrow.operators.aggregate.counted_values import CountedValues
from windrow.operators.aggregate.ordered_values import OrderedValues
from windrow.operators.aggregate.record_layout import RecordLayout
from windrow.slicing import Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.aggregates import Aggregate
    from windrow.aggregates.contents import Contents

    Array = np.ndarray[Any, Any]
    AtRest = tuple[Array, Array, dict[str, Any]]


class ContentsState(Protocol):
    """The running state of the values of a query's windows."""

    @property
    def entries(self) -> int:
        """How many values it holds."""

    @property
    def bytes(self) -> int:
        """About how much memory they take."""

    @property
    def known(self) -> int:
        """How many values have a number."""

    @property
    def most_answers(self) -> int:
        """How many answers may be made at a time."""

    def push(self, starts: Array, keys: Array, table: pa.Table) -> None:
        """Take in values of slices that are open."""

    def close(self, before: int, horizon: int) -> None:
        """Slices that start before an instant are complete; those before the horizon nobody needs."""

    def slide(self, steps: Steps) -> list[Any]:
        """What was found, for each range."""

    def forget(self, horizon: int) -> None:
        """Values before an instant are in no window to come."""

    def answers(self, aggregate: Aggregate, found: Any) -> pa.Array:
        """The answers of one aggregate, from what was found for a range."""

    def closed_at_rest(self) -> AtRest:
        """What the last `close` closed: starts, keys and columns."""

    def held_at_rest(self) -> AtRest:
        """All that is closed and in a window."""

    def open_at_rest(self) -> AtRest:
        """What is open."""

    def restore_closed(self, starts: Array, keys: Array, table: pa.Table) -> None:
        """Take in slices that were closed."""


def contents_states(
    windows: Sequence[Window], aggregates: Sequence[Aggregate]
) -> dict[Contents, ContentsState]:
    """An empty state for each of the contents that aggregates need."""
    needed: dict[Contents, list[Any]] = {}
    for aggregate in aggregates:
        contents = contents_of(aggregate)
        if contents is not None:
            needed.setdefault(contents, []).append(aggregate)
    return {
        contents: (
            CountedValues(contents, windows, items)
            if isinstance(contents, Counts)
            else OrderedValues(contents, windows, items)
        )
        for contents, items in needed.items()
    }


def of_no_rows(aggregate: Aggregate) -> pa.Scalar:
    """What an aggregate answers where there are no rows.

    >>> from windrow.aggregates import Call, aggregate
    >>> calls = Call("count", ("x",)), Call("sum", ("x",)), Call("count", ("x",), distinct=True)
    >>> [of_no_rows(aggregate(call, (pa.int32(),), pa.int64())).as_py() for call in calls]
    [0, None, 0]
    """
    for state in contents_states((Window(1, 1),), (aggregate,)).values():
        return state.answers(aggregate, state.slide(_ONE_EMPTY_WINDOW)[0])[0]
    layout = RecordLayout(aggregate.partials, lambda operation, place, function: None)
    records = {operation: operation.empty(1, width) for operation, width in layout.operations}
    return layout.answers(aggregate, records)[0]


_ONE_EMPTY_WINDOW = Steps(
    ends=np.zeros(1, np.int64),
    push_to=np.zeros(1, np.int64),
    evict_to=np.zeros((1, 1), np.int64),
    block=np.zeros((1, 1), np.int64),
    block_from=np.zeros((1, 1), np.int64),
    answers_from=np.array([[0, 1]]),
    answer_keys=np.zeros((1, 1), np.int32),
)

"""What both kinds of GROUP BY over rows that know when they end have in common: from rows to groups and
records, from records to answers, and at rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from windrow.aggregates.base import value_name
from windrow.aggregates.contents import Counts, OfCounts, contents_of
from windrow.columns import HOLDS, SLICE, key_name
from windrow.final.live.folds import LiveFolds
from windrow.final.live.forest import Forest
from windrow.operators.aggregate.record_layout import RecordLayout, one_chunk
from windrow.operators.relational.counted_rows import CountedRows
from windrow.operators.relational.row_order import row_order
from windrow.operators.state.held_keys import HeldKeys

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from windrow.aggregates import Operation
    from windrow.logical.tree import Group
    from windrow.operators.relational.changes import Changes

    Array = np.ndarray[Any, Any]
    Records = dict[Operation, Array]

FEW = 10_000
"""So many ranks that no record has are not worth being forgotten."""


@dataclass(frozen=True, eq=False)
class Coming:
    """Rows that come, in an order that follows from them alone."""

    ts: Array
    live: Array
    groups: Array
    """The code of each row's group, held by the row."""
    records: Records
    values: Mapping[Counts, Array]
    """By contents, the number of each row's value in its group, held by the row; -1 for NULL."""

    def __len__(self) -> int:
        return len(self.ts)


class GroupRows:
    """The groups that have rows, with their forest and its records, and the values that are counted."""

    def __init__(self, node: Group) -> None:
        self.node = node
        self._columns = dict(node.values)
        partials = dict.fromkeys(partial for item in node.aggregates for partial in item.partials)
        types = node.of.types
        self._types = [types[name] for name in node.keys]
        self.layout = RecordLayout(list(partials), self._rewrite)
        self.keys = HeldKeys(self._types)
        self.forest = Forest()
        self.folds = LiveFolds(self.layout.operations)
        counted: dict[Counts, list[OfCounts]] = {}
        for aggregate in node.aggregates:
            if isinstance(aggregate, OfCounts):
                counted.setdefault(aggregate.contents, []).append(aggregate)
        self.counted = {contents: CountedRows(contents, items) for contents, items in counted.items()}

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        counted = sum(state.bytes for state in self.counted.values())
        ranked = sum(int(dictionary.values.nbytes) for dictionary in self.layout.dictionaries.values())
        return self.keys.bytes + self.forest.bytes + self.folds.bytes + counted + ranked

    def take(self, changes: Changes) -> Coming:
        """Rows as they come, each lifted by itself."""
        changes = changes.in_order()
        groups = self.keys.take([one_chunk(changes.rows, name) for name in self.node.keys], len(changes))
        columns = {
            partial: partial.encode(partial.lift(self._values(value_name(partial), changes)))
            for partial in self.layout.slots
        }
        records = self.layout.records(columns, len(changes))
        values = {
            contents: state.enter(groups, self._values(contents.value_name, changes))
            for contents, state in self.counted.items()
        }
        ts, live = np.ascontiguousarray(changes.ts), np.ascontiguousarray(changes.live)
        order = row_order(ts, groups, live, records, self.layout)
        if order is not None:
            live, groups = live[order], groups[order]
            records = {operation: rows[order] for operation, rows in records.items()}
            values = {contents: pairs[order] for contents, pairs in values.items()}
        return Coming(ts, live, groups, records, values)

    def reserve(self, rows: int) -> None:
        """Make room for the leaves of so many rows, and for the groups that are known."""
        self.forest.reserve(rows, self.keys.capacity)
        self.folds.reserve(len(self.forest.nodes), len(self.forest.groups))

    def answers(self, groups: Array, records: Records, found: Mapping[Counts, Sequence[Any]]) -> pa.Table:
        """The answers of groups, from what was folded and what was found for them."""
        answers: list[pa.Array] = self.keys.columns(groups)
        for aggregate in self.node.aggregates:
            contents = contents_of(aggregate)
            if isinstance(contents, Counts):
                answers.append(self.counted[contents].answers(aggregate, found[contents]))
            else:
                answers.append(self.layout.answers(aggregate, records))
        columns = self.node.columns
        typed = [
            answer if answer.type == column.type else answer.cast(column.type)
            for answer, column in zip(answers, columns, strict=True)
        ]
        return pa.table(typed, names=[column.name for column in columns])

    def at_rest(self, needed: Array, groups: Array, columns: Mapping[str, Any]) -> pa.Table:
        """A table of columns, behind the instant until which each row is needed, and its group."""
        keys = {key_name(place): column for place, column in enumerate(self.keys.columns(groups))}
        return pa.table({SLICE: pa.array(needed), **keys, **columns})

    def from_rest(self, table: pa.Table) -> Array:
        """The groups of such a table, held by its rows."""
        return self.keys.take(
            [one_chunk(table, key_name(place)) for place in range(len(self._types))], len(table)
        )

    def forget(self) -> None:
        """Rank only values that a record has."""
        if self.layout.ranked_values > FEW + 4 * self.forest.used:
            self.layout.forget_dead_ranks()

    def _values(self, name: str, changes: Changes) -> pa.Array:
        """What each row has to give."""
        if name == HOLDS and name not in self._columns:
            return pa.repeat(pa.scalar(True), len(changes))
        column = one_chunk(changes.rows, self._columns[name])
        if pat.is_timestamp(column.type) and column.type.tz not in (None, "UTC"):
            column = column.cast(pa.timestamp("us", "UTC"))
        return column

    def _rewrite(self, operation: Operation, place: int, function: Callable[[Array], Array]) -> None:
        self.folds.rewrite(operation, place, function, self.forest.held())

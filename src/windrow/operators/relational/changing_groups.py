"""GROUP BY over windows without SLIDE: at each instant at which rows come or go, a change of each group whose
answer is another.

1. Rows are lifted one by one and ordered, so that no cut of a stream shows.
2. At each instant the rows leave that end, then those enter that begin: a leaf each in the tree of its group
   (`final/live/`). Groups that have changed are answered; those that the batch has not met before also with
   what was true before it, so that what was said last need not be kept.
3. Where an answer is another, to the bit, a change takes the old one back and one tells the new.

At rest: each row once, when it comes: what was lifted of it, its group and its number there, under the
instant at which it ends. What was said last follows from that.

Cost: O(log n) a row for each operation without an exact inverse, n rows in its group; O(1) for the others.
Space: two nodes a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns import END_OF_TIME, SLICE
from windrow.final.live.at_changes import (
    ANSWERS,
    BEFORE,
    CHANGED,
    DONE,
    ENDED,
    PHASE,
    TOLD,
    WRITTEN,
    follow_changes,
)
from windrow.final.live.forest import MARKS
from windrow.final.values.changing_frequencies import Entries
from windrow.operators.aggregate.record_layout import one_chunk
from windrow.operators.relational.changes import Changes
from windrow.operators.relational.group_rows import Coming, GroupRows
from windrow.operators.relational.same_values import same_rows
from windrow.operators.state.calendar_queue import CalendarQueue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from windrow.aggregates import Operation
    from windrow.aggregates.contents import Counts
    from windrow.logical.tree import Group

    Array = np.ndarray[Any, Any]
    Records = dict[Operation, Array]

ROWS = "rows"
"""The table at rest."""
NUMBER = "_number"
"""The column of a row's number in its group."""
ROOM = 1 << 18
"""Instructions are written and followed so many at a time, so that they stay in a cache."""


class ChangingGroups:
    """The groups of a query's rows, answered at every change."""

    def __init__(self, node: Group) -> None:
        self.node = node
        self._schema = pa.schema([(column.name, column.type) for column in node.columns])
        self._reset()

    def _reset(self) -> None:
        self._rows = GroupRows(self.node)
        self._ends = CalendarQueue()
        self._held = 0
        self._pairs: dict[Counts, Array] = {
            contents: np.full(0, -1, np.int32) for contents in self._rows.counted
        }
        """By contents, the value of each leaf."""
        self._left = np.empty(0, np.int64)
        self._gone: dict[Counts, Array] = {}
        """What rows that have gone have held: their groups, and their values."""
        self._fresh: list[pa.Table] = []
        self._run = 0
        self._evaluated = 0

    @property
    def entries(self) -> int:
        """How many rows it holds."""
        return self._held

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        pairs = sum(array.nbytes for array in self._pairs.values())
        return self._rows.bytes + self._ends.bytes + pairs

    def next_change(self) -> int:
        """When the next row ends."""
        return self._ends.next()

    def advance(self, inputs: Sequence[Changes], until: int) -> Changes:
        """The changes of groups before an instant."""
        (changes,) = inputs
        alive = changes.ts < changes.live
        if not alive.all():
            changes = changes.take(np.flatnonzero(alive))
        coming = self._rows.take(changes)
        numbers = np.full(len(coming), -1, np.int64)
        told, records, found = self._follow(coming, numbers, until, tells=True)
        self._evaluated = until
        answers = self._changes(told, records, found)
        self._let_go()
        return answers

    def log(self) -> Mapping[str, pa.Table]:
        """At rest: the rows that came since the last time, and have not ended."""
        fresh, self._fresh = self._fresh, []
        if not fresh:
            return {}
        rows = pa.concat_tables(fresh)
        return {ROWS: rows.filter(pc.greater_equal(rows[SLICE], self._evaluated)).combine_chunks()}

    def restore(self, logged: Mapping[str, Sequence[pa.Table]], evaluated: int) -> None:
        """Go on from the rows that were logged and have not ended."""
        self._reset()
        self._evaluated = evaluated
        kept = [table.filter(pc.greater_equal(table[SLICE], evaluated)) for table in logged.get(ROWS, ())]
        if not sum(map(len, kept)):
            return
        table = pa.concat_tables(kept).combine_chunks()
        rows = self._rows
        groups = rows.from_rest(table)
        live = one_chunk(table, SLICE).to_numpy()
        values = {
            contents: state.enter(groups, one_chunk(table, contents.value_name))
            for contents, state in rows.counted.items()
        }
        coming = Coming(
            np.full(len(table), evaluated - 1), live, groups, rows.layout.from_rest(table), values
        )
        # All of them come at one instant, before any of them ends.
        self._follow(coming, one_chunk(table, NUMBER).to_numpy().copy(), evaluated, tells=False)
        self._fresh = []

    def _follow(
        self, coming: Coming, numbers: Array, until: int, *, tells: bool
    ) -> tuple[Array, Records, dict[Counts, list[Any]]]:
        """Let rows come and go; what is told of groups, with the records and the values of their answers."""
        rows, forest, folds = self._rows, self._rows.forest, self._rows.folds
        rows.reserve(len(coming))
        leaves = forest.take(len(coming))
        self._ends.push(coming.live, leaves)
        ends, ending = self._ends.pop(until)
        left = np.empty(len(ending), np.int64)
        changed = np.empty(len(forest.groups), np.int64)
        cursor = np.zeros(8, np.int64)
        room = min(ROOM, 1024 + 16 * (len(coming) + len(ends)))
        program = np.empty((room, 4), np.int32)
        told = np.empty((room, 3), np.int64)
        self._run += 1
        parts: list[tuple[Array, Records]] = []
        while cursor[PHASE] != DONE:
            if int(forest.counts[MARKS]) + int(cursor[CHANGED]) + 2 > len(program):
                program = np.empty((2 * (int(forest.counts[MARKS]) + int(cursor[CHANGED])), 4), np.int32)
            if int(cursor[CHANGED]) + 1 > len(told):
                told = np.empty((2 * int(cursor[CHANGED]), 3), np.int64)
            forest.reserve_marks()
            cursor[[WRITTEN, TOLD, ANSWERS]] = 0
            follow_changes(
                coming.ts, coming.groups, numbers, leaves, ends, ending, folds.needs_trees, tells, self._run,
                *forest.arrays, changed, cursor, program, told, left,
            )  # fmt: skip
            found = folds.follow(program[: cursor[WRITTEN]], coming.records, int(cursor[ANSWERS]))
            parts.append((told[: cursor[TOLD]].copy(), found))
        all_told = np.concatenate([part for part, _ in parts])
        records = {op: np.concatenate([found[op] for _, found in parts]) for op, _ in rows.layout.operations}
        self._held += len(coming) - len(ending)
        self._log(coming, numbers, until)
        values = self._count(coming, leaves, ends, ending, all_told)
        self._left = left
        return all_told, records, values

    def _count(
        self, coming: Coming, leaves: Array, ends: Array, ending: Array, told: Array
    ) -> dict[Counts, list[Any]]:
        """What is found among the values, for each answer that is told."""
        found = {}
        for contents, state in self._rows.counted.items():
            held = self._pairs[contents]
            nodes = len(self._rows.forest.nodes)
            if nodes > len(held):
                held = np.concatenate([held, np.full(nodes - len(held), -1, np.int32)])
            come = coming.values[contents]
            held[leaves] = come
            gone = held[ending]
            is_value, was_value = come >= 0, gone >= 0
            instants, first = np.unique(told[:, 0], return_index=True)
            # Of each instant first what was before, then what is now.
            is_before = told[:, 2] == BEFORE
            is_answer = told[:, 2] != ENDED
            befores = np.add.reduceat(is_before.astype(np.int64), first) if len(first) else first
            answers = np.add.reduceat(is_answer.astype(np.int64), first) if len(first) else first
            per_step = np.column_stack([befores, answers - befores]).reshape(-1)
            steps = np.repeat(instants, 2) + np.tile([0, 1], len(instants))
            steps = np.append(steps, END_OF_TIME)
            answers_from = np.concatenate([[0], np.cumsum(per_step), [per_step.sum()]])
            found[contents] = state.change(
                _entries(come[is_value], coming.ts[is_value], steps),
                _entries(gone[was_value], ends[was_value], steps),
                answers_from,
                told[is_answer, 1],
            )
            held[ending] = -1
            self._pairs[contents] = held
            self._gone[contents] = gone[was_value]
        return found

    def _let_go(self) -> None:
        """Groups and values are held no longer by the rows that have gone, now that all is answered."""
        self._rows.keys.let_go(self._left)
        for contents, state in self._rows.counted.items():
            moved = state.let_go(self._gone[contents])
            if moved is not None:
                held = self._pairs[contents]
                self._pairs[contents] = np.where(held >= 0, moved[held], -1).astype(np.int32)
        self._rows.forget()

    def _changes(self, told: Array, records: Records, found: dict[Counts, list[Any]]) -> Changes:
        """The changes, from what is told of groups."""
        rows = self._rows
        instants, groups, what = told.T
        is_answer = what != ENDED
        answers = rows.answers(groups[is_answer], records, found)
        answer = np.where(is_answer, np.cumsum(is_answer) - 1, -1)
        order = np.argsort(groups, kind="stable")
        groups, answer, what, instants = groups[order], answer[order], what[order], instants[order]
        before = np.full(len(order), -1, np.int64)
        before[1:] = np.where(groups[1:] == groups[:-1], answer[:-1], -1)
        has_changed = what != BEFORE
        both = np.flatnonzero(has_changed & (before >= 0) & (answer >= 0))
        has_changed[both] = ~same_rows(
            answers.take(pa.array(before[both])), answers.take(pa.array(answer[both]))
        )
        if self.node.internal:
            new = np.flatnonzero(has_changed & (answer >= 0))
            return self._given(instants[new], answer[new], np.ones(len(new), np.int8), answers)
        old = np.flatnonzero(has_changed & (before >= 0))
        new = np.flatnonzero(has_changed & (answer >= 0))
        return self._given(
            np.concatenate([instants[old], instants[new]]),
            np.concatenate([before[old], answer[new]]),
            np.repeat(np.array([-1, 1], np.int8), [len(old), len(new)]),
            answers,
        )

    def _given(self, ts: Array, places: Array, op: Array, answers: pa.Table) -> Changes:
        order = np.argsort(ts, kind="stable")
        forever = np.full(len(ts), END_OF_TIME, np.int64)
        rows = answers.take(pa.array(places[order])).cast(self._schema).combine_chunks()
        return Changes(ts[order], forever, forever, rows, None if self.node.internal else op[order])

    def _log(self, coming: Coming, numbers: Array, until: int) -> None:
        """Keep the rows that go on living for the next log."""
        stay = coming.live >= until
        if not stay.any():
            return
        rows = self._rows
        kept = {op: records[stay] for op, records in coming.records.items()}
        columns: dict[str, Any] = {NUMBER: pa.array(numbers[stay]), **rows.layout.at_rest(kept)}
        for contents, state in rows.counted.items():
            columns[contents.value_name] = state.values(coming.values[contents][stay])
        self._fresh.append(rows.at_rest(coming.live[stay], coming.groups[stay], columns))


def _entries(pairs: Array, instants: Array, steps: Array) -> Entries:
    """Values that come or go at some instants, and how many have by each step, which begins before an
    instant."""
    return Entries(pairs, np.ones(len(pairs), np.int64), np.searchsorted(instants, steps))

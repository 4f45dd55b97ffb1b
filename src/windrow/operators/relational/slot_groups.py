"""GROUP BY over windows with SLIDE: at each evaluation, an answer of each group that has rows.

1. A row goes into the slot of the last evaluation that it lives to see; one that sees none is dropped. All
   rows of a group and slot are one record: how many rows there are does not matter.
2. At an evaluation the slots are over that saw the one before last, the rows that have come since then enter,
   and what is left is all that is alive: a total for each group, or the root of its tree of slots
   (`final/live/`).
3. Between rows and the first evaluation behind them lies nothing, so that stretches without rows cost
   nothing.

At rest: the record of each slot and group that rows have entered, which takes the place of the one before.

Cost: O(log s) a row and operation without an exact inverse, s slots that are alive; an answer costs nothing
more. Space: two nodes for each slot and group. Source: the interval synopsis BIJ, Golab 2006, §8.3.2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns import BEGINNING, END_OF_TIME, SLICE
from windrow.final.live.at_evaluations import (
    ANSWERS,
    DONE,
    EVALUATED,
    LEFT,
    LIVE,
    PHASE,
    WRITTEN,
    follow_evaluations,
)
from windrow.final.live.forest import MARKS
from windrow.operators.aggregate.record_layout import one_chunk
from windrow.operators.relational.changes import Changes
from windrow.operators.relational.counted_slots import CountedSlots
from windrow.operators.relational.evaluations import Grid
from windrow.operators.relational.group_rows import Coming, GroupRows
from windrow.operators.relational.slot_heads import SlotHeads

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from windrow.aggregates import Operation
    from windrow.logical.tree import Group

    Array = np.ndarray[Any, Any]
    Records = dict[Operation, Array]

SLOTS, SETTLED = "slots", "settled"
"""The tables at rest; there is one more for each of the contents."""
ROOM = 1 << 18
"""Instructions are written and followed so many at a time, so that they stay in a cache."""


class Followed(NamedTuple):
    """What has become of the groups, evaluation by evaluation."""

    ends: Array
    """The evaluations."""
    answers_to: Array
    """How many answers there are up to the end of each."""
    groups: Array
    """The group of each answer."""
    records: Records
    """The record of each answer."""
    let_go: Array
    """Groups that are held once less for each time that they are in here."""


class SlotGroups:
    """The groups of a query's rows, answered at each evaluation."""

    def __init__(self, node: Group) -> None:
        assert node.slide is not None
        self.node = node
        self._grid = Grid(node.slide, node.offset)
        self._reset()

    def _reset(self) -> None:
        self._rows = GroupRows(self.node)
        self._heads = SlotHeads()
        self._counted = {contents: CountedSlots(state) for contents, state in self._rows.counted.items()}
        self._live = np.empty(0, np.int64)
        """The groups that have slots, and room for more."""
        self._groups = 0
        self._leaves = 0
        self._touched: list[tuple[Array, Array, Array]] = []
        """The leaves that rows have entered since the last log: themselves, their slots and groups."""
        self._entered: dict[str, list[pa.Table]] = {str(contents): [] for contents in self._counted}
        """The values that have entered since the last log."""
        self._settled = self._logged = BEGINNING
        """The first evaluation that sees all that is known to happen; and as it was logged."""
        self._evaluated = BEGINNING

    @property
    def entries(self) -> int:
        """How many records of slots and groups it holds."""
        return self._leaves

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        return self._rows.bytes + sum(counted.bytes for counted in self._counted.values())

    def next_change(self) -> int:
        """When the next evaluation is that has answers."""
        following = self._grid.following(self._evaluated)
        return following - 1 if self._heads.last >= following else END_OF_TIME

    def advance(self, inputs: Sequence[Changes], until: int) -> Changes:
        """The answers of the evaluations up to an instant."""
        (changes,) = inputs
        alive = changes.ts < changes.live
        slots, first = self._grid.last_seen(changes.live), self._grid.all_following(changes.ts)
        self._settled = max(self._settled, self._grid.settled(changes.ts[alive], slots[alive]))
        sees = alive & (slots >= first)
        if not sees.all():
            changes = changes.take(np.flatnonzero(sees))
        coming = self._rows.take(changes)
        slots = self._grid.last_seen(coming.live)
        followed = self._follow(coming, slots, self._ends(coming, slots, until))
        answers = self._answers(coming, slots, followed)
        self._evaluated = until
        self._forget_touched()
        self._rows.keys.let_go(followed.let_go)
        self._rows.forget()
        return answers

    def log(self) -> Mapping[str, pa.Table]:
        """At rest: the records of the slots that have changed since the last time, as they are now, and the
        values that have entered."""
        tables = {}
        for name, entered in self._entered.items():
            if entered:
                table = pa.concat_tables(entered)
                needed = pc.greater_equal(table[SLICE], self._evaluated)
                tables[name] = table.filter(needed).combine_chunks()
                entered.clear()
        if self._touched:
            ((leaves, slots, groups),) = self._touched
            self._touched = []
            records = {op: nodes[leaves] for op, nodes in self._rows.folds.nodes.items()}
            columns = self._rows.layout.at_rest(records)
            tables[SLOTS] = self._rows.at_rest(self._grid.needed_until(slots), groups, columns)
        if self._settled > self._logged and self._heads.last >= END_OF_TIME:
            # What never ends is answered until then; where all ends, its slots say until when.
            self._logged = self._settled
            tables[SETTLED] = pa.table({SLICE: [self._settled - 1]})
        return tables

    def restore(self, logged: Mapping[str, Sequence[pa.Table]], evaluated: int) -> None:
        """Go on from what was logged and a later evaluation needs."""
        self._reset()
        self._evaluated = evaluated
        kept = [table.filter(pc.greater_equal(table[SLICE], evaluated)) for table in logged.get(SLOTS, ())]
        if not sum(map(len, kept)):
            return
        table = pa.concat_tables(kept).combine_chunks()
        rows = self._rows
        groups = rows.from_rest(table)
        slots = self._grid.slots(one_chunk(table, SLICE).to_numpy())
        order = np.lexsort((np.arange(len(table)), slots, groups))
        is_last = np.append((np.diff(groups[order]) != 0) | (np.diff(slots[order]) != 0), True)
        rows.keys.let_go(groups[order[~is_last]])
        chosen = order[is_last]
        table = table.take(pa.array(chosen)).combine_chunks()
        records, slots, groups = rows.layout.from_rest(table), slots[chosen], groups[chosen]
        coming = Coming(np.full(len(table), evaluated - 1), slots, groups, records, {})
        settled = [one_chunk(part, SLICE).to_numpy() + 1 for part in logged.get(SETTLED, ())]
        self._logged = int(np.concatenate([[BEGINNING], *settled]).max())
        self._settled = max(self._logged, self._grid.settled(np.empty(0, np.int64), slots))
        self._follow(coming, coming.live, np.empty(0, np.int64))
        self._touched = []
        for contents, counted in self._counted.items():
            tables = [
                part.filter(pc.greater_equal(part[SLICE], evaluated))
                for part in logged.get(str(contents), ())
            ]
            if sum(map(len, tables)):
                part = pa.concat_tables(tables).combine_chunks()
                of = rows.from_rest(part)
                counted.restore(of, self._grid.slots(one_chunk(part, SLICE).to_numpy()), part)
                rows.keys.let_go(of)

    def _follow(self, coming: Coming, slots: Array, ends: Array) -> Followed:
        """Let rows come and slots go, evaluation by evaluation."""
        rows, forest, folds = self._rows, self._rows.forest, self._rows.folds
        rows.reserve(0)
        heads = self._heads.of(slots, self._grid.slide)
        expired = self._heads.find(ends - self._grid.slide)
        if len(forest.groups) > len(self._live):
            self._live = np.concatenate(
                [self._live, np.empty(len(forest.groups) - len(self._live), np.int64)]
            )
        room = min(ROOM, 1024 + 16 * (len(coming) + self._leaves))
        program = np.empty((room, 4), np.int32)
        answered = np.empty(room, np.int64)
        left = np.empty(self._leaves + len(coming), np.int64)
        leaves = np.empty(len(coming), np.int64)
        answers_to = np.zeros(len(ends), np.int64)
        cursor = np.zeros(7, np.int64)
        cursor[LIVE] = self._groups
        numbers = self._grid.numbers(slots)
        first = self._grid.all_following(coming.ts)
        parts: list[tuple[Array, Records]] = []
        given = 0
        while cursor[PHASE] != DONE:
            needed = int(forest.counts[MARKS]) + int(cursor[LIVE]) + 2
            if needed > len(program):
                program = np.empty((2 * needed, 4), np.int32)
            if needed > len(answered):
                answered = np.empty(2 * needed, np.int64)
            # There is a leaf for some of the rows; how many is not known.
            if forest.lacks_room:
                rows.reserve(min(len(coming), len(forest.nodes)))
            forest.reserve_marks()
            cursor[[WRITTEN, ANSWERS]] = 0
            over = int(cursor[EVALUATED])
            follow_evaluations(
                first, coming.groups, numbers, heads, leaves, ends, expired, self._heads.first,
                folds.needs_trees, *forest.arrays, self._live, cursor, program, answers_to, answered, left,
            )  # fmt: skip
            found = folds.follow(program[: cursor[WRITTEN]], coming.records, int(cursor[ANSWERS]))
            parts.append((answered[: cursor[ANSWERS]].copy(), found))
            answers_to[over : cursor[EVALUATED]] += given
            given += int(cursor[ANSWERS])
        self._heads.let_go(ends - self._grid.slide)
        is_new = leaves < 0
        self._groups = int(cursor[LIVE])
        self._leaves += int(is_new.sum()) - int(cursor[LEFT])
        groups = np.concatenate([part for part, _ in parts])
        records = {op: np.concatenate([found[op] for _, found in parts]) for op, _ in rows.layout.operations}
        self._touched.append((np.where(is_new, ~leaves, leaves), slots, coming.groups))
        # A leaf holds its group; whoever else has entered it does not.
        let_go = np.concatenate([coming.groups[~is_new], left[: cursor[LEFT]]])
        return Followed(ends, answers_to, groups, records, let_go)

    def _ends(self, coming: Coming, slots: Array, until: int) -> Array:
        """The evaluations up to an instant that have answers, or at which the last rows are gone."""
        first = self._grid.all_following(coming.ts)
        if self._heads.last > BEGINNING:
            first = np.concatenate([[self._grid.following(self._evaluated)], first])
            slots = np.concatenate([[self._heads.last], slots])
        if until >= END_OF_TIME:
            # What never ends is answered until nothing happens any more.
            until = self._settled
        return self._grid.evaluations(first, slots, until)

    def _forget_touched(self) -> None:
        """Of the leaves that were touched, each once that is still there."""
        if not self._touched:
            return
        leaves, slots, groups = (np.concatenate(arrays) for arrays in zip(*self._touched, strict=True))
        still = np.flatnonzero(self._grid.needed_until(slots) >= self._evaluated)
        # Where a leaf was touched last, without a sort: of several places that are written, the last one
        # stays.
        touched = np.empty(len(self._rows.forest.nodes), np.int64)
        touched[leaves[still]] = still
        last = still[touched[leaves[still]] == still]
        self._touched = [(leaves[last], slots[last], groups[last])] if len(last) else []

    def _answers(self, coming: Coming, slots: Array, followed: Followed) -> Changes:
        """The answers of groups at evaluations, from what was folded and counted for them."""
        ends, answers_to, groups = followed.ends, followed.answers_to, followed.groups
        found = {}
        for contents, counted in self._counted.items():
            answers_from = np.concatenate([[0], answers_to])
            pairs = coming.values[contents]
            found[contents] = counted.change(
                pairs, coming.ts, slots, ends, self._grid.slide, answers_from, groups
            )
            self._entered[str(contents)].append(self._values_at_rest(counted, *counted.entered(pairs, slots)))
        at = np.repeat(ends, np.diff(answers_to, prepend=0))
        live = np.full(len(at), END_OF_TIME) if self.node.internal else at + self._grid.slide - 1
        answers = self._rows.answers(groups, followed.records, found)
        for counted in self._counted.values():
            counted.let_go()
        return Changes(at - 1, live, live, answers)

    def _values_at_rest(self, counted: CountedSlots, pairs: Array, counts: Array, slots: Array) -> pa.Table:
        columns = {
            counted.contents.value_name: counted.state.values(pairs),
            counted.contents.count_name: pa.array(counts),
        }
        return self._rows.at_rest(self._grid.needed_until(slots), counted.state.groups(pairs), columns)

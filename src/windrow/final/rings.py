"""Structures of one window each, for many keys: a ring buffer a key, all in one stretch of memory.

An algorithm that keeps its own structure says how an entry is inserted, how the oldest one is evicted
and how a range is queried; everything around it is here. Entries of a key are numbered as they come;
entry i lies in slot i & mask of its ring, so numbers stay valid when a ring is replaced by a larger one.

1. Memory: *values*, *aggregates* (records) and *links* (integers), so many slots an entry as the
   algorithm asks for; *totals*, one record a key and range; *state*, a row of integers a key.
2. A run of evaluations is one compiled loop. It stops when a ring is full, and goes on at the same
   entry when the ring has been replaced by one of twice the size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numba import njit

from windrow.final.base import FinalAggregator
from windrow.final.specialise import specialise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from windrow.aggregates import Operation
    from windrow.final.schedule import Schedule
    from windrow.final.specialise import Part

    Array = np.ndarray[Any, Any]

    WIDTH: int
    insert: Any
    evict: Any
    leave: Any
    query: Any
    move: Any

# A key's row of the state: where its ring lies, the numbers of the oldest entry and of the next one,
# four numbers for the algorithm, then the number of the first entry of each range.
OFFSET, MASK, BEGIN, END, MARK_1, MARK_2, MARK_3, MARK_4, FIRST = range(9)

SMALLEST = 2


@dataclass(frozen=True)
class Slots:
    """How many slots of each kind a ring has for an entry, and whether there are totals."""

    values: int = 0
    aggregates: int = 0
    links: int = 0
    totals: bool = False


class RingAggregator(FinalAggregator):
    """A structure a key, behind the interface of final aggregation."""

    own_windows: ClassVar[bool] = True
    slots: ClassVar[Slots]
    parts: ClassVar[tuple[Part, ...]]
    """The kernels `insert`, `evict` and `query`; `leave` and `move` where they are its own."""
    by_column: ClassVar[bool] = False
    """Whether each column of a record needs a structure of its own."""

    def __init__(self, operation: Operation, columns: int, ranges: int = 1, capacity: int = SMALLEST) -> None:
        super().__init__(operation, columns, ranges)
        lanes = [slice(c, c + 1) for c in range(columns)] if self.by_column else [slice(0, columns)]
        self.lanes = [(lane, Rings(self, lane.stop - lane.start, capacity)) for lane in lanes]
        self.entered = np.zeros(ranges + 1, np.int64)  # evicted entries a range, then pushed entries

    def reserve(self, keys: int) -> None:
        for _, rings in self.lanes:
            rings.reserve(keys)

    def slide(self, records: Array, keys: Array, base: int, schedule: Schedule) -> list[Array]:
        out = self._answers(schedule)
        entered = self.entered
        for lane, rings in self.lanes:
            entered = self.entered.copy()
            slide = rings.kernel(_slide)
            step = 0
            while step < len(schedule.ends):
                step = slide(
                    records[:, lane], keys, base, schedule.evict_to, schedule.push_to,
                    schedule.answers_from, schedule.answer_keys, step, entered, *rings.memory, out[:, lane],
                )  # fmt: skip
                if step < len(schedule.ends):
                    rings.grow_full()
        self.entered = entered
        return self._by_range(out, schedule)

    def state(self) -> list[Array]:
        return [array for _, rings in self.lanes for array in rings.memory[:3]]

    def column(self, place: int) -> list[Array]:
        lane, rings = self.lanes[place] if self.by_column else self.lanes[0]
        return [array[:, place - lane.start] for array in rings.memory[:3]]

    def snapshot(self) -> dict[str, Array]:
        kept = {"keys": np.array(self.keys), "entered": self.entered.copy()}
        for lane, (_, rings) in enumerate(self.lanes):
            kept |= {f"{lane} {name}": array for name, array in rings.snapshot().items()}
        return kept

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        self.keys = int(snapshot["keys"])
        self.entered = snapshot["entered"].copy()
        for lane, (_, rings) in enumerate(self.lanes):
            rings.restore({name: snapshot[f"{lane} {name}"] for name in rings.snapshot()})

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for _, rings in self.lanes for array in rings.memory)


class Rings:
    """The memory of the rings."""

    def __init__(self, algorithm: RingAggregator, width: int, capacity: int) -> None:
        self.operation = algorithm.operation
        self.slots = algorithm.slots
        own = dict(algorithm.parts)
        defaults = {"leave": _stay, "move": _move}
        self._parts = tuple({**defaults, **own}.items())
        self.width = width
        self.ranges = algorithm.ranges
        self._smallest = 1 << (max(capacity, 1) - 1).bit_length()
        self._used = 0
        self._waste = 0
        empty = self.operation.empty(0, width)
        self.values, self.aggregates, self.totals = empty, empty, empty
        self.links = np.zeros(0, np.int64)
        self.state = np.zeros((0, FIRST + self.ranges), np.int64)

    @property
    def memory(self) -> tuple[Array, Array, Array, Array, Array]:
        """What every kernel takes, in this order."""
        return self.values, self.aggregates, self.totals, self.links, self.state

    def snapshot(self) -> dict[str, Array]:
        """The rings, without the places that are no longer used."""
        if self._waste:
            self._compact()
        names = ("values", "aggregates", "totals", "links", "state")
        return {name: array.copy() for name, array in zip(names, self.memory, strict=True)}

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        """The rings of a snapshot."""
        for name, array in snapshot.items():
            setattr(self, name, array.copy())
        self._waste = 0
        self._used = int(np.max(self.state[:, OFFSET] + self.state[:, MASK] + 1, initial=0))

    def kernel(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel with the algorithm's parts bound."""
        return specialise(kernel, self.operation, self.width, self._parts)

    def reserve(self, keys: int) -> None:
        """A smallest ring for every key number below `keys`."""
        known = len(self.state)
        state = np.zeros((keys, self.state.shape[1]), np.int64)
        state[:known] = self.state
        state[known:, OFFSET] = self._used + self._smallest * np.arange(keys - known)
        state[known:, MASK] = self._smallest - 1
        self.state = state
        self._allocate(self._used + self._smallest * (keys - known))
        if self.slots.totals:
            self.totals = self._extended(self.totals, keys * self.ranges)

    def grow_full(self) -> None:
        """Twice the room for every ring that is full."""
        state = self.state
        full = np.flatnonzero(state[:, END] - state[:, BEGIN] > state[:, MASK])
        capacity = state[full, MASK] + 1
        old = (self.values, self.aggregates, self.links, state.copy())
        state[full, OFFSET] = self._used + np.concatenate([[0], np.cumsum(2 * capacity)[:-1]])
        state[full, MASK] = 2 * capacity - 1
        self._allocate(self._used + int(2 * capacity.sum()))
        self.kernel(_move_all)(full, *old, *self.memory)
        self._waste += int(capacity.sum())
        if self._waste > self._used // 2:
            self._compact()

    def _compact(self) -> None:
        """Leave the places of rings that were replaced behind."""
        old = (self.values, self.aggregates, self.links, self.state.copy())
        sizes = self.state[:, MASK] + 1
        self.state[:, OFFSET] = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self.values, self.aggregates = (
            self.operation.empty(0, self.width),
            self.operation.empty(0, self.width),
        )
        self.links = np.zeros(0, np.int64)
        self._waste = 0
        self._allocate(int(sizes.sum()))
        self.kernel(_move_all)(np.arange(len(sizes)), *old, *self.memory)

    def _allocate(self, used: int) -> None:
        self._used = used
        self.values = self._extended(self.values, used * self.slots.values)
        self.aggregates = self._extended(self.aggregates, used * self.slots.aggregates)
        if used * self.slots.links > len(self.links):
            self.links = np.concatenate([self.links, np.zeros(_room(self.links, used), np.int64)])

    def _extended(self, records: Array, rows: int) -> Array:
        if rows <= len(records):
            return records
        return np.concatenate([records, self.operation.empty(_room(records, rows), self.width)])


def _room(held: Array, wanted: int) -> int:
    """How much to add: half as much again at least, so that many small steps cost no more than one."""
    return max(wanted - len(held), len(held) // 2)


@njit(inline="always")
def copy_record(source: Array, i: int, target: Array, k: int) -> None:
    """Record `i` of one array to record `k` of another."""
    for column in range(source.shape[1]):
        target[k, column] = source[i, column]


def _stay(
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int, range_: int
) -> None:
    """Nothing to do when an entry leaves a range that is not the longest."""


def _move(
    old_values: Array, old_aggregates: Array, old_links: Array, before: Array,
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int,
) -> None:  # fmt: skip
    """A ring to its new place, entry by entry."""
    for number in range(state[key, BEGIN], state[key, END]):
        source = before[key, OFFSET] + (number & before[key, MASK])
        target = state[key, OFFSET] + (number & state[key, MASK])
        if len(values):
            copy_record(old_values, source, values, target)
        if len(aggregates):
            copy_record(old_aggregates, source, aggregates, target)
        if len(links):
            links[target] = old_links[source]


def _move_all(
    moved: Array, old_values: Array, old_aggregates: Array, old_links: Array, before: Array,
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array,
) -> None:  # fmt: skip
    for key in moved:
        move(
            old_values, old_aggregates, old_links, before,
            values, aggregates, totals, links, state, key,
        )  # fmt: skip


def _slide(
    records: Array, keys: Array, base: int, evict_to: Array, push_to: Array, answers_from: Array,
    answer_keys: Array, step: int, entered: Array,
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, out: Array,
) -> int:  # fmt: skip
    """Follow a schedule from a step on; returns the step at which a ring was full, or the number of steps."""
    ranges, steps = evict_to.shape
    longest = ranges - 1
    room = answer_keys.shape[1]
    pushed = entered[ranges]
    while step < steps:
        # An entry that leaves the longest range before it is seen by any evaluation never enters.
        skipped = evict_to[longest, step]
        for r in range(ranges):
            for entry in range(entered[r], min(evict_to[r, step], pushed)):
                key = keys[entry - base]
                leave(values, aggregates, totals, links, state, key, r)
                state[key, FIRST + r] += 1
                if r == longest:
                    evict(values, aggregates, totals, links, state, key)
            entered[r] = max(entered[r], min(evict_to[r, step], max(pushed, skipped)))
        pushed = max(pushed, skipped)
        while pushed < push_to[step]:
            key = keys[pushed - base]
            if state[key, END] - state[key, BEGIN] > state[key, MASK]:
                entered[ranges] = pushed
                return step
            insert(values, aggregates, totals, links, state, key, records, pushed - base)
            for r in range(longest):
                if pushed < evict_to[r, step]:
                    leave(values, aggregates, totals, links, state, key, r)
                    state[key, FIRST + r] += 1
                    entered[r] = pushed + 1
            pushed += 1
        for r in range(ranges):
            for answer in range(answers_from[r, step], answers_from[r, step + 1]):
                key = answer_keys[r, answer]
                query(values, aggregates, totals, links, state, key, r, out, r * room + answer)
        step += 1
    entered[ranges] = pushed
    return steps

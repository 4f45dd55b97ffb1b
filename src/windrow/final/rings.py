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

from windrow.final.base import FinalAggregator
from windrow.final.specialise import specialise
from windrow.machine_code import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from windrow.aggregates import Operation
    from windrow.final.specialise import KernelPart
    from windrow.final.steps import Steps

    Array = np.ndarray[Any, Any]

    WIDTH: int
    copy_record: Any
    insert: Any
    evict: Any
    leave: Any
    query: Any
    move: Any

# A key's row of the state: where its ring lies, the numbers of the oldest entry and of the next one,
# four numbers for the algorithm, then the number of the first entry of each range.
OFFSET, MASK, BEGIN, END, MARK_1, MARK_2, MARK_3, MARK_4, FIRST = range(9)

SMALLEST = 2
LONGEST_DEQUE = 8
"""Room that a deque gets before it is needed: on random input its length is the logarithm of the window's."""
MEMORY = ("values", "aggregates", "totals", "links", "state")
"""What every kernel takes, in this order."""


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
    parts: ClassVar[tuple[KernelPart, ...]]
    """The kernels `insert`, `evict` and `query`; `leave` and `move` where they are its own."""
    counted: ClassVar[int] = END
    """Where the state has how many entries a key has had."""
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

    def slide(self, records: Array, keys: Array, base: int, steps: Steps) -> list[Array]:
        out = self._answers(steps)
        entered = self.entered
        most = self._most_entries(keys, base, steps)
        for _, rings in self.lanes:
            rings.fit(most)
        for lane, rings in self.lanes:
            entered = self.entered.copy()
            slide = rings.kernel(_slide)
            step = 0
            while step < len(steps.ends):
                step = slide(
                    records[:, lane], keys, base, steps.evict_to, steps.push_to,
                    steps.answers_from, steps.answer_keys, step, entered, *rings.memory, out[:, lane],
                )  # fmt: skip
                if step < len(steps.ends):
                    rings.grow_full()
        self.entered = entered
        return self._by_range(out, steps)

    def _most_entries(self, keys: Array, base: int, steps: Steps) -> Array:
        """How many entries each key will have at once; a deque hardly ever has as many."""
        _, rings = self.lanes[0]
        most = np.zeros(len(rings.state), np.int64)
        entries = rings.state[:, self.counted] - rings.state[:, -1]
        _peaks(keys, base, self.entered, steps.evict_to[-1], steps.push_to, entries, most)
        return np.minimum(most, LONGEST_DEQUE) if self.by_column else most

    def state(self) -> list[Array]:
        return [array for _, rings in self.lanes for array in rings.memory[:3]]

    def column(self, place: int) -> list[Array]:
        lane, rings = self.lanes[place] if self.by_column else self.lanes[0]
        return [array[:, place - lane.start] for array in rings.memory[:3]]

    def snapshot(self) -> dict[str, Array]:
        for _, rings in self.lanes:
            rings.trim(self.known)
        self.keys = self.known
        kept = {"keys": np.array(self.keys), "entered": self.entered.copy()}
        for lane, (_, rings) in enumerate(self.lanes):
            kept |= {f"{lane} {name}": array for name, array in rings.snapshot().items()}
        return kept

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        self.keys = self.known = int(snapshot["keys"])
        self.entered = snapshot["entered"].copy()
        for lane, (_, rings) in enumerate(self.lanes):
            rings.restore({name: snapshot[f"{lane} {name}"] for name in MEMORY})

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for _, rings in self.lanes for array in rings.memory)


class Rings:
    """The memory of the rings."""

    def __init__(self, algorithm: RingAggregator, width: int, capacity: int) -> None:
        self.operation = algorithm.operation
        self.slots = algorithm.slots
        common = {"copy_record": _copy_record, "leave": _stay, "move": _move}
        self._parts = tuple({**common, **dict(algorithm.parts)}.items())
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
    def memory(self) -> tuple[Array, ...]:
        """The arrays that every kernel takes."""
        return tuple(getattr(self, name) for name in MEMORY)

    def snapshot(self) -> dict[str, Array]:
        """The rings as they are."""
        return {name: getattr(self, name).copy() for name in MEMORY}

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

    def fit(self, entries: Array) -> None:
        """See that the ring of each key can hold so many entries."""
        entries = entries[: len(self.state)]  # keys beyond have never had any
        small = np.flatnonzero(entries > self.state[: len(entries), MASK] + 1)
        self._grow(small, 1 << np.ceil(np.log2(entries[small])).astype(np.int64))

    def grow_full(self) -> None:
        """Twice the room for every ring that is full."""
        state = self.state
        full = np.flatnonzero(state[:, END] - state[:, BEGIN] > state[:, MASK])
        self._grow(full, 2 * (state[full, MASK] + 1))

    def trim(self, keys: int) -> None:
        """Give back what no key below `keys` uses."""
        self.state = self.state[:keys].copy()
        self.totals = self.totals[: keys * self.ranges] if self.slots.totals else self.totals
        self._place(np.arange(keys), self.state[:, MASK] + 1, anew=True)

    def _grow(self, keys: Array, capacity: Array) -> None:
        if len(keys) == 0:
            return
        self._waste += int((self.state[keys, MASK] + 1).sum())
        self._place(keys, capacity)
        if self._waste > self._used // 3:
            self._place(np.arange(len(self.state)), self.state[:, MASK] + 1, anew=True)

    def _place(self, keys: Array, capacity: Array, *, anew: bool = False) -> None:
        """Move the rings of some keys behind the others, or all of them to new memory."""
        old = (self.values, self.aggregates, self.links, self.state[keys])
        if anew:
            self._used = self._waste = 0
            empty = self.operation.empty(0, self.width)
            self.values, self.aggregates, self.links = empty, empty, np.zeros(0, np.int64)
        self.state[keys, OFFSET] = self._used + np.cumsum(capacity) - capacity
        self.state[keys, MASK] = capacity - 1
        self._allocate(self._used + int(capacity.sum()))
        self.kernel(_move_all)(keys, *old, *self.memory)

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


def _copy_record(source: Array, i: int, target: Array, k: int) -> None:
    """Record `i` of one array to record `k` of another."""
    for column in range(WIDTH):
        target[k, column] = source[i, column]


def _stay(
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int, range_: int
) -> None:
    """Nothing to do when an entry leaves a range that is not the longest."""


def _move(
    old_values: Array, old_aggregates: Array, old_links: Array, offset: int, mask: int,
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, key: int,
) -> None:  # fmt: skip
    """A ring to its new place, entry by entry."""
    for number in range(state[key, BEGIN], state[key, END]):
        source = offset + (number & mask)
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
    for place in range(len(moved)):
        move(
            old_values, old_aggregates, old_links, before[place, OFFSET], before[place, MASK],
            values, aggregates, totals, links, state, moved[place],
        )  # fmt: skip


@compiled
def _peaks(
    keys: Array, base: int, entered: Array, evict_to: Array, push_to: Array, entries: Array, most: Array
) -> None:
    """The most entries that each key has during a run."""
    evicted, pushed = entered[-2], entered[-1]
    for step in range(len(push_to)):
        for entry in range(evicted, min(evict_to[step], pushed)):
            entries[keys[entry - base]] -= 1
        for entry in range(max(pushed, evict_to[step]), push_to[step]):
            key = keys[entry - base]
            entries[key] += 1
            most[key] = max(most[key], entries[key])
        evicted, pushed = evict_to[step], push_to[step]


def _slide(
    records: Array, keys: Array, base: int, evict_to: Array, push_to: Array, answers_from: Array,
    answer_keys: Array, step: int, entered: Array,
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, out: Array,
) -> int:  # fmt: skip
    """Follow the steps from one on; returns the step at which a ring was full, or the number of steps."""
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

"""The last n rows of every key, answered every m rows of that key: `[PARTITION BY k ROWS n SLIDE m]`.

Rows of a key expire when rows of the same key come, whatever other keys do, so each key has a window
of its own, in one of the structures of `rings.py`. Rows come in order and one by one, which is what
Cutty slicing is for: a slice begins only where a window begins, ⌈n / m⌉ slices a window, and the one
that is still open is combined with the others at the moment of the answer.

Time: one operation a row, and those of the final aggregator and one more an answer. Space: ⌈n / m⌉
slices a key, for as long as there is the key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.errors import PlanError
from windrow.final.choose import named
from windrow.final.rings import BEGIN, END, FIRST, LONGEST_DEQUE, MASK, RingAggregator
from windrow.slicing import Window, cutty, cutty_per_window

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from windrow.aggregates import Operation
    from windrow.final.base import FinalAggregator

    Array = np.ndarray[Any, Any]
    Records = dict[Operation, Array]

    combine: Any
    copy_record: Any
    insert: Any
    leave: Any
    evict: Any
    query: Any


class PartitionedRows:
    """Windows of rows, each key with its own."""

    def __init__(
        self,
        rows: int,
        slide: int,
        operations: Sequence[tuple[Operation, int]],
        algorithms: Mapping[Operation, type[FinalAggregator]],
    ) -> None:
        window = Window(rows, slide)
        self._slide = slide
        self._phase = cutty(window).combs[0].phase
        self._closed = cutty_per_window(window) - 1
        self.rows = np.zeros(0, np.int64)
        """How many rows each key has had."""
        self._known = 0
        self._aggregators: dict[Operation, RingAggregator] = {}
        for operation, columns in operations:
            self._aggregators[operation] = _in_rings(algorithms[operation], operation, columns)
        self._open = {operation: operation.empty(0, columns) for operation, columns in operations}

    @property
    def entries(self) -> int:
        """How many slices are held, the open ones included."""
        rings = [rings for aggregator in self._aggregators.values() for _, rings in aggregator.lanes]
        closed = max((int(np.sum(r.state[:, END] - r.state[:, BEGIN])) for r in rings), default=0)
        return closed + int(np.count_nonzero(self.rows))

    @property
    def bytes(self) -> int:
        """What the state takes."""
        held = sum(aggregator.bytes for aggregator in self._aggregators.values())
        return held + sum(records.nbytes for records in self._open.values()) + self.rows.nbytes

    def append(self, keys: Array, records: Records, key_count: int) -> tuple[Array, Array, Records]:
        """Take in rows in stream order: the places at which a window was answered, the numbers that these
        rows have among those of their key, from one on, and the answers."""
        self._grow(key_count)
        order = np.argsort(keys, kind="stable")
        numbers = np.empty(len(keys), np.int64)
        counts = np.bincount(keys, minlength=len(self.rows))
        begin = np.cumsum(counts) - counts
        numbers[order] = np.arange(len(keys)) - np.repeat(begin - self.rows, counts)
        places = np.flatnonzero((numbers + 1) % self._slide == 0)
        answers: Records = {}
        most = np.clip((self.rows + counts - 1 - self._phase) // self._slide + 1, 0, self._closed)
        for operation, aggregator in self._aggregators.items():
            out = np.empty((len(places), aggregator.columns), operation.dtype)
            for lane, rings in aggregator.lanes:
                rings.fit(np.minimum(most, LONGEST_DEQUE) if aggregator.by_column else most)
                push = rings.kernel(_push)
                resume = np.zeros(2, np.int64)  # row, answer
                while resume[0] < len(keys):
                    push(
                        records[operation][:, lane], keys, numbers, self._slide, self._phase, self._closed,
                        self._open[operation][:, lane], resume, *rings.memory, out[:, lane],
                    )  # fmt: skip
                    if resume[0] < len(keys):
                        rings.grow_full()
            answers[operation] = out
        self.rows += counts
        return places, numbers[places] + 1, answers

    def snapshot(self) -> dict[str, Array]:
        """Everything that it takes to go on, to the same bits."""
        kept = {"rows": self.rows[: self._known].copy()}
        for operation, aggregator in self._aggregators.items():
            kept[f"{operation.name} open"] = self._open[operation][: self._known].copy()
            kept[f"{operation.name} algorithm"] = np.array(aggregator.name)
            kept |= {f"{operation.name} {name}": a for name, a in aggregator.snapshot().items()}
        return kept

    def restore(self, snapshot: Mapping[str, Array]) -> None:
        """Go on from a snapshot, with the algorithms that it was made with."""
        self.rows = snapshot["rows"].copy()
        self._known = len(self.rows)
        for operation, aggregator in self._aggregators.items():
            prefix = f"{operation.name} "
            own = {name[len(prefix) :]: a for name, a in snapshot.items() if name.startswith(prefix)}
            self._open[operation] = own.pop("open").copy()
            algorithm = named(str(own.pop("algorithm")))
            self._aggregators[operation] = _in_rings(algorithm, operation, aggregator.columns)
            self._aggregators[operation].restore(own)

    def rewrite(self, operation: Operation, column: int, rewrite: Callable[[Array], Array]) -> None:
        """Apply a function to one column of every record held."""
        for values in [self._open[operation][:, column], *self._aggregators[operation].column(column)]:
            values[:] = rewrite(values)

    def _grow(self, keys: int) -> None:
        self._known = max(self._known, keys)
        for aggregator in self._aggregators.values():
            aggregator.grow(keys)
        known = len(self.rows)
        if keys <= known:
            return
        room = max(keys, 2 * known)
        self.rows = np.pad(self.rows, (0, room - known))
        for operation, records in self._open.items():
            more = operation.empty(room - known, records.shape[1])
            self._open[operation] = np.concatenate([records, more])


def _in_rings(algorithm: type[FinalAggregator], operation: Operation, columns: int) -> RingAggregator:
    if not issubclass(algorithm, RingAggregator):
        raise PlanError(f"{algorithm.name} has no structure for each key")
    return algorithm(operation, columns)


def _push(
    records: Array, keys: Array, numbers: Array, slide: int, phase: int, closed: int, opened: Array,
    resume: Array,
    values: Array, aggregates: Array, totals: Array, links: Array, state: Array, out: Array,
) -> None:  # fmt: skip
    """Rows from `resume` on; it stays at the row for which a ring is full."""
    before = (0 - phase) // slide
    for row in range(resume[0], len(keys)):
        resume[0] = row
        key, number = keys[row], numbers[row]
        if number == 0:
            copy_record(records, row, opened, key)
        elif number % slide != phase:
            combine(opened, key, records, row, opened, key)
        else:
            # A window begins here, so a slice does, and the open one is complete.
            if closed > 0:
                complete = (number - 1 - phase) // slide - before
                if complete - state[key, FIRST] == closed:
                    leave(values, aggregates, totals, links, state, key, 0)
                    state[key, FIRST] += 1
                    evict(values, aggregates, totals, links, state, key)
                if state[key, END] - state[key, BEGIN] > state[key, MASK]:
                    return
                insert(values, aggregates, totals, links, state, key, opened, key)
            copy_record(records, row, opened, key)
        if (number + 1) % slide == 0:
            if state[key, END] == state[key, BEGIN]:
                copy_record(opened, key, out, resume[1])
            else:
                query(values, aggregates, totals, links, state, key, 0, out, resume[1])
                combine(out, resume[1], opened, key, out, resume[1])
            resume[1] += 1
    resume[0] = len(keys)

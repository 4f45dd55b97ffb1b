"""All windows of a tree, of any ranges, slides and offsets, from one list of entries.

`KeyedWindows` has a structure for each slide; here thousands of windows come to one and the same, and what
an entry costs does not depend on how many there are. Windows may come and go between evaluations: nothing
is built anew, because nothing is kept for a window.

Time: O(1) an entry and operation; O(1) to O(log n) an answer, by the operation (see `choose.py`); nothing a
window, except a search an epoch. Space: the entries that some window still needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.final.shared.choose import shared_structure
from windrow.final.shared.entries import Entries
from windrow.final.shared.evaluations import NEVER, Evaluations, Ticks
from windrow.final.shared.live_keys import LiveKeys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from windrow.aggregates import Operation
    from windrow.slicing import Window

    Array = np.ndarray[Any, Any]
    Records = dict[Operation, Array]


class SharedWindows:
    """Closed slices of many keys, and a structure for each operation that answers all windows.

    >>> from windrow.aggregates.operations import ADD_INTEGERS
    >>> from windrow.slicing import Window
    >>> shared = SharedWindows([Window(3, 2), Window(10, 5)], [(ADD_INTEGERS, 1)])
    >>> ones = np.ones((6, 1), np.int64)
    >>> shared.append(np.arange(6), np.zeros(6, np.int32), {ADD_INTEGERS: ones}, key_count=1)
    >>> for windows, ends, keys, records in shared.evaluate(after=0, until=6):
    ...     print(windows, ends, records[ADD_INTEGERS][:, 0])
    [0 0 1 0] [2 4 5 6] [2 3 5 3]
    """

    def __init__(self, windows: Sequence[Window], operations: Sequence[tuple[Operation, int]]) -> None:
        self._entries = Entries(operations)
        self._structures = {
            operation: shared_structure(operation)(operation, columns) for operation, columns in operations
        }
        self._live = LiveKeys()
        self.set_windows(windows)

    def set_windows(self, windows: Sequence[Window]) -> None:
        """From now on these are the windows; their numbers in an answer are their places here."""
        self.windows = windows
        self._ticks = Ticks(windows)

    @property
    def structure_bytes(self) -> int:
        """How much memory it takes besides the entries themselves."""
        structures = sum(structure.bytes for structure in self._structures.values())
        return structures + self._entries.bytes + self._live.bytes

    @property
    def entries(self) -> int:
        """How many entries are held."""
        return len(self._entries)

    def append(self, starts: Array, keys: Array, records: Records, key_count: int) -> None:
        """Add closed slices, in slice order; key numbers are below `key_count`."""
        self._entries.append(starts, keys, records, key_count)
        self._live.grow(key_count)

    def evaluate(
        self, after: Array | int, until: Array | int, most_answers: int | None = None
    ) -> Iterator[tuple[Array, Array, Array, Records]]:
        """Window numbers, ends, keys and records, some at a time, in ascending order of the ends.

        Window w answers its evaluations e with after[w] < e ≤ until[w]; one number stands for all. At one
        end answers are in order of the windows, those of a window from the key of the latest entry back.
        A window that asks for evaluations before those of the last call, as a new one may, is answered from
        the entries held, which then all enter anew. When all is answered, entries that no evaluation behind
        `until` needs are dropped.
        """
        entries = self._entries
        evaluations = Evaluations(self._ticks, entries.starts, after, until)
        if self._live.pushed > entries.base + entries.before(evaluations.earliest):
            self._rewind()
        for spans in self._live.evaluate(entries, self._ticks, evaluations, most_answers):
            records = {
                operation: structure.answers(entries, spans)
                for operation, structure in self._structures.items()
            }
            yield spans.windows, spans.ends, spans.keys, records
        needed = self._ticks.first_after(until) - self._ticks.ranges
        self.drop_before(int(np.min(needed, initial=NEVER)))

    def drop_before(self, instant: int) -> None:
        """Forget the entries that begin before an instant."""
        rows = self._entries.before(instant)
        self._entries.drop(rows)
        for structure in self._structures.values():
            structure.drop(rows, self._entries.base)

    def held(self) -> tuple[Array, Array, Records]:
        """Starts, keys and records of the entries that are still held."""
        entries = self._entries
        records = {operation: entries.records(operation) for operation in self._structures}
        return entries.starts, entries.keys, records

    def rewrite(self, operation: Operation, column: int, rewrite: Callable[[Array], Array]) -> None:
        """Apply a function to one column of every record held, state included; it must keep their order."""
        held = self._structures[operation].column(column, self._entries.base)
        for values in (self._entries.records(operation)[:, column], *held):
            values[:] = rewrite(values)

    def _rewind(self) -> None:
        self._live.rewind(self._entries.base)
        for structure in self._structures.values():
            structure.rewind(self._entries.base)

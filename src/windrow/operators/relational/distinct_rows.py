"""δ*: of the rows with one value, one that stands for all, and one to follow it.

For each value that is there, a *representative* is held, which has been given, and at most one *spare*: of
the rows that have come since, the one that expires last. When the representative expires, the spare takes its
place and is given in its turn. Whatever would expire before the spare is never needed, and is forgotten as it
comes. So the rows of a value follow each other, and never is more held than twice what is there in the
output.

The paper keeps the youngest as the spare. On weak inputs that is wrong: one that came earlier may expire
later.

An instant goes as a whole: who expires goes first, then of the spare and all that come the one that expires
last becomes representative, if there is none.

State: a row for each value (`HeldValues`), the expirations of its representative and its spare by its code,
and two calendar queues: of when representatives expire, and of when that has to be told because a spare takes
over. At rest: both expirations of each value that a row has changed; that a spare has taken over is seen from
the time.

Time: O(1) a row, amortised, without a look at other values. Space: O(values that are there).
Source: Golab 2006, §3.5.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from windrow.columns import BEGINNING, SLICE
from windrow.machine_code import compiled
from windrow.operators.aggregate.record_layout import one_chunk
from windrow.operators.relational.changes import Changes
from windrow.operators.relational.held_values import HeldValues
from windrow.operators.state.calendar_queue import CalendarQueue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from windrow.logical.tree import Distinct

    Array = np.ndarray[Any, Any]

LIVE, EXP, SPARE_LIVE, SPARE_EXP, TOUCHED, GIVEN = range(6)
"""What is known of a value: when its representative and its spare expire, whether that has changed since the
last log, and, as a place in what is given by an advance, which row was given last."""
NONE = BEGINNING
"""The expiration of a representative or a spare that there is not."""
AT_REST = {
    LIVE: "_windrow_live",
    EXP: "_windrow_exp",
    SPARE_LIVE: "_windrow_spare_live",
    SPARE_EXP: "_windrow_spare_exp",
}
"""What of that is at rest, and the columns that it is in, beside those of the value."""
VALUES = "values"
"""The table at rest."""


class DistinctRows:
    """The running state of a `Distinct`."""

    def __init__(self, node: Distinct) -> None:
        self._names = list(node.types)
        self._values = HeldValues(node.types, node.names)
        self._state = _unknown(0)
        self._spares = 0
        self._ends, self._takeovers = CalendarQueue(), CalendarQueue()
        """The codes of all values by when their representatives expire, and of those that have a spare."""
        self._touched: list[Array] = []
        """The codes of the values that rows have changed since the last log."""

    @property
    def entries(self) -> int:
        """How many representatives and spares it holds."""
        return len(self._values) + self._spares

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        return self._values.bytes + self._state.nbytes + self._ends.bytes + self._takeovers.bytes

    def advance(self, inputs: Sequence[Changes], until: int) -> Changes:
        """The representatives that come before an instant."""
        (changes,) = inputs
        codes = self._values.take(changes.rows, len(changes))
        self._make_room()
        _, due = self._ends.pop(until)
        self._takeovers.pop(until)
        instants = (changes.ts, changes.live, changes.exp)
        given, followed, touched, released, spares = _advance(codes, *instants, due, until, self._state)
        self._spares += spares
        self._touched.append(touched)
        self._ends.push(*_still_to_come(given[:, 2], given[:, 0], until))
        self._takeovers.push(*_still_to_come(followed[:, 1], followed[:, 0], until))
        given = given[np.argsort(given[:, 1], kind="stable")]
        rows = self._values.rows(given[:, 0])
        self._values.let_go(released)
        return Changes(given[:, 1].copy(), given[:, 2].copy(), given[:, 3].copy(), rows)

    def next_change(self) -> int:
        """When the next spare takes over."""
        return self._takeovers.next()

    def log(self) -> Mapping[str, pa.Table]:
        """The values whose representative or spare is another than at the last call."""
        codes = np.concatenate([*self._touched, np.empty(0, np.int64)])
        self._touched.clear()
        self._state[codes, TOUCHED] = 0
        codes = codes[self._state[codes, LIVE] != NONE]
        if not len(codes):
            return {}
        state = self._state[codes]
        needed = pa.array(np.maximum(state[:, LIVE], state[:, SPARE_LIVE]))
        table = self._values.rows(codes).append_column(SLICE, needed)
        for column, name in AT_REST.items():
            is_none = state[:, SPARE_LIVE] == NONE if column in (SPARE_LIVE, SPARE_EXP) else None
            table = table.append_column(name, pa.array(state[:, column], mask=is_none))
        return {VALUES: table}

    def restore(self, logged: Mapping[str, Sequence[pa.Table]], evaluated: int) -> None:
        """Go on from what was logged of each value last."""
        if not logged.get(VALUES):
            return
        table = pa.concat_tables(logged[VALUES])
        table = table.filter(pa.array(_numbers(table, SLICE) >= evaluated)).combine_chunks()
        codes = self._values.take(table.select(self._names), len(table))
        self._make_room()
        held, from_end = np.unique(codes[::-1], return_index=True)
        last = len(codes) - 1 - from_end
        for column, name in AT_REST.items():
            self._state[held, column] = _numbers(table, name)[last]
        self._values.let_go(np.delete(codes, last))
        # Those that had expired before have been followed by their spares.
        over = held[self._state[held, LIVE] < evaluated]
        self._state[over, LIVE : EXP + 1] = self._state[over, SPARE_LIVE : SPARE_EXP + 1]
        self._state[over, SPARE_LIVE] = NONE
        followed = held[self._state[held, SPARE_LIVE] != NONE]
        self._spares = len(followed)
        self._ends.push(self._state[held, LIVE], held)
        self._takeovers.push(self._state[followed, LIVE], followed)

    def _make_room(self) -> None:
        """Know of all codes that there are."""
        missing = self._values.capacity - len(self._state)
        if missing > 0:
            self._state = np.concatenate([self._state, _unknown(len(self._state) + missing)])


def _unknown(codes: int) -> Array:
    """What is known of values that are not there."""
    state = np.zeros((codes, 6), np.int64)
    state[:, [LIVE, SPARE_LIVE]] = NONE
    return state


def _still_to_come(instants: Array, codes: Array, until: int) -> tuple[Array, Array]:
    """The instants that are not over yet, with their codes."""
    to_come = instants >= until
    return instants[to_come], codes[to_come]


def _numbers(table: pa.Table, name: str) -> Array:
    return np.asarray(one_chunk(table, name).fill_null(NONE).to_numpy())


def _advance_all(
    codes: Array, ts: Array, live: Array, exp: Array, due: Array, until: int, state: Array
) -> tuple[Array, Array, Array, Array, int]:
    """Take in rows, in the order of their instants, and let representatives expire that do so before `until`:
    they are of the values in `due`, or have come just now.

    A value is looked at where a row meets it. Has its representative expired by then, the spare takes over at
    the instant at which that was, and only then comes the row: no other value has to do with it.

    Returns, in no order:

    1. what is given: code, ts, live, exp;
    2. the values that have a spare and had none: code, and when their representative expires;
    3. the codes of the values that rows have changed;
    4. the codes that are held once less: those of rows that are forgotten, and of values that are over;
    5. how many more spares there are.
    """
    given = np.empty((2 * len(codes) + len(due), 4), np.int64)
    followed = np.empty((len(codes), 2), np.int64)
    touched = np.empty(len(codes), np.int64)
    released = np.empty(2 * len(codes) + len(due), np.int64)
    gives = follows = touches = releases = spares = 0
    for row in range(len(codes)):
        code, instant = codes[row], ts[row]
        if live[row] <= instant:
            released[releases] = code
            releases += 1
            continue
        if state[code, LIVE] != NONE:  # otherwise the row's hold is the value's from now on
            released[releases] = code
            releases += 1
        if state[code, LIVE] <= instant and state[code, SPARE_LIVE] > state[code, LIVE]:
            _take_over(code, state, given, gives)
            gives += 1
            spares -= 1
        last = state[code, GIVEN]
        is_touched = True
        if state[code, LIVE] <= instant:
            given[gives, 0], given[gives, 1] = code, instant
            given[gives, 2], given[gives, 3] = live[row], exp[row]
            state[code, LIVE], state[code, EXP], state[code, GIVEN] = live[row], exp[row], gives
            gives += 1
        elif live[row] <= max(state[code, LIVE], state[code, SPARE_LIVE]):
            is_touched = False
        elif last < gives and given[last, 0] == code and given[last, 1] == instant:
            # The representative has come at this very instant, of which the row that expires last is given.
            given[last, 2], given[last, 3] = live[row], exp[row]
            state[code, LIVE], state[code, EXP] = live[row], exp[row]
        else:
            if state[code, SPARE_LIVE] == NONE:
                followed[follows, 0], followed[follows, 1] = code, state[code, LIVE]
                follows += 1
                spares += 1
            state[code, SPARE_LIVE], state[code, SPARE_EXP] = live[row], exp[row]
        if is_touched and not state[code, TOUCHED]:
            state[code, TOUCHED] = 1
            touched[touches] = code
            touches += 1
    came = gives  # whatever is given from here on has been looked at when it is
    for place in range(len(due) + came):
        code = due[place] if place < len(due) else given[place - len(due), 0]
        if state[code, LIVE] < until and state[code, SPARE_LIVE] > state[code, LIVE]:
            _take_over(code, state, given, gives)
            gives += 1
            spares -= 1
        if state[code, LIVE] != NONE and state[code, LIVE] < until:
            state[code, LIVE] = NONE
            released[releases] = code
            releases += 1
    return given[:gives], followed[:follows], touched[:touches], released[:releases], spares


def _take_over_from(code: int, state: Array, given: Array, place: int) -> None:
    """The spare of a value becomes its representative, and is given."""
    given[place, 0], given[place, 1] = code, state[code, LIVE]
    given[place, 2], given[place, 3] = state[code, SPARE_LIVE], state[code, SPARE_EXP]
    state[code, LIVE], state[code, EXP] = state[code, SPARE_LIVE], state[code, SPARE_EXP]
    state[code, SPARE_LIVE], state[code, GIVEN] = NONE, place


_take_over = compiled(_take_over_from, inline="always")
_advance = compiled(_advance_all, nogil=True)

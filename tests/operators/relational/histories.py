"""Random histories of rows, each with its end, and operators that play them: cut into steps anywhere, and
restored from what they have logged at any of the cuts."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st

from windrow.columns import BEGINNING, END_OF_TIME, SLICE
from windrow.logical.tree import Column, Rows
from windrow.operators.relational.changes import Changes

NAN = float("nan")
VALUES = [(1.0, "a"), (1.0, None), (-0.0, "a"), (0.0, "a"), (NAN, "b"), (None, None), (None, "b"), (2.5, "")]
TYPES = {"x": pa.float64(), "y": pa.string()}
LEAF = Rows(0, "s", (Column("x", pa.float64()), Column("y", pa.string())), None)
"""What stands below the node that is tested."""


@dataclass(frozen=True)
class Row:
    """A row that comes, and when it ends."""

    ts: int
    live: int
    exp: int
    value: tuple[Any, ...]
    op: int = 1


def plain(value):
    """A value as it is told apart from others: NULL, NaN and zeros are equal to themselves."""
    return tuple("NaN" if one != one else one + 0.0 if isinstance(one, float) else one for one in value)


def instants(first=-12, last=12):
    return st.integers(first, last)


@st.composite
def histories(draw, lifetimes, most=40):
    """Rows in order of time, of few values or many, which live as long as `lifetimes` say."""
    values = draw(st.sampled_from([VALUES[:1], VALUES[2:4], VALUES[:4], VALUES]))
    rows = []
    for ts in sorted(draw(st.lists(instants(), min_size=most // 8, max_size=most))):
        lifetime = draw(lifetimes)
        live = END_OF_TIME if lifetime is None else ts + lifetime
        rows.append(Row(ts, live, live, draw(st.sampled_from(values))))
    return rows


LIFETIMES = st.one_of(st.integers(0, 15), st.integers(3, 3), st.sampled_from([10, 20, None]))
"""From none at all, which no row has that has come through a window, to for ever."""


@dataclass(frozen=True)
class Cut:
    """Where a history is cut, and whether the operator is restored there, by whom all is read or what is needed."""

    until: int
    restored: bool = False
    drops: bool = False


cut = st.builds(Cut, instants(-14, 30), st.booleans(), st.booleans())
cuts = st.one_of(st.lists(cut, min_size=some, max_size=some) for some in (0, 1, 3, 20))


def changes_of(rows, types=TYPES):
    columns = list(zip(*(row.value for row in rows), strict=True)) or [[] for _ in types]
    arrays = [pa.array(column, of_type) for column, of_type in zip(columns, types.values(), strict=True)]
    numbers = (np.array([getattr(row, name) for row in rows], np.int64) for name in ("ts", "live", "exp"))
    op = np.array([row.op for row in rows], np.int8)
    return Changes(*numbers, pa.table(arrays, list(types)), None if np.all(op == 1) else op)


def rows_of(changes):
    columns = [column.to_pylist() for column in changes.rows.columns]
    values = map(plain, zip(*columns, strict=True))
    op = np.ones(len(changes), np.int8) if changes.op is None else changes.op
    told = (changes.ts.tolist(), changes.live.tolist(), changes.exp.tolist(), values, op.tolist())
    return [Row(*row) for row in zip(*told, strict=True)]


def play(make, rows, cuts=(), watch=None):
    """What an operator gives for a history, as a multiset, cut where `cuts` say; `watch` sees it at each cut."""
    operator, logged, evaluated, given = make(), defaultdict(list), BEGINNING, []
    is_strict = any(row.op < 0 for row in rows)
    for cut in [*sorted(cuts, key=lambda cut: cut.until), Cut(END_OF_TIME)]:
        due = [row for row in rows if evaluated <= row.ts < cut.until]
        changes_by_itself = operator.next_change()
        out = rows_of(operator.advance([changes_of(due)], cut.until))
        assert all(evaluated <= row.ts < cut.until for row in out)
        assert sorted(row.ts for row in out) == [row.ts for row in out]
        if out and not due:  # a row that was taken back leaves its end behind, at which nothing happens
            assert changes_by_itself == out[0].ts or (is_strict and changes_by_itself < out[0].ts)
        given += out
        evaluated = max(evaluated, cut.until)
        for name, table in operator.log().items():
            logged[name].append(table)
        assert evaluated == END_OF_TIME or operator.next_change() >= evaluated
        if watch is not None:
            watch(operator, evaluated, given)
        if cut.restored:
            if cut.drops:
                logged = {name: [needed(table, evaluated) for table in of] for name, of in logged.items()}
                logged = defaultdict(list, logged)
            before, operator = operator, make()
            operator.restore(logged, evaluated)
            assert (operator.entries, operator.next_change()) == (before.entries, before.next_change())
    return Counter(given)


def needed(table, evaluated):
    return table.filter(pc.greater_equal(table[SLICE], evaluated))

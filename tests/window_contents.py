"""The answers of any query, recomputed by DuckDB over what its windows contain at an instant.

That is the definition (DESIGN §2, and Golab 2006, Definition 3.1): at τ, `s [RANGE r]` is the table of the rows
with ts <= τ < ts + r, and what stands around it is SQL. So a statement becomes DuckDB's by writing, in place of
each window, the SELECT of those rows; nothing else of it is looked at. An evaluation at e is the answer at the
last instant before e. All instants that are asked about are answered by one lateral join, in milliseconds.

What is Windrow's own is written `{if any}`: an aggregate without GROUP BY has no row while its input is empty.
Event times are integers here, microseconds; of floats, NaN equals NaN and -0.0 equals 0.0.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict, deque
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.types as pat

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Row = tuple[Any, ...]

MICROSECONDS = {"US": 1, "MS": 1_000, "SECOND": 1_000_000, "MINUTE": 60_000_000, "HOUR": 3_600_000_000}
_SIZE = r"(\d+) (US|MS|SECOND|MINUTE|HOUR)S?"
_WINDOW = re.compile(
    rf"(?P<stream>\w+) \[(?:RANGE (?P<range>{_SIZE})|(?P<word>NOW|UNBOUNDED))"
    rf"(?: SLIDE (?P<slide>{_SIZE}))?(?: OFFSET (?P<offset>{_SIZE}))?(?P<internal> INTERNAL)?\]"
    r"(?: (?:AS )?(?P<alias>\w+))?"
)
_NO_ALIAS = frozenset(
    ["WHERE", "GROUP", "HAVING", "JOIN", "INNER", "LEFT", "SEMI", "ON", "USING", "UNION", "INTERSECT"]
)
_DELIVERY = re.compile(r"\b([RID])STREAM(?:\((.*?)\)| (?=.))")


@dataclass(frozen=True)
class ScannedWindow:
    """A window in a statement, in microseconds; a range of None is UNBOUNDED."""

    stream: str
    alias: str
    range: int | None
    slide: int | None
    offset: int
    internal: bool


@dataclass(frozen=True)
class Asked:
    """A statement, for Windrow and for DuckDB.

    >>> Asked("SELECT COUNT(*) AS n FROM s [RANGE 5 SECONDS] {if any}").cql
    'SELECT COUNT(*) AS n FROM s [RANGE 5 SECONDS]'
    """

    text: str

    @property
    def cql(self) -> str:
        """The statement as Windrow is asked it."""
        return self.text.replace(" {if any}", "")

    @cached_property
    def windows(self) -> list[ScannedWindow]:
        """Its windows, in the order of the text."""
        return [_scanned(match) for match in _WINDOW.finditer(self.text)]

    @property
    def delivery(self) -> str:
        """R, I or D."""
        found = _DELIVERY.search(self.text)
        return "R" if found is None else found[1]

    @property
    def slide(self) -> tuple[int, int] | None:
        """The time between evaluations, and their offset; None: it is continuous."""
        one = self.windows[0]
        return None if one.slide is None else (one.slide, one.offset)

    @property
    def takes_back(self) -> bool:
        """Whether its changes may be taken back: it groups, at every change."""
        calls = re.search(r"\b(COUNT|SUM|MIN|MAX|AVG)\(|GROUP BY", self.text) is not None
        return calls and self.slide is None and not self.windows[0].internal

    def sql(self, at: str, columns: str = "*") -> str:
        """The statement as DuckDB is asked it, over these columns of what the windows hold at an instant."""

        def contents(match: re.Match[str]) -> str:
            window = _scanned(match)
            left = "" if window.range is None else f" AND {at} < ts + {window.range}"
            word = f" {match['alias']}" if (match["alias"] or "").upper() in _NO_ALIAS else ""
            return f"(SELECT {columns} FROM {window.stream} WHERE ts <= {at}{left}) AS {window.alias}{word}"

        plain = _DELIVERY.sub(lambda match: match[2] or "", self.text)
        plain = plain.replace("{if any}", "HAVING COUNT(*) > 0").replace("LEFT SEMI", "SEMI")
        return _WINDOW.sub(contents, plain)

    def __str__(self) -> str:
        return self.cql


def _scanned(match: re.Match[str]) -> ScannedWindow:
    alias = match["alias"]
    if alias is None or alias.upper() in _NO_ALIAS:
        alias = match["stream"]
    length = {"NOW": 1, "UNBOUNDED": None}[match["word"]] if match["word"] else microseconds(match["range"])
    slide = None if match["slide"] is None else microseconds(match["slide"])
    offset = 0 if match["offset"] is None else microseconds(match["offset"])
    return ScannedWindow(match["stream"], alias, length, slide, offset, match["internal"] is not None)


def microseconds(size: str) -> int:
    """How long a duration of one number is.

    >>> microseconds("5 SECONDS")
    5000000
    """
    number, unit = size.split()
    return int(number) * MICROSECONDS[unit.removesuffix("S") if unit not in MICROSECONDS else unit]


class WindowContents:
    """Streams, in DuckDB: a table of all their rows each, with the event time in `ts`."""

    def __init__(self, streams: Mapping[str, pa.Table]) -> None:
        self._database = duckdb.connect()
        self._database.sql("SET threads = 1")
        self._times: dict[str, list[int]] = {}
        for name, table in streams.items():
            rows = with_whole_times(table)
            self._times[name] = sorted(set(rows["ts"].to_pylist()))
            self._database.register("_given", rows)
            self._database.sql(f"CREATE TABLE {name} AS SELECT * FROM _given")

    def at_instants(
        self, asked: Asked, instants: Iterable[int], columns: str = "*"
    ) -> dict[int, Counter[Row]]:
        """The answer at each of some instants, as a multiset of rows."""
        answers: dict[int, Counter[Row]] = {at: Counter() for at in instants}
        self._database.register("_instants", pa.table({"at": pa.array(sorted(answers), pa.int64())}))
        sql = asked.sql("_asked.at", columns)
        found = self._database.sql(
            f"SELECT _asked.at, answer.* FROM _instants AS _asked, LATERAL ({sql}) AS answer"
        )
        for at, *row in found.fetchall():
            answers[at][comparable(row)] += 1
        return answers

    def changes_at(self, asked: Asked) -> list[int]:
        """The instants at which the contents of a window change: each ts, and each ts + r."""
        instants = set()
        for window in asked.windows:
            times = self._times[window.stream]
            instants.update(times)
            instants.update(ts + window.range for ts in times if window.range is not None)
        return sorted(instants)

    def answers(self, asked: Asked) -> dict[int, Counter[Row]]:
        """The answers at all instants at which they can change, and 1 µs around them."""
        return self.at_instants(asked, {c + d for c in self.changes_at(asked) for d in (-1, 0, 1)})

    def evaluations(self, asked: Asked) -> dict[int, Counter[Row]]:
        """The answer of each evaluation of windows with SLIDE, from one before the first row to one after the
        last has left: there, nothing is in a window."""
        assert asked.slide is not None
        slide, offset = asked.slide
        instants = self.changes_at(asked)
        first, last = ((instants[place] - offset) // slide for place in (0, -1))
        ends = [number * slide + offset for number in range(first, last + 3)]
        answers = self.at_instants(asked, [end - 1 for end in ends])
        return {end: answers[end - 1] for end in ends}

    def differences(self, asked: Asked) -> dict[str, dict[int, Counter[Row]]]:
        """What is new (I) and what is gone (D), by value: at each evaluation, or else at each instant."""
        if asked.slide is not None:
            answers = self.evaluations(asked)
        else:
            instants = self.changes_at(asked)
            answers = self.at_instants(asked, [instants[0] - 1, *instants])
        new, gone = {}, {}
        for before, after in pairwise(answers):
            new[after] = answers[after] - answers[before]
            gone[after] = answers[before] - answers[after]
        return {"I": new, "D": gone}

    def lifetimes(self, asked: Asked) -> Counter[tuple[int, int | None, Row]]:
        """Of a SELECT over windows and nothing else: when each combination of their rows comes, when it ends, by
        the windows that are not INTERNAL (None: never), and its values.

        A combination is there from the first to the last of the instants at which DuckDB has it.
        """
        numbers = "".join(f", {window.alias}._row, {window.alias}.ts" for window in asked.windows)
        tagged = Asked(asked.text.replace(" FROM ", f"{numbers} FROM ", 1))
        comes: dict[Row, int] = {}
        for at, rows in self.at_instants(tagged, self.changes_at(asked), "*, rowid AS _row").items():
            for row in rows:
                comes.setdefault(row, at)
        found: Counter[tuple[int, int | None, Row]] = Counter()
        for row, at in comes.items():
            width = len(row) - 2 * len(asked.windows)
            ends = [
                ts + window.range
                for window, ts in zip(asked.windows, row[width + 1 :: 2], strict=True)
                if window.range is not None and not window.internal
            ]
            found[at, min(ends, default=None), row[:width]] += 1
        return found


# what Windrow has answered


@dataclass(frozen=True)
class Change:
    """A row of a change stream."""

    op: int
    ts: int
    exp: int | None
    row: Row

    @classmethod
    def of(cls, results: pa.Table) -> list[Change]:
        """The changes in a table of results."""
        own = ["_op", "_ts", "_exp"]
        rows = with_whole_times(results)
        columns = [rows[n].to_pylist() for n in [*own, *(n for n in rows.column_names if n not in own)]]
        return [cls(op, ts, exp, tuple(row)) for op, ts, exp, *row in zip(*columns, strict=True)]


def states(changes: Iterable[Change], instants: Iterable[int]) -> dict[int, Counter[Row]]:
    """The answers that changes amount to: rows with _ts <= τ < _exp, summed by _op."""
    comes: dict[int, list[tuple[Row, int]]] = defaultdict(list)
    for change in changes:
        row = comparable(change.row)
        comes[change.ts].append((row, change.op))
        if change.exp is not None:
            comes[max(change.exp, change.ts)].append((row, -change.op))
    state: Counter[Row] = Counter()
    found: dict[int, Counter[Row]] = {}
    times = deque(sorted(comes))
    for at in sorted(instants):
        while times and times[0] <= at:
            for row, op in comes[times.popleft()]:
                state[row] += op
        assert min(state.values(), default=0) >= 0, f"more is taken back than was there at {at}: {state}"
        state = +state
        found[at] = state.copy()
    return found


def check_takings_back(changes: Sequence[Change], may: bool) -> None:
    """See that what is taken back was there before, to the bit, and that nothing comes and goes at one instant."""
    there: Counter[str] = Counter()
    by_instant = defaultdict(list)
    for change in changes:
        assert change.exp is None or change.ts < change.exp, f"ends before it comes: {change}"
        assert change.op == 1 or (may and change.op == -1), f"taken back: {change}"
        by_instant[change.ts].append(change)
    for at in sorted(by_instant):
        gone = Counter(repr((one.exp, one.row)) for one in by_instant[at] if one.op < 0)
        new = Counter(repr((one.exp, one.row)) for one in by_instant[at] if one.op > 0)
        assert not gone & new, f"comes and goes at {at}: {gone & new}"
        assert gone <= there, f"taken back at {at}, and never given: {gone - there}"
        there = there - gone + new


def timed(results: pa.Table, name: str) -> dict[int, Counter[Row]]:
    """Results by their time, which is the column of that name; the start of a window is left out."""
    rows = with_whole_times(results)
    if "window_start" in rows.column_names:
        rows = rows.drop_columns(["window_start"])
    times = rows[name].to_pylist()
    rows = rows.drop_columns([name])
    found: dict[int, Counter[Row]] = defaultdict(Counter)
    for at, *row in zip(times, *(rows[column].to_pylist() for column in rows.column_names), strict=True):
        found[at][comparable(row)] += 1
    return found


def without_empty(answers: Mapping[int, Counter[Row]]) -> dict[int, Counter[Row]]:
    """The instants at which there is something."""
    return {at: rows for at, rows in answers.items() if rows}


def with_whole_times(table: pa.Table) -> pa.Table:
    """A table with integers in place of its timestamps, in microseconds."""
    for place, field in enumerate(table.schema):
        if pat.is_timestamp(field.type):
            whole = table[field.name].cast(pa.timestamp("us", field.type.tz)).cast(pa.int64())
            table = table.set_column(place, field.name, whole)
    return table


def comparable(row: Iterable[Any]) -> Row:
    """A row that equals each that has the same values."""
    return tuple("NaN" if isinstance(v, float) and math.isnan(v) else 0.0 if v == 0 else v for v in row)

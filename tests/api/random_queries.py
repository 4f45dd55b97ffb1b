"""Random streams, random cuts of them into micro-batches, and random statements over their windows.

A number draws them all. Floats are multiples of 1/4, so that their sums are exact in any order; windows hold a few
rows, so that joins have few results and many instants at which something happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from tests.window_contents import Asked

if TYPE_CHECKING:
    from random import Random

HALF_SECOND = 500_000
DELAY = 5
"""By how many seconds rows may come out of order."""
SCHEMA = pa.schema(
    {"ts": pa.timestamp("us", "UTC"), "k": pa.string(), "i": pa.int32(), "x": pa.float64(), "n": pa.int64()}
)
VALUES = {
    "k": ["p", "q", "r", None],
    "i": [0, 1, 2, 3, None],
    "x": [0.0, -0.0, 0.25, -1.5, 3.75, float("nan"), None],
    "n": [-2, 0, 1, 2, 5, None],
}
RANGES = [*(f"RANGE {n} SECONDS" for n in (2, 3, 5, 8, 12, 20)), "RANGE 3500 MS"]
SLIDES = [
    "SLIDE 2 SECONDS",
    "SLIDE 5 SECONDS",
    "SLIDE 3500 MS OFFSET 500 MS",
    "SLIDE 9 SECONDS OFFSET 1 SECOND",
]


def random_streams(random: Random) -> dict[str, pa.Table]:
    """Two streams, `a` and `b`, in the order in which their rows come: never later than the delay allows."""
    base = random.choice([0, -1_000_000_000, 1_700_000_000]) * 2 * HALF_SECOND
    return {name: _rows(random, base, random.choice([5, 20, 30, 30, 40])) for name in "ab"}


def _rows(random: Random, base: int, count: int) -> pa.Table:
    rows = []
    for _ in range(count):
        at = base + random.randint(-20, 40) * HALF_SECOND + random.choice([0, 0, 0, 0, 1, -1])
        rows.append({"ts": at} | {name: random.choice(values) for name, values in VALUES.items()})
    rows.sort(key=lambda row: row["ts"] + random.randrange(DELAY * 2 * HALF_SECOND))
    return pa.Table.from_pylist(rows, SCHEMA)


def random_cuts(random: Random, streams: dict[str, pa.Table], most: int) -> list[dict[str, pa.Table]]:
    """What comes of each stream in each of a few epochs; of some streams nothing comes in some."""
    count = random.randint(2, most)
    epochs: list[dict[str, pa.Table]] = [{} for _ in range(count)]
    for name, rows in streams.items():
        places = sorted(random.randint(0, len(rows)) for _ in range(count - 1))
        for epoch, first, last in zip(epochs, [0, *places], [*places, len(rows)], strict=True):
            if first < last:
                epoch[name] = rows.slice(first, last - first)
    return [epoch for epoch in epochs if epoch]


@dataclass(frozen=True)
class Source:
    """Something behind FROM: its columns by name, with the column of a stream whose values they are like."""

    sql: str
    alias: str
    columns: dict[str, str]

    def like(self, kind: str) -> list[str]:
        """Its columns of a kind."""
        return [f"{self.alias}.{name}" for name, of in self.columns.items() if of == kind]


class Writer:
    """Writes one statement: all its windows slide alike, or none does."""

    def __init__(self, random: Random, slide: str | None) -> None:
        self.random, self.slide = random, slide
        self.named = 0
        self.scans = random.choice([1, 2, 2, 2, 3, 3])
        """How many windows it may still read."""
        self.nests = False
        """Whether there are sub-queries in FROM; no window is endless then, for a join might be above it."""

    def name(self) -> str:
        self.named += 1
        return f"t{self.named}"

    def window(self, long: bool, more: str = "") -> str:
        self.scans -= 1
        others = [] if self.slide else ["NOW"]  # no evaluation is of the very instant of a row
        others += (["RANGE 1 MINUTE"] if self.slide else ["RANGE 1 MINUTE", "UNBOUNDED"]) if long else []
        size = self.random.choice(RANGES + others)
        clauses = [size, *([self.slide] if self.slide else []), *([more] if more else [])]
        return f"{self.random.choice('ab')} [{' '.join(clauses)}]"

    def scan(self, long: bool = False) -> Source:
        alias = self.name()
        return Source(f"{self.window(long)} {alias}", alias, {name: name for name in VALUES})

    def source(self, depth: int) -> Source:
        if depth == 0 or self.random.random() < 0.6:
            return self.scan()
        kinds = ["rows", "distinct", "set"] + ["group"] * 3 * (self.slide is not None)
        sql, columns = self.query(self.random.choice(kinds), depth - 1)
        alias = self.name()
        return Source(f"({sql}) {alias}", alias, columns)

    def query(self, kind: str, depth: int, delivery: str = "") -> tuple[str, dict[str, str]]:
        """A query of a kind: rows, distinct, set (operations), group; and its columns."""
        if kind == "set":
            return self.set_operation(delivery)
        sources, clause = self.clauses(depth)
        if kind == "group":
            return self.group(sources, clause, delivery)
        items = self.items(sources)
        listed = ", ".join(f"{sql} AS c{place}" for place, (sql, _) in enumerate(items))
        distinct = "DISTINCT " if kind == "distinct" else ""
        columns = {f"c{place}": of for place, (_, of) in enumerate(items)}
        return f"SELECT {delivery}{distinct}{listed} {clause}", columns

    def clauses(self, depth: int) -> tuple[list[Source], str]:
        """FROM and WHERE, and what can be selected."""
        random = self.random
        joins = self.scans > 1 and random.random() < 0.7
        matches = self.scans > 1 and random.random() < (0.2 if joins else 0.6)
        long = not (joins or matches or self.nests)
        first = self.scan(long=True) if long else self.source(depth)
        sources, clause, conditions = [first], f"FROM {first.sql}", []
        commas = random.random() < 0.5
        while joins and self.scans > matches and (len(sources) == 1 or random.random() < 0.6):
            other = self.source(depth)
            on = self.pairing(sources, other)
            sources.append(other)
            clause += f", {other.sql}" if commas else f" JOIN {other.sql} ON {' AND '.join(on)}"
            conditions += on if commas else []
        if random.random() < 0.35:
            conditions.append(self.predicate(random.choice(sources)))
        if matches and self.scans > 0:
            conditions.append(self.match(sources))
        return sources, clause + (f" WHERE {' AND '.join(conditions)}" if conditions else "")

    def pairing(self, sources: list[Source], other: Source) -> list[str]:
        """What pairs rows of some sources with those of another: mostly a column of each, perhaps more."""
        random = self.random
        equal = [(one, two) for of in VALUES for s in sources for one in s.like(of) for two in other.like(of)]
        compared = [
            (one, two) for s in sources for one in s.like("n") + s.like("i") for two in other.like("n")
        ]
        chosen = random.sample(equal, min(len(equal), random.choice([0, 1, 1, 1, 1, 2])))
        conditions = [f"{one} = {two}" for one, two in chosen]
        compared = [pair for pair in compared if pair not in chosen]
        if compared and (not conditions or random.random() < 0.3):
            conditions.append(f"{' < '.join(random.choice(compared))}")
        return conditions or ["1 = 1"]

    def predicate(self, source: Source) -> str:
        """A condition on one source."""
        name, of = self.random.choice(list(source.columns.items()))
        column = f"{source.alias}.{name}"
        tests = {
            "k": [f"{column} <> 'p'", f"{column} IS NOT NULL", f"{column} IN ('p', 'q')"],
            "x": [f"{column} > 0", f"{column} IS NULL OR {column} < 1"],
        }
        return f"({self.random.choice(tests.get(of, [f'{column} > 0', f'{column} + 1 < 3']))})"

    def match(self, sources: list[Source]) -> str:
        """EXISTS or IN, over one more window."""
        random, other = self.random, self.scan()
        one = random.choice(sources)
        of = random.choice(list(one.columns.values()))
        (mine, theirs) = random.choice(one.like(of)), f"{other.alias}.{of}"
        further = f" AND {other.alias}.n < {random.choice(one.like('n'))}" if one.like("n") else ""
        further = further if random.random() < 0.4 else ""
        own = f" AND {self.predicate(other)}" if random.random() < 0.3 else ""
        if random.random() < 0.6:
            return f"EXISTS (SELECT 1 FROM {other.sql} WHERE {theirs} = {mine}{further}{own})"
        where = (further + own).removeprefix(" AND ")
        return f"{mine} IN (SELECT {theirs} FROM {other.sql}{f' WHERE {where}' if where else ''})"

    def items(self, sources: list[Source]) -> list[tuple[str, str]]:
        """One to three columns or expressions, and what their values are like."""
        random = self.random
        every = [(f"{s.alias}.{name}", of) for s in sources for name, of in s.columns.items()]
        items = random.sample(every, min(len(every), random.randint(1, 3)))
        numbers = [column for column, of in every if of in "ni"]
        if numbers and random.random() < 0.4:
            items.append((f"{random.choice(numbers)} * 2 + {random.choice(numbers)}", "n"))
        return items

    def group(self, sources: list[Source], clause: str, delivery: str) -> tuple[str, dict[str, str]]:
        """Aggregates of rows, with keys or without."""
        random = self.random
        every = [(f"{s.alias}.{name}", of) for s in sources for name, of in s.columns.items()]
        keys = random.sample(every, min(len(every), random.choice([0, 1, 1, 2])))
        calls = [("COUNT(*)", "n")]
        for column, of in every:
            calls += [(f"MIN({column})", of), (f"MAX({column})", of), (f"COUNT(DISTINCT {column})", "n")]
            if of in VALUES and of != "k":
                calls += [(f"SUM({column})", of if of == "x" else "n"), (f"AVG({column})", "mean")]
        items = keys + random.sample(calls, random.randint(1, 3))
        having = ""
        if random.random() < 0.3:
            having = f" HAVING {random.choice(['COUNT(*) > 1', f'COUNT({random.choice(every)[0]}) > 1'])}"
        elif not keys:
            having = " {if any}"
        by = f" GROUP BY {', '.join(column for column, _ in keys)}" if keys else ""
        listed = ", ".join(f"{sql} AS c{place}" for place, (sql, _) in enumerate(items))
        columns = {f"c{place}": of for place, (_, of) in enumerate(items)}
        return f"SELECT {delivery}{listed} {clause}{by}{having}", columns

    def set_operation(self, delivery: str) -> tuple[str, dict[str, str]]:
        """A union or an intersection of two queries over a window each."""
        random = self.random
        kinds = random.sample(list(VALUES), random.randint(1, 2))
        word = random.choice(["UNION", "UNION ALL", "INTERSECT"])
        sides = []
        for _ in range(2):
            source = self.scan(long=word != "INTERSECT" and not self.nests)
            listed = ", ".join(f"{source.alias}.{of} AS c{place}" for place, of in enumerate(kinds))
            where = f" WHERE {self.predicate(source)}" if random.random() < 0.3 else ""
            sides.append(f"SELECT {listed} FROM {source.sql}{where}")
        sql, columns = f" {word} ".join(sides), {f"c{place}": of for place, of in enumerate(kinds)}
        if delivery:
            sql = f"SELECT {delivery}* FROM ({sql}) {self.name()}"
        return sql, columns


def random_statement(random: Random) -> Asked:
    """Any statement whose answer at an instant can be put together."""
    writer = Writer(random, random.choice([None, None, None, *SLIDES]))
    kind = random.choice(["rows", "rows", "distinct", "set", "group", "group"])
    delivery = random.choice(["", "", "", "ISTREAM ", "DSTREAM "])
    # Nothing stands below a continuous GROUP BY but what has rows that end at known times: any other kind.
    writer.nests = random.random() < 0.35
    return Asked(writer.query(kind, int(writer.nests), delivery)[0])


def random_join(random: Random) -> Asked:
    """A join of two or three windows, INTERNAL or not, with nothing above it but a projection."""
    slide, count = None, random.choice([2, 2, 3])
    writer = Writer(random, slide)
    sources: list[Source] = []
    conditions: list[str] = []
    for _ in range(count):
        alias = writer.name()
        window = writer.window(False, random.choice(["INTERNAL", "INTERNAL", ""]))
        other = Source(f"{window} {alias}", alias, {name: name for name in VALUES})
        conditions += writer.pairing(sources, other) if sources else []
        sources.append(other)
    listed = ", ".join(f"{sql} AS c{place}" for place, (sql, _) in enumerate(writer.items(sources)))
    joined = ", ".join(source.sql for source in sources)
    return Asked(f"SELECT {listed} FROM {joined} WHERE {' AND '.join(conditions)}")

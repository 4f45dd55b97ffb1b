"""A home whose queries have changes for results, made without Spark: what epochs would have committed."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace

import pyarrow as pa

from tests.harness.on_disk import add_query
from windrow.columns import BEGINNING, END_OF_TIME
from windrow.runtime.home.compaction import Compactor
from windrow.runtime.home.declarations import AnswerKind, declaring_kind
from windrow.runtime.home.home import Home
from windrow.runtime.home.records import (
    Advance,
    Epoch,
    OperatorSize,
    PlanChange,
    Progress,
    StoredMember,
    StoredOperator,
)
from windrow.runtime.home.results import ResultWriter, declaring
from windrow.runtime.home.views import view

SECOND = 1_000_000
INSTANT = pa.timestamp("us", "UTC")
TIMES = [("_op", pa.int8()), ("_ts", INSTANT), ("_exp", INSTANT)]
COLUMNS = [("k", pa.string()), ("x", pa.float64()), ("tags", pa.list_(pa.float64()))]
NO_ROWS = {"_op": [], "_ts": [], "_exp": [], "k": [], "x": [], "tags": []}


def schema_of(kind, columns=(*TIMES, *COLUMNS), time="_ts"):
    """A result schema, as that of a bound query of this kind is."""
    return declaring_kind(declaring(pa.schema(columns), time), kind)


STRICT = schema_of(AnswerKind("changes", pattern="strict"))
MONOTONIC = schema_of(AnswerKind("changes"))


@dataclass(frozen=True)
class Life:
    """A row of an answer: its values, when it comes and goes, and until when it says that it stays."""

    values: tuple
    begins: int
    ends: int | None = None
    """None: never."""
    says: int | None = None

    def changes(self):
        """(what happens, when, until when it says that it stays, the values)."""
        yield 1, self.begins, self.says, *self.values
        if self.ends is not None and self.ends != self.says:
            yield -1, self.ends, self.says, *self.values

    def is_there(self, at):
        return self.begins <= at and (self.ends is None or at < self.ends)


class Changing:
    """A home in which epochs commit the changes of some queries, by number of the query."""

    def __init__(self, path, schema=STRICT, retain=None, queries=("q", "other"), stream="s"):
        self.home = Home(path)
        self._running = ExitStack()
        self._running.enter_context(self.home.running())
        self.stream, self.until, self.epochs = stream, BEGINNING, 0
        self.queries = [
            add_query(self.home.catalog, name, "SELECT …", stream, schema, retain) for name in queries
        ]
        self.latest = dict.fromkeys(self.queries)

    def close(self):
        self._running.close()
        self.home.close()

    def epoch(self, until, *results):
        """Commit an epoch that answers all before an instant: rows of the result schema for each query."""
        written = ResultWriter(self.home.path, self.epochs)
        for query, rows in zip(self.queries, results, strict=True):
            if rows:
                names = [field.name for field in query.schema]
                columns = dict(zip(names, zip(*rows, strict=True), strict=True))
                table = pa.table(
                    [
                        pa.array(columns[field.name], pa.int64()).cast(field.type)
                        if field.type == INSTANT
                        else pa.array(columns[field.name], field.type)
                        for field in query.schema
                    ],
                    schema=query.schema,
                )
                whose = pa.array([query.id] * len(rows), pa.int32())
                written.write(query.schema_id, table.append_column("_query", whose))
                time = names.index("_ts" if "_ts" in names else "window_end")
                known = [self.latest[query], *(row[time] for row in rows)]
                self.latest[query] = max(at for at in known if at is not None)
        epoch = Epoch(self.epochs, float(self.epochs), files=written.close())
        progress = Progress(self.epochs, None if until == END_OF_TIME else until, until)
        epoch.streams[self.stream] = Advance(progress, self.epochs)
        now = {query.id: query for query in self.home.catalog.queries()}
        epoch.queries = [
            replace(now[query.id], started=True, latest_end=self.latest[query]) for query in self.queries
        ]
        members = [StoredMember(query.id, None, BEGINNING, END_OF_TIME) for query in self.queries]
        ports = [(self.stream, "weak")]
        epoch.plan = PlanChange(
            operators=[StoredOperator(1, ports, shared=False, node=None, price=[0, 0, 0], members=members)]
        )
        epoch.sizes = [OperatorSize(1, until, 0, 0, 0)]
        self.home.commit(epoch)
        self.until = until
        self.epochs += 1

    def lives(self, until, *histories):
        """Commit an epoch with what happens to rows before an instant, and has not been committed yet."""
        happens = [
            sorted(
                (change for life in history for change in life.changes()), key=lambda change: change[1::-1]
            )
            for history in histories
        ]
        self.epoch(until, *([c for c in own if self.until <= c[1] < until] for own in happens))

    def compact(self):
        Compactor(self.home, lambda: 1e9 + self.epochs).compact()

    def view(self, at=None, name="q"):
        """The answer of a query, as values with their bits."""
        query = self.home.catalog.query(name)
        return bits(view(self.home.path, self.home.catalog, query, at).answer.to_pylist())


def there(history, at):
    """The answer that rows with these lives are at an instant."""
    names = [name for name, _ in COLUMNS]
    rows = (dict(zip(names, life.values, strict=True)) for life in history if life.is_there(at))
    return bits(rows)


def bits(rows):
    """Rows in an order of their own, so that -0.0 is not 0.0."""
    return sorted(repr(row) for row in rows)

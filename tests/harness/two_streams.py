"""A query over two streams, in the place of those that the language cannot say yet: all rows of both, once the
joint watermark has passed them, each epoch's in the order of their event times.

It needs what any query over several streams needs: a port for each stream, rows that wait at rest, and time
that goes on with the slower stream.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.api.registry import select
from windrow.columns import BEGINNING, QUERY, SLICE, TIME
from windrow.logical import SelectQuery
from windrow.logical.patterns import UpdatePattern
from windrow.logical.query import BoundQuery
from windrow.planner.algorithms import operator_for
from windrow.runtime.home.records import NewQuery
from windrow.runtime.home.results import result_schema
from windrow.runtime.state.queries import RunningQuery


@dataclass(frozen=True, kw_only=True)
class BothQuery(BoundQuery):
    """The rows of two queries without a window, which have the same columns."""

    of: tuple[SelectQuery, SelectQuery]

    @property
    def pattern(self):
        return UpdatePattern.MONOTONIC

    @property
    def time_column(self):
        return TIME

    @property
    def inputs(self):
        return self.of

    @property
    def time_columns(self):
        return {TIME: self.stream.time_type}

    @property
    def shape(self):
        return self.outputs

    def steps(self):
        return ["all rows of both", *(step for one in self.of for step in one.steps())]


class Both:
    """Its operator: holds rows until time has passed them."""

    groups_known = 0

    def __init__(self, query, plan):
        self.query, self.names = query, [output.answer for output in plan.outputs]
        self.time_type = plan.stream.time_type
        self.waiting = None
        self.advanced = 0
        """How often it was asked for answers."""

    @property
    def entries(self):
        return 0 if self.waiting is None else len(self.waiting)

    @property
    def bytes(self):
        return 0 if self.waiting is None else self.waiting.nbytes

    horizon = BEGINNING

    def push(self, tables, port=0):
        for table in tables:
            rows = table.rename_columns([SLICE, *self.names])
            self.waiting = rows if self.waiting is None else pa.concat_tables([self.waiting, rows])

    def advance(self, until):
        if self.waiting is None:
            return
        due = pc.less(self.waiting[SLICE], until)
        rows, self.waiting = self.waiting.filter(due), self.waiting.filter(pc.invert(due))
        if len(rows):
            rows = rows.sort_by(SLICE)
            numbers = pa.array(np.full(len(rows), self.query, np.int32))
            when = rows[SLICE].cast(self.time_type)
            yield 0, rows.drop_columns([SLICE]).append_column(TIME, when).append_column(QUERY, numbers)

    def closes(self, until):
        return self.waiting is not None and pc.any(pc.less(self.waiting[SLICE], until)).as_py() is True

    def closed_slices(self):
        return ()

    def open_slices(self):
        return self.waiting

    def set_members(self, members):
        pass

    def restore(self, closed, open_slices, evaluated):
        self.waiting = open_slices


@operator_for.register(BothQuery)
def _(bound, query, choices, complete_after, around):
    return Both(query, bound)


def query_both(engine, name, left, right):
    """Register such a query over two SELECTs without a window."""
    registry, home = engine._registry, engine._home
    plans = tuple(registry.bound(name, select(sql, None), None).plan for sql in (left, right))
    plan = BothQuery(of=plans, scan=plans[0].scan, enrichments=(), where=None, outputs=plans[0].outputs)
    new = NewQuery(name, f"{left}\n{right}", plan.streams, result_schema(plan))
    with home.changing() as database:
        (stored,) = home.catalog.insert_queries(database, [new])
    registry.queries = registry.queries | {name: RunningQuery(stored, plan)}

"""The operator of a query that slices cannot answer: its tree of operators, and the rows that wait for it.

1. `push`: rows of a port wait until event time has passed them on every stream.
2. `advance`: those that are due go into the leaves, with the instant at which each of them ends; every
   operator of the tree advances, inputs before those who read them.
3. What comes out at the root is delivered: as changes, as evaluations, or as what is new or gone.

At rest: rows that wait, appended once, when they come; and what the operators of the tree log.

Cost: a sort of the rows that wait, and what the operators cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns import BEGINNING, END_OF_TIME, EXPIRES, OP, QUERY, SLICE, TIME, WINDOW_END, WINDOW_START
from windrow.cql import ISTREAM, RSTREAM
from windrow.logical.patterns import UpdatePattern
from windrow.logical.tree import Evaluate, Rows
from windrow.operators.aggregate.record_layout import one_chunk
from windrow.operators.relational.changes import Changes
from windrow.operators.relational.differences import Differences
from windrow.operators.relational.net_changes import NetChanges
from windrow.operators.relational.opening import Opening
from windrow.operators.relational.operators import operator_of
from windrow.operators.state.tables_at_rest import name_of, named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from windrow.logical import RelationalQuery
    from windrow.logical.tree import Node
    from windrow.operators.aggregate.shared_aggregate import Member
    from windrow.operators.relational.base import Around, RelationalOperator

    Array = np.ndarray[Any, Any]

STEP_ROWS = 1 << 18
"""The tree advances by about so many rows at a time, so that what is in between of a large batch is
bounded."""


class RelationalTree:
    """The running state of a query's tree. Its answers are all of one shape, number 0."""

    groups_known = 0

    def __init__(
        self, query: int, bound: RelationalQuery, around: Around, complete_after: int | None = None
    ) -> None:
        """`complete_after`: when the query came, rows up to this instant had passed without it."""
        self.query = query
        self._bound = bound
        self._nodes = list(bound.root.walk())
        self._leaves = {node.port: node for node in self._nodes if isinstance(node, Rows)}
        self._operators: dict[int, RelationalOperator] = {
            place: operator_of(node, around)
            for place, node in enumerate(self._nodes)
            if not isinstance(node, Rows)
        }
        self._inputs = _places_of_inputs(self._nodes)
        self._delivery = _delivery(bound, complete_after)
        self._stateful = {str(place): operator for place, operator in self._operators.items()}
        self._stateful |= {f"delivery{place}": step for place, step in enumerate(self._delivery)}
        self._waiting: dict[int, list[pa.Table]] = {port: [] for port in self._leaves}
        self._arrived: dict[int, list[pa.Table]] = {port: [] for port in self._leaves}
        """Of the rows that wait, those that came since the last epoch."""
        self.behind = dict.fromkeys(self._leaves, 0)
        """How many rows of the last batch of each port lay behind what had been answered."""
        self._slide = min((node.slide for node in self._nodes if isinstance(node, Evaluate)), default=0)
        """The least time between two evaluations that give all that is there."""
        self._ends = all(node.pattern is not UpdatePattern.MONOTONIC for node in self._nodes)
        """Whether nothing is left when all rows have ended."""
        self._overlap = max(bound.longest // self._slide, 1) + 1 if self._slide else 1
        """In how many evaluations a row may be an answer."""
        self._after = BEGINNING if complete_after is None else complete_after
        self.evaluated = BEGINNING

    @property
    def entries(self) -> int:
        """How many rows and results it holds."""
        waiting = sum(len(table) for tables in self._waiting.values() for table in tables)
        return waiting + sum(operator.entries for operator in self._stateful.values())

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        waiting = sum(table.nbytes for tables in self._waiting.values() for table in tables)
        return int(waiting) + sum(operator.bytes for operator in self._stateful.values())

    def waiting_rows(self, port: int) -> int:
        """How many rows of a port wait for event time to pass them."""
        return sum(map(len, self._waiting[port]))

    @property
    def horizon(self) -> int:
        """What was needed before this instant only is no longer needed."""
        return self.evaluated

    def push(self, tables: Sequence[pa.Table], port: int = 0) -> None:
        """Take in the rows that a pass over a batch has handed over for a port."""
        read = self._bound.reads[port]
        self.behind[port] = 0
        for table in tables:
            columns = {SLICE: table[SLICE], **{one.name: table[one.answer] for one in read.outputs}}
            rows = pa.table(columns)
            own = rows.filter(pc.greater(rows[SLICE], self._after))
            rows = own.filter(pc.greater_equal(own[SLICE], self.evaluated)).combine_chunks()
            # A row may be accepted by its stream and lie behind the other streams that the query reads.
            self.behind[port] += len(own) - len(rows)
            if len(rows):
                self._waiting[port].append(rows)
                self._arrived[port].append(rows)

    def advance(self, until: int) -> Iterator[tuple[int, pa.Table]]:
        """The answers that are final when no row before an instant will come any more."""
        if until <= self.evaluated:
            return
        due = {port: self._due(port, until) for port in self._leaves}
        begins = dict.fromkeys(due, 0)
        for step in self._steps(list(due.values()), until):
            rows: dict[int, Changes] = {}
            for port, changes in due.items():
                end = int(np.searchsorted(changes.ts, step)) if step < until else len(changes)
                rows[port] = changes.slice(begins[port], end)
                begins[port] = end
            answers = self._answers(self._advanced(rows, step))
            self.evaluated = step
            if len(answers):
                yield 0, answers
        self.evaluated = until

    def closes(self, until: int) -> bool:
        """Whether advancing that far could answer anything."""
        if until <= self.evaluated:
            return False
        if self._next_change() < until:
            return True
        waiting = (table for tables in self._waiting.values() for table in tables)
        return any(pc.min(table[SLICE]).as_py() < until for table in waiting)

    def closed_slices(self) -> Sequence[pa.Table]:
        """At rest: the rows that have come and wait, and what operators have added and changed."""
        tables = []
        for port, arrived in self._arrived.items():
            still = [table.filter(pc.greater_equal(table[SLICE], self.evaluated)) for table in arrived]
            tables += [named(table, f"port {port}") for table in still if len(table)]
            arrived.clear()
        for place, operator in self._stateful.items():
            for name, table in operator.log().items():
                if len(table):
                    tables.append(named(table, f"{place} {name}"))
        return tables

    def open_slices(self) -> pa.Table | None:
        """Nothing is written anew with every epoch."""
        return None

    def set_members(self, members: Sequence[Member]) -> None:
        """Nobody comes or goes: the operator is of one query, and ends with it."""

    def restore(self, closed: Sequence[pa.Table], open_slices: pa.Table | None, evaluated: int) -> None:
        """Go on from tables at rest, in the order in which they were made."""
        self.evaluated = evaluated
        logged: dict[str, dict[str, list[pa.Table]]] = {place: {} for place in self._stateful}
        for table in closed:
            place, _, name = name_of(table.schema).partition(" ")
            if place == "port":
                rows = table.filter(pc.greater_equal(table[SLICE], evaluated)).combine_chunks()
                if len(rows):
                    self._waiting[int(name)].append(rows)
            else:
                logged[place].setdefault(name, []).append(table)
        for place, operator in self._stateful.items():
            operator.restore(logged[place], evaluated)

    def _steps(self, due: Sequence[Changes], until: int) -> Iterator[int]:
        """Instants up to which to advance one after the other, so that each step has a bounded number of
        rows, and gives a bounded number."""
        rows = sum(map(len, due))
        most = max(STEP_ROWS // self._overlap, 1)
        if rows > most:
            instants = np.sort(np.concatenate([changes.ts for changes in due]))
            steps = np.unique(instants[most:rows:most])
            yield from steps[steps > self.evaluated].tolist()
        if self._overlap > 1 and until == END_OF_TIME and self._ends:
            last = max((int(changes.ts[-1]) + 1 for changes in due if len(changes)), default=self.evaluated)
            if last > self.evaluated:
                yield last
            while (following := self._next_change()) < END_OF_TIME:
                at_once = max(STEP_ROWS // max(self.entries * self._overlap, 1), 1)
                yield min(following + self._slide * at_once, END_OF_TIME - 1)
        yield until

    def _next_change(self) -> int:
        return min((operator.next_change() for operator in self._stateful.values()), default=END_OF_TIME)

    def _due(self, port: int, until: int) -> Changes:
        """The rows of a port before an instant, in order; they no longer wait."""
        schema = pa.schema([(name, of_type) for name, of_type in self._leaves[port].types.items()])
        due: list[pa.Table] = []
        later: list[pa.Table] = []
        for table in self._waiting[port]:
            is_due = one_chunk(table, SLICE).to_numpy() < until
            if is_due.all():
                due.append(table)
            elif not is_due.any():  # what waits long for another stream is not copied again and again
                later.append(table)
            else:
                due.append(table.filter(pa.array(is_due)))
                later.append(table.filter(pa.array(~is_due)).combine_chunks())
        self._waiting[port] = later
        if not due:
            return Changes.none(schema)
        rows = pa.concat_tables(due).combine_chunks()
        # A copy: kernels are compiled once more for arrays that cannot be written to.
        instants = one_chunk(rows, SLICE).to_numpy().copy()
        leaf = self._leaves[port]
        forever = np.full(len(rows), END_OF_TIME, np.int64)
        live = forever if leaf.window is None else instants + leaf.window
        exp = forever if leaf.internal else live
        return Changes(instants, live, exp, rows.drop_columns([SLICE]).cast(schema)).in_order()

    def _advanced(self, rows: Mapping[int, Changes], until: int) -> Changes:
        """What comes out at the root, and is delivered, up to an instant."""
        given: dict[int, Changes] = {}
        for place, node in enumerate(self._nodes):
            if isinstance(node, Rows):
                given[place] = rows[node.port]
            else:
                inputs = [given.pop(below) for below in self._inputs[place]]
                given[place] = self._operators[place].advance(inputs, until)
        (root,) = given.values()
        for step in self._delivery:
            root = step.advance([root], until)
        return root

    def _answers(self, changes: Changes) -> pa.Table:
        """Changes as a table of answers."""
        bound, time_type = self._bound, self._bound.stream.time_type
        rows, when = changes.rows, pa.array(changes.ts)
        times: dict[str, pa.Array] = {}
        if bound.slide is not None:
            ends = changes.ts + 1
            if bound.range is not None:
                times[WINDOW_START] = pa.array(ends - bound.range).cast(time_type)
            times[WINDOW_END] = pa.array(ends).cast(time_type)
        else:
            times[TIME] = when.cast(time_type)
            if bound.has_changes:
                op = np.ones(len(changes), np.int8) if changes.op is None else changes.op
                times[OP] = pa.array(op)
                times[EXPIRES] = pa.array(changes.exp, mask=changes.exp >= END_OF_TIME).cast(time_type)
        whose = {QUERY: pa.array(np.full(len(changes), self.query, np.int32))}
        return pa.table({**times, **dict(zip(rows.column_names, rows.columns, strict=True)), **whose})


def _delivery(bound: RelationalQuery, complete_after: int | None) -> list[RelationalOperator]:
    """What becomes of the rows at the root, one step after the other."""
    types, new = bound.root.types, bound.delivery == ISTREAM
    steps: list[RelationalOperator] = []
    if bound.delivery != RSTREAM and bound.slide is None:
        steps.append(NetChanges(types, new))
    elif bound.delivery != RSTREAM and bound.slide is not None:
        steps.append(
            Differences(types, new, bound.slide, lasting=any(one.window is None for one in bound.windows))
        )
    if complete_after is not None:
        # With SLIDE, an evaluation at e is of the instant before it; a difference needs the one before that.
        opens = complete_after + bound.longest - (bound.slide is not None)
        opens += (bound.slide or 0) if bound.delivery != RSTREAM else 0
        steps.append(Opening(opens, stands=bound.has_changes))
    return steps


def _places_of_inputs(nodes: Sequence[Node]) -> dict[int, list[int]]:
    """The places of each node's inputs in the walk of a tree: its last input stands right before it."""
    sizes: list[int] = []
    found: dict[int, list[int]] = {}
    for place, node in enumerate(nodes):
        below: list[int] = []
        last = place - 1
        for _ in node.inputs:
            below.append(last)
            last -= sizes[last]
        found[place] = below[::-1]
        sizes.append(1 + sum(sizes[one] for one in below))
    return found

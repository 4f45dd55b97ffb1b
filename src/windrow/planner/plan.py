"""The physical plan: what runs, as an immutable dataflow.

    inputs                      operators                         outputs
    a stream, and the passes ─► a number, ports, the queries  ─►  a query: what it computes, the columns
    over each of its batches    that it answers, its place        of its answers, how long they are kept

The runtime executes this object, the catalog keeps it as records, and whoever explains it
prints it. A plan never changes: `planning.py` makes another one, which shares what is the same with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from windrow.columns import BEGINNING, END_OF_TIME
from windrow.logical.patterns import UpdatePattern
from windrow.planner.passes.experience import NO_EXPERIENCE, Experience
from windrow.planner.sharing.classes import sharing_class
from windrow.planner.sharing.cost import CostModel

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    import pyarrow as pa

    from windrow.aggregates import Aggregate, Operation
    from windrow.final import Choice
    from windrow.logical import BoundQuery, Enrich, Scan, Stream
    from windrow.planner.passes.base import BatchPass, Demand
    from windrow.planner.sharing.tree import Tree
    from windrow.slicing import Cuts, RowWindow, Window


@dataclass(frozen=True)
class OutputPlan:
    """A query as the plan has it: what it computes, and what becomes of its answers."""

    query: int
    """The number of the query."""
    name: str
    of: BoundQuery = field(compare=False)
    """The bound query."""
    schema_id: str
    """Answers with the same columns are written to the same files."""
    retain: int | None = None
    """For how many microseconds of their time answers are kept; None: for ever."""


@dataclass(frozen=True)
class MemberPlan:
    """A query in an operator: which of its evaluations the operator answers."""

    output: OutputPlan
    joined: int | None = None
    """The latest event time when it came: later rows are cut and lifted for it. None: all rows are."""
    after: int = BEGINNING
    """Evaluations up to this instant are not answered here."""
    until: int = END_OF_TIME
    """Evaluations behind this instant are not answered here."""

    @property
    def query(self) -> int:
        """The number of the query."""
        return self.output.query

    @property
    def stays(self) -> bool:
        """Whether no other operator is about to answer the query."""
        return self.until == END_OF_TIME

    @property
    def window(self) -> Window:
        """The window of the query, which is one of time where an operator has several queries."""
        (window,) = self.output.of.time_windows
        return window


@dataclass(frozen=True)
class Edge:
    """Where the rows on a port of an operator come from, and how they end."""

    stream: str
    pattern: UpdatePattern = UpdatePattern.MONOTONIC


def ports_of(query: BoundQuery) -> list[Edge]:
    """Where the rows of an operator of one query come from: a port for each of the query's inputs."""
    return [Edge(asked.stream.name, how) for asked, how in zip(query.inputs, query.arrivals, strict=True)]


class Port(NamedTuple):
    """Who asks for the rows of a stream: a port of an operator. One that reads a stream twice, as a join of a
    stream with itself does, asks on two."""

    operator: int
    number: int


@dataclass(frozen=True)
class Structure:
    """What answers the windows of an operator, for one operation."""

    name: str
    operation: str
    reason: str
    """Why it was taken; empty where it was chosen among others by cost."""


@dataclass(frozen=True)
class Price:
    """What an operator is estimated to cost: seconds of work a second of stream."""

    cost: float = 0.0
    """With its share of the passes over the rows."""
    alone: float = 0.0
    """What its queries would cost if none shared anything."""
    final: float = 0.0
    """What is left of the cost when partials have been collected, with the results that it writes."""


UNPRICED = Price()


@dataclass(frozen=True, eq=False)
class OperatorPlan:
    """What takes rows in and answers queries; where they have windows, with state between two batches."""

    id: int
    """Its number, which no other operator of the home has had; its state at rest is kept under it."""
    ports: tuple[Edge, ...]
    """Where its rows come from."""
    members: Mapping[int, MemberPlan]
    """The queries that it answers, by their numbers."""
    shared: bool = False
    """Whether one structure answers all windows. An operator of one query that never had others has the
    structure that suits that query best."""
    node: int | None = None
    """Which of the Spark tasks has its state; None: the driver."""
    tree: Tree | None = field(default=None, repr=False)
    """Its windows as optimizers see them, if one has just made it of them."""
    choices: Mapping[Operation, Choice] | None = None
    """The final aggregator of each operation, where it is not shared; None: not yet chosen."""
    structures: tuple[Structure, ...] = ()
    cuts: Cuts | None = None
    """Where the pass over the rows cuts them for it."""
    price: Price = UNPRICED

    @cached_property
    def first(self) -> MemberPlan:
        """One of the members: all have the same rows and groups."""
        return next(iter(self.members.values()))

    @cached_property
    def alike(self) -> Hashable | None:
        """What its queries have in common with others that they may share an operator with; None: nothing."""
        return sharing_class(self.first.output.of)

    @cached_property
    def windows(self) -> set[Window]:
        """The windows of the queries that stay."""
        return {member.window for member in self.members.values() if member.stays}

    @cached_property
    def woven(self) -> Tree:
        """Its windows as optimizers see them, where its queries may share. Where all are about to leave, they
        are still in it."""
        if self.tree is not None:
            return self.tree
        members = [member for member in self.members.values() if member.stays] or self.members.values()
        return ANY_PRICES.tree([member.window for member in members])

    @cached_property
    def demands(self) -> tuple[Demand, ...]:
        """What it asks of the rows of a batch, by port."""
        inputs = [member.output.of.inputs for member in self.members.values()]
        return tuple(demand_of(each[port] for each in inputs) for port in range(len(self.ports)))

    def demands_of(self, stream: str) -> dict[Port, Demand]:
        """What it asks of the rows of a stream, on each of the ports that read it."""
        return {
            Port(self.id, number): demand
            for number, (port, demand) in enumerate(zip(self.ports, self.demands, strict=True))
            if port.stream == stream
        }

    @cached_property
    def streams(self) -> tuple[str, ...]:
        """The streams that it reads, each once, in the order of its ports."""
        return tuple(dict.fromkeys(port.stream for port in self.ports))

    def runs_as(self, other: OperatorPlan) -> bool:
        """Whether another operator has the same queries, in the same structure and place; their prices may
        differ. By identity: to compare ten thousand queries takes long."""
        same = self.members is other.members or (
            self.members == other.members
            and all(m.output.of is other.members[n].output.of for n, m in self.members.items())
        )
        return same and (self.shared, self.node, self.ports) == (other.shared, other.node, other.ports)

    def with_members(self, members: Mapping[int, MemberPlan]) -> OperatorPlan:
        """The operator with other queries; what was priced and woven for the ones before is forgotten."""
        leaving = any(not member.stays for member in members.values())
        shared = self.shared or len(members) > 1 or leaving
        return OperatorPlan(self.id, self.ports, members, shared, self.node)


@dataclass(frozen=True, eq=False)
class SharingClass:
    """The operators of queries with the same rows and groups, and how they were planned."""

    alike: Hashable
    separate: bool = False
    """Whether each operator has a pass over the rows of its own."""
    optimizer: str | None = None
    """Which one planned the operators when they began, and whether time was short."""
    groups: float = 1.0
    """Groups a slice, by which it was priced."""
    groups_observed: bool = False


@dataclass(frozen=True, eq=False)
class InputPlan:
    """A stream as the plan reads it."""

    stream: str
    passes: tuple[BatchPass, ...] = ()
    """What Spark runs over each batch. Who asks for them are operators, by their numbers."""
    classes: Mapping[Hashable, SharingClass] = field(default_factory=dict)
    nodes: int = 1
    """How many Spark tasks hold operators; 1: the driver holds all."""
    rate: float = 0.0
    """Rows a second, by which it was priced."""
    rate_observed: bool = False
    experience: Experience = NO_EXPERIENCE
    """By which the passes were planned."""


@dataclass(frozen=True, eq=False)
class PhysicalPlan:
    """All that runs."""

    inputs: Mapping[str, InputPlan] = field(default_factory=dict)
    """By stream."""
    operators: Mapping[int, OperatorPlan] = field(default_factory=dict)
    """By number."""
    last_operator: int = 0
    """The largest number that an operator ever had."""

    @cached_property
    def outputs(self) -> dict[int, OutputPlan]:
        """The queries, by their numbers."""
        return {
            number: member.output
            for operator in self.operators.values()
            for number, member in operator.members.items()
        }

    def of_stream(self, stream: str) -> dict[int, OperatorPlan]:
        """The operators that read a stream."""
        return {number: operator for number, operator in self.operators.items() if stream in operator.streams}

    def queries_over(self, stream: str) -> set[int]:
        """The numbers of the queries that read a stream."""
        return {query for operator in self.of_stream(stream).values() for query in operator.members}

    def with_stream(self, read: InputPlan, operators: Mapping[int, OperatorPlan], last: int) -> PhysicalPlan:
        """The plan with another input for a stream, and other operators that read it."""
        kept = {n: operator for n, operator in self.operators.items() if read.stream not in operator.streams}
        inputs = {**self.inputs, read.stream: read}
        return PhysicalPlan(inputs, kept | dict(operators), max(last, self.last_operator))

    def with_change(self, stream: str, before: PhysicalPlan, after: PhysicalPlan) -> PhysicalPlan:
        """The plan with what has changed, from one plan to another, in what reads a stream.

        Since `before` was the plan that ran, other streams may have changed operators that read this one too:
        what did not change from `before` to `after` stays as it is here.
        """
        if after is before:
            return self
        gone = before.of_stream(stream).keys() - after.operators.keys()
        operators = {number: operator for number, operator in self.operators.items() if number not in gone}
        for number, operator in after.of_stream(stream).items():
            if before.operators.get(number) is not operator:
                operators[number] = operator
        inputs = {**self.inputs, stream: after.inputs[stream]}
        return PhysicalPlan(inputs, operators, max(self.last_operator, after.last_operator))

    def without(self, queries: Iterable[int]) -> PhysicalPlan:
        """The plan without some queries; operators without any are no more. Streams that such queries read
        have no passes then, until these are planned anew."""
        gone = set(queries)
        if not gone:
            return self
        operators, inputs = dict(self.operators), dict(self.inputs)
        for number, operator in self.operators.items():
            left = {query: member for query, member in operator.members.items() if query not in gone}
            if len(left) == len(operator.members):
                continue
            if left:
                operators[number] = operator.with_members(left)
            else:
                del operators[number]
            for stream in operator.streams:
                inputs[stream] = replace(inputs[stream], passes=())
        return replace(self, operators=operators, inputs=inputs)

    def in_the_driver(self) -> PhysicalPlan:
        """The plan with all operators in the driver."""
        operators = {number: replace(operator, node=None) for number, operator in self.operators.items()}
        inputs = {stream: replace(read, nodes=1) for stream, read in self.inputs.items()}
        return replace(self, operators=operators, inputs=inputs)


@dataclass(frozen=True)
class JointDemand:
    """What an operator of several queries asks of the rows: the windows and aggregates of all."""

    of: BoundQuery
    """One of the queries: all have the same rows and groups."""
    time_windows: tuple[Window, ...]
    aggregates: tuple[Aggregate, ...]
    scan: Scan

    @property
    def stream(self) -> Stream:
        """The stream that the rows are of."""
        return self.of.stream

    @property
    def enrichments(self) -> tuple[Enrich, ...]:
        """The tables that rows are joined with."""
        return self.of.enrichments

    @property
    def where(self) -> str | None:
        """The condition for a row to count; None: all do."""
        return self.of.where

    @property
    def keys(self) -> tuple[str, ...]:
        """What rows are grouped by."""
        return self.of.keys

    @property
    def key_types(self) -> tuple[pa.DataType, ...]:
        """The types of the keys."""
        return self.of.key_types

    @property
    def row_window(self) -> RowWindow | None:
        """None: queries that share an operator have windows of time."""
        return None

    @property
    def handed_over(self) -> tuple[str, ...]:
        """Nothing: queries that share an operator group their rows."""
        return ()

    def readable(self, sql: str) -> str:
        """An expression as a person would write it."""
        return self.of.readable(sql)


def demand_of(queries: Iterable[BoundQuery]) -> Demand:
    """What queries with the same rows and groups ask of the rows together."""
    asked = list(queries)
    if len(asked) == 1:
        return asked[0]
    windows = dict.fromkeys(window for query in asked for window in query.time_windows)
    lists = dict.fromkeys(query.aggregates for query in asked)
    aggregates = dict.fromkeys(item for items in lists for item in items)
    used = {column for query in asked for column in query.scan.columns}
    first = asked[0]
    scan = replace(first.scan, columns=tuple(name for name in first.stream.columns if name in used))
    return JointDemand(first, tuple(windows), tuple(aggregates), scan)


ANY_PRICES = CostModel(rate=0.0)
"""What trees are like does not depend on prices."""
NOTHING = PhysicalPlan()

"""The parts that the tree of a block is put together from: windows of streams, and results of blocks below.

What is computed of one part alone is computed where it comes from: of a stream, by the pass over its batches,
in the JVM; of a result, right above it. So a part takes conditions and expressions as long as its block is
bound, and is a node of the tree when that is complete.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.columns import quoted
from windrow.logical.bind.relational.columns import Names, over_edge, over_part, part_column, short
from windrow.logical.query import Enrich, Output, Scan
from windrow.logical.relation import Stream
from windrow.logical.select import SelectQuery
from windrow.logical.tree import Column, Compute, Group, Rows, Windowed

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from windrow.cql import TimeWindowNode
    from windrow.logical.tree import Node


@dataclass(eq=False, kw_only=True)
class Part(ABC):
    """A part of a block's tree."""

    key: str
    """What its columns are marked with while the tree is bound."""
    label: str
    """What the statement calls it."""
    at: exp.Expr
    """Where the statement has it."""
    names: Names
    conditions: list[exp.Expr] = field(default_factory=list)
    """What must hold of its rows."""
    computed: dict[str, Column] = field(default_factory=dict)
    """The columns that somebody above wants, by what they are, as Spark SQL."""

    @property
    @abstractmethod
    def windows(self) -> Sequence[TimeWindowNode]:
        """The windows that its rows have come through."""

    @property
    @abstractmethod
    def endless(self) -> bool:
        """Whether rows of it live for ever."""

    @property
    @abstractmethod
    def changing(self) -> bool:
        """Whether it is a continuous GROUP BY, the only one that takes rows back."""

    @abstractmethod
    def type_of(self, column: exp.Column) -> pa.DataType:
        """The type of one of its columns."""

    @abstractmethod
    def place(self, meant: exp.Expr, of_type: pa.DataType) -> Column:
        """A column for an expression of this part alone."""

    @abstractmethod
    def node(self) -> Node:
        """It, with all that has been placed, as it stands in the tree."""

    def column(self, column: exp.Column) -> Column:
        """A column for one of its columns, as it is."""
        return self.place(column, self.type_of(column))


@dataclass(eq=False, kw_only=True)
class Port(Part):
    """A window of a stream, whose rows may be joined with unchanging tables."""

    number: int
    stream: Stream
    window: TimeWindowNode | None = None
    """None as long as it has none: one that a query around it may give it."""
    tables: dict[str, dict[str, pa.DataType]] = field(default_factory=dict)
    """The columns of the tables, by alias."""
    enrichments: list[tuple[str, str, exp.Expr | None]] = field(default_factory=list)
    """The tables: name, JOIN clause up to ON, and what is behind that."""

    @property
    def windows(self) -> Sequence[TimeWindowNode]:
        return () if self.window is None else (self.window,)

    @property
    def endless(self) -> bool:
        return self.window is not None and self.window.range is None

    @property
    def changing(self) -> bool:
        return False

    def type_of(self, column: exp.Column) -> pa.DataType:
        columns = self.tables.get(column.table, self.stream.columns)
        return columns[column.name]

    def place(self, meant: exp.Expr, of_type: pa.DataType) -> Column:
        sql = over_part(meant)
        if sql not in self.computed:
            name = short(over_part(meant, {self.stream.name: self.label}))
            self.computed[sql] = Column(self.names.unique(name), of_type)
        return self.computed[sql]

    def new_alias(self, wanted: str) -> str:
        """A name for one more table: nothing else here has it."""
        taken = {self.stream.name.lower(), *map(str.lower, self.tables)}
        number, alias = 2, wanted
        while alias.lower() in taken:
            number, alias = number + 1, f"{wanted}_{number}"
        return alias

    def node(self) -> Node:
        if not self.computed:  # so that rows can be counted
            time = part_column(self.key, self.stream.timestamp, self.stream.name)
            self.place(time, self.stream.time_type)
        window = self.window
        assert window is not None  # otherwise it has been refused
        return Rows(
            self.number, self.stream.name, tuple(self.computed.values()), window.range, window.internal
        )

    def read(self, wanted: Sequence[Column]) -> SelectQuery:
        """What is asked of the stream, for the columns that the leaf is left with."""
        sql_of = {column.name: sql for sql, column in self.computed.items()}
        where = over_part(exp.and_(*self.conditions)) if self.conditions else None
        enrichments = tuple(
            Enrich(table, join if on is None else f"{join} ON {over_part(on)}")
            for table, join, on in self.enrichments
        )
        used = {self.stream.timestamp} | {
            name
            for name in self.stream.columns
            if any(
                f"{quoted(self.stream.name)}.{quoted(name)}" in sql
                for sql in (*(sql_of[one.name] for one in wanted), where or "", *map(str, enrichments))
            )
        }
        return SelectQuery(
            scan=Scan(self.stream, tuple(name for name in self.stream.columns if name in used)),
            enrichments=enrichments,
            where=where,
            outputs=tuple(
                Output(one.name, sql_of[one.name], one.type, answer=sql_of[one.name]) for one in wanted
            ),
        )


@dataclass(eq=False, kw_only=True)
class Result(Part):
    """The result of a block: of DISTINCT, of GROUP BY, of UNION."""

    of: Node
    came_through: tuple[TimeWindowNode, ...]

    @property
    def windows(self) -> Sequence[TimeWindowNode]:
        return self.came_through

    @property
    def endless(self) -> bool:
        return lives_for_ever(self.of)

    @property
    def changing(self) -> bool:
        return takes_back(self.of)

    def type_of(self, column: exp.Column) -> pa.DataType:
        return self.of.types[column.name]

    def place(self, meant: exp.Expr, of_type: pa.DataType) -> Column:
        sql = over_edge(meant, lambda column: column.name)
        if isinstance(meant, exp.Column):
            return Column(meant.name, of_type)
        if sql not in self.computed:
            self.computed[sql] = Column(self.names.unique(short(sql)), of_type)
        return self.computed[sql]

    def node(self) -> Node:
        if not self.computed and not self.conditions:
            return self.of
        items = [(column, quoted(column.name)) for column in self.of.columns]
        items += [(column, sql) for sql, column in self.computed.items()]
        return Compute(self.of, tuple(items), self.where)

    @property
    def where(self) -> str | None:
        """What must hold of its rows, over its columns."""
        if not self.conditions:
            return None
        return over_edge(exp.and_(*self.conditions), lambda column: column.name)


def takes_back(node: Node) -> bool:
    """Whether a node has a continuous GROUP BY in it; one below a window of results has no part in it."""
    if isinstance(node, Windowed):
        return False
    return (isinstance(node, Group) and node.slide is None) or any(map(takes_back, node.inputs))


def lives_for_ever(node: Node) -> bool:
    """Whether rows of a node have no end inside the plan."""
    if isinstance(node, Rows | Windowed):
        return node.window is None
    if isinstance(node, Group):
        return node.internal
    return any(map(lives_for_ever, node.inputs))

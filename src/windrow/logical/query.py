"""What every bound query has, whatever it computes: where its rows come from, and the columns of its results.

A query that is bound names nothing that does not exist: every expression is Spark SQL over columns qualified
by relation, so that two queries that mean the same have the same text; types are Spark's own, as Arrow types.
Each kind of query is a file beside this one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from windrow.logical.patterns import UpdatePattern

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    import pyarrow as pa

    from windrow.aggregates import Aggregate
    from windrow.logical.relation import Stream
    from windrow.slicing import RowWindow, Window


@dataclass(frozen=True)
class Scan:
    """Reads the columns in use of one stream."""

    stream: Stream = field(compare=False)
    columns: tuple[str, ...] = field(compare=False)

    def __str__(self) -> str:
        return f"scan {self.stream.name}: {', '.join(self.columns)}"


@dataclass(frozen=True)
class Enrich:
    """Joins each row with an unchanging table. `join` is the JOIN clause."""

    table: str
    join: str

    def __str__(self) -> str:
        return f"enrich: {self.join}"


@dataclass(frozen=True)
class Output:
    """A result column: Spark SQL over the answer columns of the operator."""

    name: str
    expression: str
    type: pa.DataType = field(compare=False)
    answer: str | None = None
    """The answer column that it is, where it is nothing more."""


@dataclass(frozen=True, kw_only=True)
class BoundQuery(ABC):
    """What a query asks of the rows, and what its results are.

    Its rows are those of one stream, unless its kind says otherwise: then it reads several queries over one
    stream each, its `inputs`. What a kind of query does not have is empty here: a query without a window has
    no windows, keys or aggregates, one that aggregates hands no rows over.
    """

    scan: Scan
    enrichments: tuple[Enrich, ...]
    where: str | None
    """The condition for a row to count; None: all do."""
    keys: tuple[str, ...] = ()
    """What rows are grouped by."""
    key_types: tuple[pa.DataType, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    outputs: tuple[Output, ...]
    having: str | None = None
    """The condition for an answer to be a result; None: all are."""
    algorithm: str | None = None
    """The final aggregator that a hint asks for."""

    @property
    @abstractmethod
    def pattern(self) -> UpdatePattern:
        """How its results come to an end."""

    @property
    @abstractmethod
    def time_column(self) -> str:
        """The column of its results that says when they are of, by which they are kept and read."""

    @property
    def stream(self) -> Stream:
        """The stream that its rows are of; the first, where they are of several."""
        return self.scan.stream

    @property
    def inputs(self) -> tuple[BoundQuery, ...]:
        """What is asked of each stream that it reads, as a query over that stream alone, a port each: the
        query itself, if it reads one stream."""
        return (self,)

    @property
    def arrivals(self) -> tuple[UpdatePattern, ...]:
        """How the rows of each input come to an end: those of a stream do not, unless a window says when."""
        return (UpdatePattern.MONOTONIC,) * len(self.inputs)

    @cached_property
    def streams(self) -> tuple[str, ...]:
        """The names of the streams that it reads, each once, in the order of its inputs. Made once, as are
        the columns in use: every batch asks for both, of ten thousand queries too."""
        return tuple(dict.fromkeys(asked.stream.name for asked in self.inputs))

    @cached_property
    def columns_in_use(self) -> Mapping[str, frozenset[str]]:
        """The columns in use of the streams that it reads."""
        return {
            stream: frozenset(
                column
                for asked in self.inputs
                if asked.stream.name == stream
                for column in asked.scan.columns
            )
            for stream in self.streams
        }

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables that its rows are joined with."""
        return tuple(dict.fromkeys(joined.table for asked in self.inputs for joined in asked.enrichments))

    @property
    @abstractmethod
    def time_columns(self) -> dict[str, pa.DataType]:
        """The columns that every result begins with: what it says of its time."""

    @property
    @abstractmethod
    def shape(self) -> Hashable:
        """What queries of one operator have in common whose answers have the same columns, made alike."""

    @abstractmethod
    def steps(self) -> list[str]:
        """What is done, from the answer down to the stream, for people."""

    def drawn(self) -> list[str]:
        """The steps as people see them: each below what is made of it."""
        return [f"{'  ' * depth}└ {step}" for depth, step in enumerate(self.steps())]

    @property
    def waits_for_rows(self) -> bool:
        """Whether rows are answered one by one, once none can come before them any more."""
        return self.row_window is not None

    @property
    def evaluations(self) -> tuple[Window, ...]:
        """When it is answered, as windows whose ends are the evaluations; nothing where it is not by time."""
        return self.time_windows

    @property
    def time_windows(self) -> tuple[Window, ...]:
        """Its window, if that is one of time."""
        return ()

    @property
    def row_window(self) -> RowWindow | None:
        """Its window, if that is one of rows."""
        return None

    @property
    def handed_over(self) -> tuple[str, ...]:
        """What is wanted of each row that fulfils WHERE, as Spark SQL; nothing where rows are grouped."""
        return ()

    @property
    def needs_projection(self) -> bool:
        """Whether Spark must compute the SELECT list or HAVING from the answers."""
        return self.having is not None or any(output.answer is None for output in self.outputs)

    def readable(self, sql: str) -> str:
        """An expression as a person would write it: nothing quoted, columns of the only relation bare."""
        sql = sql.replace("`", "").replace("_windrow_", "")
        return sql if self.enrichments else sql.replace(f"{self.stream.name}.", "")

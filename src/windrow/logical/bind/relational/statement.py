"""What the blocks of one statement have in common while it is bound: names, windows, ports, questions to
Spark."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.columns import INSTANT, WINDOW_END, WINDOW_START, quoted
from windrow.cql import name_span, span
from windrow.errors import StatementError
from windrow.logical.bind.questions import types, view_name
from windrow.logical.bind.relational.columns import EVALUATION, Names, part_column
from windrow.logical.bind.relational.windows import Windows

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlglot import exp

    from windrow.aggregates import Function
    from windrow.cql import Query
    from windrow.logical.bind.questions import Analyst, AskedSql
    from windrow.logical.bind.relational.parts import Port
    from windrow.logical.relation import Relation


@dataclass
class Statement:
    """A statement that is being bound."""

    query: Query
    relations: Mapping[str, Relation]
    spark: Analyst
    functions: Mapping[str, Function]
    had: Sequence[str]
    """The result columns of a query that was bound before."""
    queries: Collection[str]
    """The names of queries."""
    names: Names = field(default_factory=Names)
    """Those of the columns in the tree."""
    ports: list[Port] = field(default_factory=list)
    meanings: dict[str, dict[str, exp.Expr]] = field(default_factory=dict)
    """What the columns are meant to be of each relation that Spark is asked about."""
    warnings: list[str] = field(default_factory=list)
    used: list[exp.CTE] = field(default_factory=list)
    """The queries of WITH that somebody has selected from."""

    def __post_init__(self) -> None:
        self.windows = Windows(self.query.text)
        self._asked_names = Names()
        self._keys = 0
        self.meanings[EVALUATION] = {
            name: part_column(EVALUATION, name) for name in (WINDOW_START, WINDOW_END)
        }

    def asked_name(self, alias: str) -> str:
        """What Spark is asked about instead of an alias: the alias, unless there was one like it before."""
        return self._asked_names.unique(alias)

    def new_key(self) -> str:
        """A key for one more part."""
        self._keys += 1
        return f"p{self._keys}"

    def ask(
        self,
        asked: Sequence[AskedSql],
        relations: Mapping[str, Mapping[str, pa.DataType]],
        conditions: Sequence[AskedSql] = (),
    ) -> list[pa.DataType]:
        """Spark's types for expressions over relations, under conditions; its complaint has a place."""
        known = dict(relations)
        if any(quoted(EVALUATION) in sql for sql, _ in (*asked, *conditions)):
            known[EVALUATION] = dict.fromkeys((WINDOW_START, WINDOW_END), self.windows.time_type)
        if any(INSTANT in sql for sql, _ in asked):  # FIRST and LAST ask every row when it was
            known["#row"] = {INSTANT: pa.int64()}
        source = " CROSS JOIN ".join(f"{view_name(name)} AS {quoted(name)}" for name in known)
        return types(self.spark, self.query, asked, source, known, conditions=conditions)

    def problem(self, problem: str, node: exp.Expr, hint: str = "", *, name: bool = False) -> StatementError:
        """An error about a node of the statement; `name`: about its name alone."""
        place = name_span(node) if name else span(node)
        return StatementError(problem, self.query.text, *place, hint)

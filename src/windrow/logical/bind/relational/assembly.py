"""The tree of a block: its parts joined one after the other, each condition where it can first be decided.

    a, b, c WHERE a.x = b.x AND b.y = c.y AND a.v > c.v

           join on b.y = c.y AND a.v > c.v
           ├ join on a.x = b.x
           │ ├ a
           │ └ b
           └ c

Parts are joined in the order of FROM, but that one that an equality connects with what is joined by then goes
before one that nothing does. Rows on the right of EXISTS, IN and LEFT SEMI JOIN are met last: each different
one once, or, where there is more to it than equalities, in pairs, of which one is kept for every row of the
left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from windrow.columns import quoted
from windrow.logical.bind.relational.columns import EVALUATION, over_edge, part_of, parts_of, short
from windrow.logical.tree import Column, Compute, Distinct, Join, Number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from windrow.logical.bind.relational.block import Block, Condition, SemiJoin, Side
    from windrow.logical.bind.relational.parts import Part
    from windrow.logical.bind.relational.statement import Statement
    from windrow.logical.tree import Node

    Step = Callable[[Node], Node]
    """What is put on top of the tree as it is by then."""


class Assembly:
    """Puts the tree of a block together.

    First it is asked for the columns that somebody above wants; then for the tree, once.
    """

    def __init__(self, statement: Statement, block: Block) -> None:
        self._statement = statement
        self._names = statement.names
        self._parts = dict(block.parts)
        self._steps: list[Step] = []
        self._above: dict[str, Column] = {}
        """What is computed above the joins, by its SQL there."""
        self._first, *others = self._parts.values()
        pending = self._with_one_part(block.conditions)
        self._join_all(others, pending)
        for semi in block.semi_joins:
            self._meet(semi)

    def sql(self, meant: exp.Expr, of_type: pa.DataType) -> str:
        """An expression as Spark SQL over the columns of the tree: a column alone, if it is of one part."""
        part = self._part_of(meant)
        if part is not None:
            return quoted(part.place(meant, of_type).name)
        return _over_edge(meant, self._parts)

    def column(self, side: Side) -> Column:
        """A column of the tree for an expression."""
        part = self._part_of(side.meant)
        if part is not None:
            return part.place(side.meant, side.type)
        sql = _over_edge(side.meant, self._parts)
        if sql not in self._above:
            made = Column(self._names.unique(short(sql)), side.type)
            self._above[sql] = made
            self._steps.append(lambda node: with_column(node, made, sql))
        return self._above[sql]

    def node(self) -> Node:
        """The tree."""
        node = self._first.node()
        for step in self._steps:
            node = step(node)
        return node

    def _part_of(self, meant: exp.Expr) -> Part | None:
        """The part that can compute an expression alone."""
        needed = parts_of(meant)
        if not needed:
            return self._first
        return self._parts[next(iter(needed))] if len(needed) == 1 and EVALUATION not in needed else None

    # joins

    def _with_one_part(self, conditions: Sequence[Condition]) -> list[Condition]:
        """Give each part the conditions that are on it alone; the others."""
        pending = []
        for condition in conditions:
            if EVALUATION in condition.parts:
                raise self._statement.problem(
                    "HAVING can be about window_start and window_end at the top of a query only",
                    condition.expression.node,
                    "write the condition in the SELECT around all others, or where results are read",
                )
            part = self._part_of(condition.expression.meant)
            if part is None:
                pending.append(condition)
            else:
                part.conditions.append(condition.expression.meant)
        return pending

    def _join_all(self, others: Sequence[Part], pending: Sequence[Condition]) -> None:
        joined, waiting, conditions = {self._first.key}, list(others), list(pending)
        while waiting:
            part = next((p for p in waiting if _equalities(conditions, joined, {p.key})), waiting[0])
            keys = _equalities(conditions, joined, {part.key})
            decided = [
                condition
                for condition in conditions
                if condition.parts <= joined | {part.key} and condition not in keys
            ]
            if not keys:
                self._warn(part)
            self._join(part, list(keys.values()), decided)
            conditions = [c for c in conditions if c not in keys and c not in decided]
            waiting.remove(part)
            joined.add(part.key)

    def _join(self, part: Part, keys: Sequence[tuple[Side, Side]], decided: Sequence[Condition]) -> None:
        pairs = tuple((self.column(left).name, self.column(right).name) for left, right in keys)
        condition = self._all_of(decided, self._parts)
        self._steps.append(lambda left: join(left, part.node(), pairs, condition))

    def _all_of(self, conditions: Sequence[Condition], parts: Mapping[str, Part]) -> str | None:
        if not conditions:
            return None
        return _over_edge(exp.and_(*(condition.expression.meant for condition in conditions)), parts)

    def _constant(self) -> tuple[Column, str]:
        """A column for rows of which nothing is wanted but that they are there."""
        return Column(self._names.unique("1"), pa.int32()), "1"

    def _warn(self, part: Part) -> None:
        before = self._first.label
        self._statement.warnings.append(
            f"{part.label} is joined with {before} without an equality: every row meets every other"
        )

    # EXISTS, IN, LEFT SEMI JOIN

    def _meet(self, semi: SemiJoin) -> None:
        """Keep the rows for which there is one on the right."""
        left_parts = set(self._parts)
        right = Assembly(self._statement, semi.block)
        keys = _equalities(semi.conditions, left_parts, set(right._parts))
        pairs = [(self.column(left), right.column(of_right)) for left, of_right in keys.values()]
        names = tuple((left.name, of_right.name) for left, of_right in pairs)
        others = [condition for condition in semi.conditions if condition not in keys]
        if not others:
            wanted = list(dict.fromkeys(of_right for _, of_right in pairs))
            items = [(column, quoted(column.name)) for column in wanted] or [self._constant()]
            self._steps.append(
                lambda left: join(left, Distinct(Compute(right.node(), tuple(items))), names, kept=left)
            )
            return
        if not keys:
            label = next(iter(semi.block.parts.values())).label
            self._statement.warnings.append(
                f"{label} is looked for without an equality: every row meets every other"
            )
        parts = self._parts | right._parts
        condition, number = self._all_of(others, parts), self._names.unique("#row")

        def meet(left: Node) -> Node:
            numbered = Number(left, number)
            pairs = join(numbered, right.node(), names, condition, kept=numbered)
            items = tuple((column, quoted(column.name)) for column in left.columns)
            return Compute(Distinct(pairs, by=(number,)), items)

        self._steps.append(meet)


def join(
    left: Node,
    right: Node,
    keys: tuple[tuple[str, str], ...],
    condition: str | None = None,
    *,
    kept: Node | None = None,
    nulls_equal: bool = False,
) -> Join:
    """A join that keeps all columns, or those of one side."""
    sides = (left, right) if kept is None else (kept,)
    names = tuple(column.name for side in sides for column in side.columns)
    return Join(left, right, keys, names, condition, nulls_equal)


def with_column(node: Node, column: Column, sql: str) -> Compute:
    """Rows with one more column."""
    return Compute(node, (*((one, quoted(one.name)) for one in node.columns), (column, sql)))


def _over_edge(meant: exp.Expr, parts: Mapping[str, Part]) -> str:
    """An expression over the columns that parts give."""
    return over_edge(meant, lambda column: parts[part_of(column)].column(column).name)


def _equalities(
    conditions: Sequence[Condition], left: set[str], right: set[str]
) -> dict[Condition, tuple[Side, Side]]:
    """The conditions that say that something of the left equals something of the right, in that order."""
    found = {}
    for condition in conditions:
        for sides in (condition.sides, condition.sides and condition.sides[::-1]):
            if sides and parts_of(sides[0].meant) <= left and parts_of(sides[1].meant) <= right:
                found[condition] = sides
    return found

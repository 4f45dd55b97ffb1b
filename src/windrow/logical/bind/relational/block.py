"""A block of a statement, bound: the parts that it joins, what must hold of them, and what it selects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from windrow.logical.bind.relational.parts import Result
from windrow.logical.tree import Group

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlglot import exp

    from windrow.cql import TimeWindowNode
    from windrow.logical.bind.relational.columns import Expression
    from windrow.logical.bind.relational.parts import Part


@dataclass(frozen=True)
class Side:
    """One side of an equality by which parts can be joined."""

    meant: exp.Expr
    type: pa.DataType


@dataclass(frozen=True)
class Condition:
    """A condition that ON or WHERE has, one of several that must all hold."""

    expression: Expression
    sides: tuple[Side, Side] | None = None
    """If it says that two things are equal that have one type, or can be brought to one."""

    @property
    def parts(self) -> frozenset[str]:
        """The parts that it needs."""
        return self.expression.parts


@dataclass(frozen=True)
class SemiJoin:
    """EXISTS, IN (SELECT …) or LEFT SEMI JOIN: a row stays while there is a row on the right to go with
    it."""

    block: Block
    """The right side, without what connects it to the left."""
    conditions: tuple[Condition, ...]
    """What connects them."""
    at: exp.Expr


@dataclass(frozen=True)
class Item:
    """A column that a block selects."""

    name: str
    meant: exp.Expr
    type: pa.DataType
    at: exp.Expr


@dataclass
class Block:
    """A SELECT, or several with UNION or INTERSECT between them.

    One that only joins, selects and computes melts into the block around it. Where rows become other rows, by
    DISTINCT, GROUP BY and the like, there is one part, which has done that.
    """

    parts: dict[str, Part]
    """By key, in the order of FROM."""
    items: list[Item]
    at: exp.Expr
    conditions: list[Condition] = field(default_factory=list)
    semi_joins: list[SemiJoin] = field(default_factory=list)

    @property
    def groups(self) -> Group | None:
        """The groups that it selects from, under the names that keys and aggregates have everywhere, if it
        selects from groups and does nothing else."""
        (part, *others) = self.parts.values()
        if others or self.semi_joins or not isinstance(part, Result) or not isinstance(part.of, Group):
            return None
        return part.of

    @property
    def windows(self) -> list[TimeWindowNode]:
        """All windows that rows have come through."""
        found = [window for part in self.parts.values() for window in part.windows]
        return [*found, *(window for semi in self.semi_joins for window in semi.block.windows)]

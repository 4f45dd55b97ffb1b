"""From a block to a tree that has exactly its columns, and to the block that selects from what comes of
it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.logical.bind.relational.assembly import Assembly
from windrow.logical.bind.relational.block import Block, Item
from windrow.logical.bind.relational.columns import EVALUATION, is_evaluation, part_column, parts_of
from windrow.logical.bind.relational.parts import Result
from windrow.logical.tree import Column, Compute

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlglot import exp

    from windrow.cql import TimeWindowNode
    from windrow.logical.bind.relational.statement import Statement
    from windrow.logical.tree import Node


def exact(statement: Statement, block: Block, names: Sequence[str]) -> Compute:
    """The tree of a block with the columns that it selects, under these names, but window_start and
    window_end."""
    assembly = Assembly(statement, block)
    items: list[tuple[Column, str]] = []
    for item in plain_items(block):
        if EVALUATION in parts_of(item.meant):
            raise statement.problem(
                "an expression over window_start or window_end can only be computed at the top of a query",
                item.at,
                "select window_end as it is, and compute with it in the SELECT around all others",
            )
        sql = assembly.sql(item.meant, item.type)
        items.append((Column(names[len(items)], item.type), sql))
    if not items:  # of rows without columns nobody could say how many there are
        items.append((Column(statement.names.unique("1"), pa.int32()), "1"))
    return Compute(assembly.node(), tuple(items))


def plain_items(block: Block) -> list[Item]:
    """What a block selects, but window_start and window_end: they are the same for all rows of an
    evaluation."""
    return [item for item in block.items if not is_evaluation(item.meant)]


def names_in(statement: Statement, block: Block, label: str = "") -> list[str]:
    """New names for the columns that a block selects; `label`: what the block is called in FROM."""
    prefix = f"{label}." if label else ""
    return [statement.names.unique(f"{prefix}{item.name}") for item in plain_items(block)]


def result_of(statement: Statement, block: Block, label: str, make: Callable[[Node], Node]) -> Block:
    """The block that selects all that a block does, from what is made of its rows."""
    node = make(exact(statement, block, names_in(statement, block, label)))
    return selecting_all(statement, node, block.items, block.windows, block.at)


def selecting_all(
    statement: Statement, node: Node, items: Sequence[Item], windows: Sequence[TimeWindowNode], at: exp.Expr
) -> Block:
    """The block that selects these items from a node, whose columns they are."""
    part = result_part(statement, node, windows, at)
    columns = iter(node.columns)
    over_node = [
        item
        if is_evaluation(item.meant)
        else Item(item.name, part_column(part.key, next(columns).name), item.type, item.at)
        for item in items
    ]
    return Block({part.key: part}, over_node, at)


def result_part(statement: Statement, node: Node, windows: Sequence[TimeWindowNode], at: exp.Expr) -> Result:
    """A node as a part of a block, whose rows have come through these windows."""
    return Result(
        key=statement.new_key(), label="subquery", at=at, names=statement.names,
        of=node, came_through=tuple(windows),
    )  # fmt: skip

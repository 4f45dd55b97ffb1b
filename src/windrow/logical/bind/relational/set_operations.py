"""UNION [ALL] and INTERSECT of blocks: columns go together by place, and have the types that Spark gives
both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.errors import StatementError
from windrow.logical.bind.questions import view_name
from windrow.logical.bind.relational import refusals
from windrow.logical.bind.relational.assembly import join
from windrow.logical.bind.relational.block import Block, Item
from windrow.logical.bind.relational.columns import is_evaluation
from windrow.logical.bind.relational.results import exact, names_in, plain_items, selecting_all
from windrow.logical.bind.relational.results_in_windows import refuse_windowless
from windrow.logical.bind.relational.sql_types import cast, sql_type
from windrow.logical.tree import Distinct, Union

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from windrow.logical.bind.relational.statement import Statement
    from windrow.logical.tree import Node


def sides_of(query: exp.SetOperation) -> list[exp.Expr]:
    """The queries that are united, or intersected. Of UNIONs in a row only the last may count: it leaves
    every different row once, whatever was done before."""
    left = query.this
    is_same = isinstance(query, exp.Union) and type(left) is type(query)
    if is_same and (query.args["distinct"] or not left.args["distinct"]) and not left.args.get("with_"):
        return [*sides_of(left), query.expression]
    return [left, query.expression]


def united(statement: Statement, query: exp.SetOperation, sides: Sequence[Block], label: str) -> Block:
    """The block that selects what comes of several."""
    word = query.key.upper()
    distinct = bool(query.args["distinct"])
    _check_columns(statement, query, sides)
    for side in sides:
        refuse_windowless(statement, side)
        refusals.refuse_above_group(statement, side, word, side.at)
        if distinct:
            refusals.refuse_internal(statement, side, word)
    with_types = _of_one_type(statement, query, sides)
    if distinct:
        refusals.refuse_maps(statement, plain_items(with_types[0]), word)
    node: Node
    if isinstance(query, exp.Intersect):
        node = _intersected(statement, with_types, label)
    else:
        names = names_in(statement, with_types[0], label)
        node = Union(tuple(exact(statement, side, names) for side in with_types))
        node = Distinct(node) if distinct else node
    windows = [window for side in sides for window in side.windows]
    return selecting_all(statement, node, with_types[0].items, windows, query)


def _intersected(statement: Statement, sides: Sequence[Block], label: str) -> Node:
    """The different rows that both have; NULLs are equal here."""
    left, right = (Distinct(exact(statement, side, names_in(statement, side, label))) for side in sides)
    keys = tuple((one.name, other.name) for one, other in zip(left.columns, right.columns, strict=True))
    return join(left, right, keys, kept=left, nulls_equal=True)


def _check_columns(statement: Statement, query: exp.SetOperation, sides: Sequence[Block]) -> None:
    first, *others = sides
    for side in others:
        if len(side.items) != len(first.items):
            raise statement.problem(
                f"{query.key.upper()} of {len(first.items)} and {len(side.items)} columns",
                side.at,
                "select as many columns in every part",
            )
        for one, other in zip(first.items, side.items, strict=True):
            if is_evaluation(one.meant) != is_evaluation(other.meant):
                raise statement.problem(
                    f"{query.key.upper()} of window_start or window_end with a column of rows",
                    other.at,
                    "leave it out: every evaluation has one window_end",
                )


def _of_one_type(statement: Statement, query: exp.SetOperation, sides: Sequence[Block]) -> list[Block]:
    """The sides, with columns of the types that Spark gives to both."""
    types = [[item.type for item in side.items] for side in sides]
    common = types[0]
    if any(one != common for one in types):
        common = _common_types(statement, query, types)
    return [
        Block(
            side.parts,
            [_as(statement, item, of_type) for item, of_type in zip(side.items, common, strict=True)],
            side.at,
            side.conditions,
            side.semi_joins,
        )
        for side in sides
    ]


def _as(statement: Statement, item: Item, of_type: pa.DataType) -> Item:
    if item.type == of_type:
        return item
    if sql_type(of_type) is None:
        raise statement.problem(
            f"'{item.name}' has another type here than in the other part, {item.type} and {of_type}",
            item.at,
            "CAST both to one type",
        )
    return Item(item.name, cast(item.meant, of_type), of_type, item.at)


def _common_types(
    statement: Statement, query: exp.SetOperation, types: Sequence[Sequence[pa.DataType]]
) -> list[pa.DataType]:
    relations = {
        f"part {place}": {f"_{i}": of_type for i, of_type in enumerate(side)}
        for place, side in enumerate(types, 1)
    }
    word = "INTERSECT" if isinstance(query, exp.Intersect) else "UNION ALL"
    sql = f" {word} ".join(f"SELECT * FROM {view_name(name)}" for name in relations)
    try:
        return list(statement.spark.describe(sql, relations).types)
    except StatementError as error:
        hint = error.hint or "CAST the columns to one type"
        raise statement.problem(error.problem.rstrip("."), query, hint) from error

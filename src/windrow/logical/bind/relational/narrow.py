"""Every edge of a tree carries only what somebody above wants: fewer columns to hand over, to keep and to
copy.

    join a, b keeping a.k, a.x, b.k, b.y          join a, b keeping b.y
    for a SELECT of b.y                     ──►   (a.k and b.k are needed below, a.x nowhere)

Where nothing at all is wanted of rows, they keep a column: rows without columns cannot be counted.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import TYPE_CHECKING

from windrow.columns import quoted
from windrow.logical.tree import Compute, Distinct, Evaluate, Group, Join, Node, Number, Rows, Union, Windowed

if TYPE_CHECKING:
    from collections.abc import Iterable

    Wanted = frozenset[str]


@singledispatch
def narrowed(node: Node, wanted: Wanted) -> Node:
    """A node with the columns that are wanted of it, and what is below with those that it needs itself."""
    raise TypeError(f"what does {type(node).__name__} need?")


@narrowed.register(Rows)
def _(node: Rows, wanted: Wanted) -> Node:
    kept = tuple(column for column in node.handed_over if column.name in wanted)
    return replace(node, handed_over=kept or node.handed_over[:1])


@narrowed.register(Compute)
def _(node: Compute, wanted: Wanted) -> Node:
    items = tuple(item for item in node.items if item[0].name in wanted) or node.items[:1]
    below = narrowed(node.of, _named_in(node.of, [sql for _, sql in items], node.where))
    if node.where is None and isinstance(below, Compute):
        # What is only renamed can as well be called so where it is computed.
        computed = {quoted(column.name): sql for column, sql in below.items}
        if all(sql in computed for _, sql in items):
            return Compute(below.of, tuple((column, computed[sql]) for column, sql in items), below.where)
    made = Compute(below, items, node.where)
    return below if not made.needs_spark and made.columns == below.columns else made


@narrowed.register(Join)
def _(node: Join, wanted: Wanted) -> Node:
    conditions = [node.condition] if node.condition is not None else []
    keys = {name for pair in node.keys for name in pair}
    left, right = (
        narrowed(side, (wanted | keys | _named_in(side, conditions)) & side.types.keys())
        for side in node.inputs
    )
    kept = tuple(name for name in node.kept if name in wanted) or node.kept[:1]
    if not set(kept) & (left.types.keys() | right.types.keys()):
        kept = (left.columns[0].name,)
    return replace(node, left=left, right=right, kept=kept)


@narrowed.register(Distinct)
def _(node: Distinct, wanted: Wanted) -> Node:
    if node.by is None:
        return replace(node, of=narrowed(node.of, frozenset(node.of.types)))
    return replace(node, of=narrowed(node.of, wanted | frozenset(node.by)))


@narrowed.register(Number)
def _(node: Number, wanted: Wanted) -> Node:
    return replace(node, of=narrowed(node.of, wanted - {node.name}))


@narrowed.register(Union)
def _(node: Union, wanted: Wanted) -> Node:
    wanted = wanted & frozenset(node.types) or frozenset({node.columns[0].name})
    return Union(tuple(narrowed(one, wanted) for one in node.all_of))


@narrowed.register(Group)
def _(node: Group, wanted: Wanted) -> Node:
    needed = frozenset((*node.keys, *(name for _, name in node.values)))
    return replace(node, of=narrowed(node.of, needed))


@narrowed.register(Evaluate)
def _(node: Evaluate, wanted: Wanted) -> Node:
    return replace(node, of=narrowed(node.of, wanted))


@narrowed.register(Windowed)
def _(node: Windowed, wanted: Wanted) -> Node:
    times = tuple(time for time in node.times if time[0].name in wanted)
    return replace(node, of=narrowed(node.of, wanted & node.of.types.keys()), times=times)


def _named_in(below: Node, expressions: Iterable[str], where: str | None = None) -> Wanted:
    """The columns of a node that expressions over it name; one more in a string does no harm."""
    texts = [*expressions, *([] if where is None else [where])]
    return frozenset(name for name in below.types if any(quoted(name) in text for text in texts))

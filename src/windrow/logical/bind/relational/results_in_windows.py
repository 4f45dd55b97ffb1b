"""The results of a query as a stream: a query that has a name, with a window behind that name in FROM.

    WITH late AS (SELECT origin, dep_delay FROM flights WHERE dep_delay > 30),
         minutes AS (SELECT origin, COUNT(*) AS n FROM late [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY origin)
    SELECT origin, MAX(n) FROM minutes [RANGE 1 DAY SLIDE 1 HOUR] GROUP BY origin

A query without a window hands on rows of a stream: it melts into the block around it, and the window is one
of that stream. Any other is bound by itself, with windows of its own, which nobody around it sees; each of
its results comes once, and the window says how long it lives. So they must not end by themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.columns import WINDOW_END
from windrow.cql import TimeWindowNode, window_of
from windrow.logical.bind.relational.block import Block, Item
from windrow.logical.bind.relational.columns import is_evaluation, part_column
from windrow.logical.bind.relational.parts import Port
from windrow.logical.bind.relational.results import exact, names_in, result_part
from windrow.logical.bind.relational.windows import Windows
from windrow.logical.patterns import UpdatePattern
from windrow.logical.tree import Column, Compute, Evaluate, Group, Node, Windowed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlglot import exp

    from windrow.logical.bind.relational.statement import Statement

ENDS = {
    UpdatePattern.WEAKEST: "in the order in which they came (weakest)",
    UpdatePattern.WEAK: "at times of their own (weak)",
    UpdatePattern.STRICT: "whenever they change (strict)",
}


def results_in_window(
    statement: Statement, node: exp.Table, bind: Callable[[], Block], label: str, *, named: bool
) -> Block:
    """The block that selects all results of a query.

    `node`: its name in FROM, and the window behind that; `named`: it is not written in this statement.
    """
    window = window_of(node)
    if window is not None and not isinstance(window, TimeWindowNode):
        raise statement.problem("a window of ROWS can only be aggregated, by itself", window, "use a RANGE")
    around, own = statement.windows, Windows(statement.query.text)
    statement.windows = own
    try:
        block = bind()
        port = windowless(block)
        if port is None:
            made = _with_evaluations(statement, exact(statement, block, names_in(statement, block, label)))
            _check_monotonic(statement, made, node, named=named)
        own.check_starts()
    finally:
        statement.windows = around
    if port is not None:
        port.at = node
        if window is not None:
            statement.windows.add(window, port.stream)
            port.window = window
        return block
    if window is None:
        raise needs_window(statement, node)
    statement.windows.add(window, own.stream)
    return _selecting(statement, block, made, window, own)


def windowless(block: Block) -> Port | None:
    """The stream without a window of which a block hands on rows; None if it does something else."""
    (part, *others) = block.parts.values()
    alone = not others and not block.semi_joins
    return part if alone and isinstance(part, Port) and part.window is None else None


def refuse_windowless(statement: Statement, block: Block) -> None:
    """An error if a stream has no window where it needs one."""
    blocks = [block, *(semi.block for semi in block.semi_joins)]
    for part in (part for one in blocks for part in one.parts.values()):
        if isinstance(part, Port) and part.window is None:
            raise needs_window(statement, part.at, part.stream.name)


def needs_window(statement: Statement, node: exp.Expr, stream: str = "") -> Exception:
    """The error that a stream, or the name of a query, stands in FROM without a window."""
    is_stream = node.name.lower() == stream.lower()
    what = f"stream '{stream}'" if is_stream else f"'{node.name}'"
    hint = f"write {stream if is_stream else node.name} [RANGE 1 HOUR]"
    return statement.problem(f"{what} needs a window", node, hint, name=True)


def is_evaluated(root: Node) -> bool:
    """Whether the rows of a tree are those of evaluations already."""
    while isinstance(root, Compute):
        root = root.of
    return isinstance(root, Group) and root.slide is not None


def _with_evaluations(statement: Statement, root: Node) -> Node:
    """A tree whose rows are the results of the query that it is of."""
    slide = statement.windows.slide
    if slide is None or is_evaluated(root):
        return root
    return Evaluate(root, slide, statement.windows.offset)


def _check_monotonic(statement: Statement, root: Node, node: exp.Table, *, named: bool) -> None:
    ends = ENDS.get(root.ends)
    if ends is not None and statement.windows.slide is None:
        other = "write its statement here as a sub-query" if named else "leave this one out"
        raise statement.problem(
            f"'{node.name}' cannot be a stream in FROM: its results end {ends}",
            node,
            f"give its windows a SLIDE, or make them INTERNAL; or {other}",
            name=True,
        )


def _selecting(statement: Statement, block: Block, root: Node, window: TimeWindowNode, own: Windows) -> Block:
    """The block that selects what a block selects from its results in a window."""
    times: dict[str, tuple[Column, int]] = {}

    def names() -> Iterator[str]:
        plain = iter(root.columns)
        for item in block.items:
            if not is_evaluation(item.meant):
                yield next(plain).name
                continue
            if item.meant.name not in times:
                # Results of an evaluation are of the last instant before its end.
                later = 1 if item.meant.name == WINDOW_END else 1 - (own.range or 0)
                name = statement.names.unique(item.name)
                times[item.meant.name] = (Column(name, item.type), later)
            yield times[item.meant.name][0].name

    found = list(names())
    node = Windowed(root, window.range, window.internal, tuple(times.values()))
    part = result_part(statement, node, [window], block.at)
    items = [
        Item(item.name, part_column(part.key, name), item.type, item.at)
        for item, name in zip(block.items, found, strict=True)
    ]
    return Block({part.key: part}, items, block.at)

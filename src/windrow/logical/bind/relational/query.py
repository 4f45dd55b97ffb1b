"""A statement that slices cannot answer, as a tree of operators.

1. `blocks`: each SELECT becomes a block: parts, conditions, what is selected; sub-queries melt into those
around. 2. `assembly`: the parts of a block are joined to a tree; what one part can compute alone is computed
there. 3. `narrow`: columns that nobody wants go. 4. What is left at the leaves is what is asked of the
streams.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from windrow.columns import quoted
from windrow.cql import RSTREAM, delivery_of
from windrow.logical.bind.refuse import refuse_functions
from windrow.logical.bind.relational.assembly import Assembly
from windrow.logical.bind.relational.blocks import Blocks
from windrow.logical.bind.relational.columns import EVALUATION, is_evaluation, over_edge, parts_of
from windrow.logical.bind.relational.from_items import Named
from windrow.logical.bind.relational.narrow import narrowed
from windrow.logical.bind.relational.refusals import refuse_unused
from windrow.logical.bind.relational.results import exact, names_in, plain_items
from windrow.logical.bind.relational.results_in_windows import is_evaluated, refuse_windowless, windowless
from windrow.logical.bind.relational.slices import as_aggregate
from windrow.logical.bind.relational.statement import Statement
from windrow.logical.query import Output
from windrow.logical.relational import RelationalQuery
from windrow.logical.tree import Evaluate, Rows

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from windrow.aggregates import Function
    from windrow.cql import Query
    from windrow.logical.aggregate import AggregateQuery
    from windrow.logical.bind.questions import Analyst
    from windrow.logical.bind.relational.block import Block, Item
    from windrow.logical.bind.relational.parts import Port
    from windrow.logical.query import BoundQuery
    from windrow.logical.relation import Relation
    from windrow.logical.select import SelectQuery
    from windrow.logical.tree import Node


def bind_relational(
    query: Query,
    relations: Mapping[str, Relation],
    spark: Analyst,
    functions: Mapping[str, Function],
    had: Sequence[str],
    queries: Collection[str],
) -> RelationalQuery | AggregateQuery | SelectQuery:
    """The plan of a query as a tree of operators; of one that slices can answer after all, as theirs, and of
    one that only hands on the rows of a stream, as that."""
    refuse_functions(query)
    statement = Statement(query, relations, spark, functions, had, queries)
    block = Blocks(statement).bind(query.select, Named(), top=True)
    statement.windows.check_starts()
    refuse_unused(query.text, query.select, statement.used)
    delivery = delivery_of(query.select)
    port = windowless(block)
    if port is not None:
        if delivery != RSTREAM:
            refuse_windowless(statement, block)
        return _rows(block, port)
    having = None
    if delivery != RSTREAM:
        root, outputs = _delivered(statement, block)
    elif block.groups is not None:
        root, (outputs, having) = block.groups, _over_groups(block)
        sliced = as_aggregate(statement, block.groups, outputs, having)
        if sliced is not None:
            _refuse_names_of_times(statement, block, sliced)
            return sliced
    else:
        root, outputs = _plain(statement, block)
    windows = statement.windows
    if windows.slide is not None and not is_evaluated(root):
        internal = all(window.internal for window in block.windows)
        root = Evaluate(root, windows.slide, windows.offset, internal)
    wanted = [sql for output in outputs for sql in (output.expression, quoted(output.answer or ""))]
    root = narrowed(
        root, frozenset(name for name in root.types if any(quoted(name) in sql for sql in wanted))
    )
    leaves = sorted((node for node in root.walk() if isinstance(node, Rows)), key=lambda leaf: leaf.port)
    reads = tuple(statement.ports[leaf.port].read(leaf.columns) for leaf in leaves)
    bound = RelationalQuery(
        scan=reads[0].scan,
        enrichments=(),
        where=None,
        outputs=tuple(outputs),
        having=having,
        root=root,
        reads=reads,
        delivery=delivery,
        slide=windows.slide,
        offset=windows.offset,
        warnings=tuple(statement.warnings),
    )
    _refuse_names_of_times(statement, block, bound)
    return bound


def _rows(block: Block, port: Port) -> SelectQuery:
    """The rows of a stream without a window, each answered by itself."""
    columns = [port.place(item.meant, item.type) for item in block.items]
    port.conditions += [condition.expression.meant for condition in block.conditions]
    read = port.read(columns)
    outputs = (
        replace(output, name=item.name) for output, item in zip(read.outputs, block.items, strict=True)
    )
    return replace(read, outputs=tuple(outputs))


def _refuse_names_of_times(statement: Statement, block: Block, bound: BoundQuery) -> None:
    """An error for a result column that is called as one that says when a result is of."""
    for item in block.items:
        if not _is_given(item) and item.name.lower() in bound.time_columns:
            raise statement.problem(
                f"two result columns are called '{item.name}'", item.at, "give one of them an alias"
            )


def _delivered(statement: Statement, block: Block) -> tuple[Node, list[Output]]:
    """What is new or gone is told by value: the tree has exactly the columns of the results."""
    for item in block.items:
        if EVALUATION in parts_of(item.meant) and not _is_given(item):
            raise statement.problem(
                "with window_start or window_end in it every result would be new at each evaluation",
                item.at,
                "select window_end as it is: it says when the change is of",
            )
    root = exact(statement, block, names_in(statement, block))
    pairs = zip(plain_items(block), root.columns, strict=False)
    return root, [Output(item.name, quoted(c.name), item.type, answer=c.name) for item, c in pairs]


def _over_groups(block: Block) -> tuple[list[Output], str | None]:
    """The SELECT list and HAVING over the answers of a GROUP BY at the top."""
    outputs = [
        Output(
            item.name,
            over_edge(item.meant, _name),
            item.type,
            answer=item.meant.name if isinstance(item.meant, exp.Column) else None,
        )
        for item in block.items
        if not _is_given(item)
    ]
    conditions = [condition.expression.meant for condition in block.conditions]
    return outputs, over_edge(exp.and_(*conditions), _name) if conditions else None


def _plain(statement: Statement, block: Block) -> tuple[Node, list[Output]]:
    """The SELECT list over the tree of a block."""
    assembly = Assembly(statement, block)
    outputs = []
    for item in block.items:
        if _is_given(item):
            continue
        sql = assembly.sql(item.meant, item.type)
        outputs.append((item, sql))
    root = assembly.node()
    by_sql = {quoted(name): name for name in root.types}
    return root, [
        Output(item.name, sql, item.type, item.meant.name if is_evaluation(item.meant) else by_sql.get(sql))
        for item, sql in outputs
    ]


def _is_given(item: Item) -> bool:
    """Whether a result column is one that every result has, by the same name."""
    return is_evaluation(item.meant) and item.name.lower() == item.meant.name


def _name(column: exp.Column) -> str:
    return str(column.name)

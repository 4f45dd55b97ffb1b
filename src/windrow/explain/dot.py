"""The overview as a graph in Graphviz's language: stream, passes, classes, trees, from left to right.

Trees of operators stand beside it, with the update pattern of every edge.

Of many classes, those of a grouping are one node; of many trees, those of a class or grouping are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.explain.overview import relational
from windrow.explain.summary import MOST_CLASSES, edges, groupings, savings, windows
from windrow.explain.words import repeats_after, shortened, some

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from windrow.explain.overview import ClassOverview, StreamOverview, TreeOverview
    from windrow.logical import RelationalQuery
    from windrow.logical.patterns import UpdatePattern
    from windrow.logical.tree import Node

MOST_TREES = 60


def dot(streams: Sequence[StreamOverview]) -> str:
    """The text of a .dot file."""
    lines = ["digraph plan {", "  rankdir=LR;", '  node [shape=box, fontname="Helvetica", fontsize=10];']
    for number, stream in enumerate(streams):
        lines += [f"  {line}" for line in _stream(f"s{number}", stream)]
    for number, (name, query) in enumerate(relational(streams).items()):
        at = f"q{number}"
        lines += [f"  {line}" for line in _operators(at, query.root, query)]
        lines.append(f"  {_node(at, [f'query {name}', query.steps()[0]])}")
        lines.append(f"  {at}_0 -> {at} {_how(query.pattern)};")
    return "\n".join([*lines, "}"]) + "\n"


def _operators(at: str, node: Node, query: RelationalQuery, place: str = "0") -> Iterator[str]:
    """A node of a tree of operators and all below it, with how the rows of each end."""
    yield _node(f"{at}_{place}", [query.said_of(node)])
    for number, below in enumerate(node.inputs):
        yield from _operators(at, below, query, f"{place}_{number}")
        yield f"{at}_{place}_{number} -> {at}_{place} {_how(below.pattern)};"


def _how(pattern: UpdatePattern) -> str:
    return f'[label="{pattern.value}"]'


def _stream(at: str, stream: StreamOverview) -> Iterator[str]:
    cost = savings(stream.cost, stream.alone) if stream.classes else ""
    yield _node(at, [f"stream {stream.name}", some(stream.queries, "query"), cost])
    passes: dict[str, int] = {}
    for number, shared in enumerate(stream.passes):
        queries = stream.queries_of(shared)
        yield _node(f"{at}_p{number}", [f"pass {number + 1}", some(len(queries), "query")])
        yield f"{at} -> {at}_p{number};"
        for name in queries:
            passes.setdefault(name, number)
    many = len(stream.classes) > MOST_CLASSES
    bundles = list(groupings(stream.classes).items()) if many else [(c.title, [c]) for c in stream.classes]
    few_trees = len(stream.trees) <= MOST_TREES
    for number, (title, classes) in enumerate(bundles):
        names = [name for one in classes for name in one.queries]
        here = f"{at}_c{number}"
        counted = f"{some(len(classes), 'class')}, " if len(classes) > 1 else ""
        yield _node(here, [title, f"{counted}{some(len(names), 'query')}", _saved(classes)])
        for source in sorted({passes[name] for name in names}):
            yield f"{at}_p{source} -> {here};"
        trees = [tree for one in classes for tree in one.trees]
        for group in [[tree] for tree in trees] if few_trees else [trees]:
            yield _node(f"{here}_t{group[0].number}", list(_trees(group)))
            yield f"{here} -> {here}_t{group[0].number};"
    if stream.own:
        yield _node(f"{at}_own", [stream.own_title, some(len(stream.own), "query")])
        for source in sorted({passes[name] for name in stream.own}):
            yield f"{at}_p{source} -> {at}_own;"


def _trees(trees: Sequence[TreeOverview]) -> Iterator[str]:
    if len(trees) > 1:
        yield some(len(trees), "tree")
        yield some(sum(len(tree.queries) for tree in trees), "query")
        return
    (tree,) = trees
    yield f"tree {tree.number}: {some(len(tree.queries), 'query')}"
    yield windows(tree.windows)
    yield f"composite slide {repeats_after(tree.composite_slide)}, {edges(tree)}"
    yield ", ".join(dict.fromkeys(structure.name for structure in tree.structures))
    yield savings(tree.cost, tree.alone)


def _saved(classes: Iterable[ClassOverview]) -> str:
    listed = list(classes)
    return savings(sum(one.cost for one in listed), sum(one.alone for one in listed))


def _node(name: str, lines: Iterable[str]) -> str:
    shown = (shortened(line, 80).replace("\\", "\\\\").replace('"', '\\"') for line in lines if line)
    label = "".join(f"{line}\\l" for line in shown)
    return f'{name} [label="{label}"];'

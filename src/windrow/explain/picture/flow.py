"""The left half of the picture: queries flow from the stream through its passes and classes to the trees.

Heights are numbers of queries, colours are groupings. Many classes stand together by grouping, and nodes that
would be thinner than a pixel stand as one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.explain.picture.colours import FAINT, OWN
from windrow.explain.picture.labels import tree_hint, tree_name
from windrow.explain.sheet import Area, fitted
from windrow.explain.summary import MOST_CLASSES, groupings, savings
from windrow.explain.words import some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.explain.overview import StreamOverview, TreeOverview
    from windrow.explain.sheet import Sheet

NODE, GAP = 12.0, 8.0
MOST_NODES = 600
"""In a column; it has no more pixels."""


@dataclass
class _Node:
    """Queries that stand together in a column of the flow."""

    label: str
    colour: str
    hint: str
    queries: list[str]
    cluster: int = 0
    """Nodes of one cluster stand close to each other."""
    top: float = 0.0
    height: float = 0.0


def draw_flow(
    sheet: Sheet,
    stream: StreamOverview,
    colours: dict[int, str],
    chosen: set[int],
    area: Area,
) -> None:
    """Four columns; ribbons lead queries from one to the next. Trees that are `chosen`, by identity, are
    named."""
    left_end, top, width, height = area
    right_end = left_end + width
    columns = [_stream_node(stream), _pass_nodes(stream), _class_nodes(stream, colours)]
    trees, tagged = _tree_nodes(stream, colours, chosen)
    columns.append(trees)
    lefts = [left_end, left_end + 130, left_end + 290, right_end - 110]
    titles = ["stream", "passes", "classes", "trees"]
    for nodes in columns:
        _stack(nodes, top + 18, height - 18)
    for nodes, following, left, right in zip(columns, columns[1:], lefts, lefts[1:], strict=False):
        _ribbons(sheet, nodes, following, left + NODE, right)
    for number, (nodes, left, title) in enumerate(zip(columns, lefts, titles, strict=True)):
        sheet.text(left, top + 8, title, 11, FAINT)
        room = (lefts[number + 1] if number < 3 else right_end) - left - NODE - 10
        for node in nodes:
            sheet.box(left, node.top, NODE, node.height, node.colour, hint=node.hint)
        if number < 3:
            _labels(sheet, nodes, left + NODE + 5, room)
    x = lefts[3] + NODE
    _tags(sheet, tagged, Area(x, top + 18, right_end - x, height - 18))


def _stack(nodes: list[_Node], top: float, height: float) -> None:
    """One below the other, heights by numbers of queries, clusters apart."""
    clusters = len({node.cluster for node in nodes})
    gap = min(GAP, 0.3 * height / max(clusters, 1))
    total = sum(len(node.queries) for node in nodes)
    scale = (height - gap * (clusters - 1)) / max(total, 1)
    for place, node in enumerate(nodes):
        if place and node.cluster != nodes[place - 1].cluster:
            top += gap
        node.top, node.height = top, scale * len(node.queries)
        top += node.height


def _ribbons(sheet: Sheet, nodes: Sequence[_Node], following: Sequence[_Node], x: float, to_x: float) -> None:
    where = {name: place for place, node in enumerate(following) for name in node.queries}
    filled = [node.top for node in following]
    for node in nodes:
        leaving = Counter(where[name] for name in node.queries)
        top = node.top
        for place in sorted(leaving):
            target, share = following[place], leaving[place]
            bottom = top + node.height * share / len(node.queries)
            to_top = filled[place]
            to_bottom = to_top + target.height * share / len(target.queries)
            sheet.ribbon(x, top, bottom, to_x, to_top, to_bottom, target.colour)
            top, filled[place] = bottom, to_bottom


def _labels(sheet: Sheet, nodes: Sequence[_Node], x: float, room: float, size: float = 11) -> None:
    """Beside the nodes, where there is room between them."""
    clusters: dict[int, list[_Node]] = {}
    for node in nodes:
        clusters.setdefault(node.cluster, []).append(node)
    below = -1e9
    for together in clusters.values():
        first, last = together[0], together[-1]
        middle = (first.top + last.top + last.height) / 2
        text = fitted(first.label, room, size)
        if text and middle - size / 2 >= below:
            sheet.text(x, middle + size * 0.36, text, size)
            below = middle + size * 0.75


def _stream_node(stream: StreamOverview) -> list[_Node]:
    names = [name for one in stream.classes for name in one.queries] + list(stream.own)
    return [_Node(stream.name, "#4d4d4d", some(stream.queries, "query"), names)]


def _pass_nodes(stream: StreamOverview) -> list[_Node]:
    """The pass that a query takes first; a few queries take several."""
    nodes: list[_Node] = []
    placed: set[str] = set()
    for number, shared in enumerate(stream.passes, start=1):
        queries = stream.queries_of(shared)
        names = [name for name in queries if name not in placed]
        placed.update(names)
        kind = type(shared).__name__
        hint = f"pass {number}: {some(len(queries), 'query')} ({kind})"
        label = f"pass {number}" if len(stream.passes) > 1 else "1 pass"
        if names:
            nodes.append(_Node(label, "#6f6f6f", hint, names, number))
    return nodes


def _class_nodes(stream: StreamOverview, colours: dict[int, str]) -> list[_Node]:
    many = len(stream.classes) > MOST_CLASSES
    nodes: list[_Node] = []
    for place, (grouping, classes) in enumerate(groupings(stream.classes).items()):
        for one in classes:
            label = f"{grouping}: {some(len(classes), 'class')}" if many else one.title
            hint = f"class {one.number}: {one.title}\n{some(len(one.queries), 'query')}, "
            hint += f"{some(len(one.trees), 'tree')}\n{savings(one.cost, one.alone)}"
            cluster = place if many else len(nodes)
            nodes.append(_Node(label, colours[id(one.trees[0])], hint, list(one.queries), cluster))
    if stream.own:
        nodes.append(_Node(stream.own_title, OWN, "", list(stream.own), len(nodes)))
    return _merged(nodes, "class")


def _tree_nodes(
    stream: StreamOverview, colours: dict[int, str], chosen: set[int]
) -> tuple[list[_Node], list[tuple[_Node, TreeOverview]]]:
    nodes: list[_Node] = []
    tagged: list[tuple[_Node, TreeOverview]] = []
    for classes in groupings(stream.classes).values():
        for one in classes:
            for tree in one.trees:
                node = _Node("", colours[id(tree)], tree_hint(tree), list(tree.queries), len(nodes))
                nodes.append(node)
                if id(tree) in chosen:
                    tagged.append((node, tree))
    if stream.own:
        nodes.append(_Node("", OWN, stream.own_title, list(stream.own), len(nodes)))
    return _merged(nodes, "tree", [node for node, _ in tagged]), tagged


def _merged(nodes: list[_Node], what: str, kept: Sequence[_Node] = ()) -> list[_Node]:
    """Neighbours as one, where there are more nodes than can be seen."""
    most = -(-len(nodes) // MOST_NODES)
    if most <= 1:
        return nodes
    named = set(map(id, kept))
    merged: list[_Node] = []
    count = 0
    for node in nodes:
        last = merged[-1] if merged else None
        if last is None or count == most or last.colour != node.colour or {id(last), id(node)} & named:
            merged.append(node)
            count = 1
        else:
            count += 1
            last.queries = last.queries + node.queries
            last.hint = f"{some(count, what)}: {some(len(last.queries), 'query')}"
    return merged


def _tags(sheet: Sheet, tagged: list[tuple[_Node, TreeOverview]], area: Area) -> None:
    """The names of the trees that have a panel, pushed apart where they would overlap."""
    size, step, x = 11.0, 15.0, area.x
    wanted = [node.top + node.height / 2 for node, _ in tagged]
    places: list[float] = []
    for middle in wanted:
        places.append(max(middle, area.y + step / 2, places[-1] + step if places else area.y))
    limit = area.y + area.height - step / 2
    for i in range(len(places) - 1, -1, -1):
        places[i] = min(places[i], limit)
        limit = places[i] - step
    for (_, tree), middle, place in zip(tagged, wanted, places, strict=True):
        sheet.line(x, middle, x + 14, place, "#9a9a9a")
        sheet.text(x + 17, place + size * 0.36, fitted(tree_name(tree), area.width - 17, size), size)

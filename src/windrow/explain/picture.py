"""The overview as a drawing: where the rows of a stream flow, and what the trees look like.

1. A headline with the totals, and two bars: the plan's cost, and what it would be without sharing.
2. On the left, a flow from the stream through its passes and classes to the trees; heights are numbers of
   queries, colours are groupings. Many classes stand together by grouping.
3. On the right, panels of the largest trees and one of all others: each window a dot, its slide to the
   right and its range upwards, on axes that all panels share.

Labels stand only where they have room, so the picture has one size for three queries and for ten thousand.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import log10, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from windrow.explain.sheet import Sheet, fitted, width_of
from windrow.explain.summary import (
    MOST_CLASSES,
    assumptions,
    counts,
    edges,
    groupings,
    rates,
    savings,
    windows,
)
from windrow.explain.words import (
    of_a_core,
    repeats_after,
    saves,
    short_duration,
    some,
)
from windrow.planner.sharing import WindowSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.explain.overview import StreamOverview, TreeOverview

WIDTH, MARGIN = 1400.0, 28.0
FLOW, PANELS = (MARGIN, 660.0), (690.0, WIDTH - MARGIN)
NODE, GAP = 12.0, 8.0
MOST_PANELS = 12
RADIUS = {30: 4.0, 200: 2.8, 2000: 1.6}
"""Of the dot of one query, by the number of queries in the fullest panel."""
MOST_NODES = 600
"""In a column; it has no more pixels."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#8c6d31")
"""Told apart by the colour-blind too."""
OWN, INK, FAINT, PALE = "#8a8a8a", "#222222", "#767676", "#e4e4e4"
TICKS = {
    "1 µs": 1e0, "1 ms": 1e3, "1 s": 1e6, "10 s": 1e7, "1 min": 6e7, "10 min": 6e8, "1 h": 3.6e9,
    "6 h": 2.16e10, "1 d": 8.64e10, "7 d": 6.048e11, "30 d": 2.592e12, "1 y": 3.15576e13,
}  # fmt: skip


def picture(streams: Sequence[StreamOverview]) -> Sheet:
    """All streams, one below the other."""
    sheet = Sheet(WIDTH)
    top = MARGIN
    for stream in streams:
        top = _stream(sheet, stream, top) + 2 * MARGIN
    if not streams:
        sheet.text(MARGIN, top + 16, "no queries", 16, bold=True)
        top += 3 * MARGIN
    sheet.height = top - MARGIN
    return sheet


def _stream(sheet: Sheet, stream: StreamOverview, top: float) -> float:
    colours = _colours(stream)
    top = _headline(sheet, stream, top)
    shown = sorted(stream.trees, key=lambda tree: (-len(tree.queries), -tree.cost))[:MOST_PANELS]
    if len(stream.trees) > MOST_PANELS:
        shown = shown[: MOST_PANELS - 1]
    chosen = set(map(id, shown))
    in_order = [tree for some in groupings(stream.classes).values() for one in some for tree in one.trees]
    shown = [tree for tree in in_order if id(tree) in chosen]
    rest = [tree for tree in in_order if id(tree) not in chosen]
    panels = len(shown) + bool(rest)
    columns = 1 if panels <= 1 else 2 if panels <= 4 else 3
    rows = -(-panels // columns)
    height = {1: 300.0, 2: 236.0, 3: 204.0}[columns]
    body = max(rows * (height + GAP) - GAP, 240.0)
    _flow(sheet, stream, colours, chosen, top, body)
    if panels:
        width = (PANELS[1] - PANELS[0] - (columns - 1) * 1.5 * GAP) / columns
        axes = _Axes.of([[tree] for tree in shown] + [rest][: bool(rest)])
        places = [
            (PANELS[0] + (i % columns) * (width + 1.5 * GAP), top + (i // columns) * (height + GAP))
            for i in range(panels)
        ]
        for tree, (x, y) in zip(shown, places, strict=False):
            _panel(sheet, [tree], colours, axes, _Frame(x, y, width, height))
        if rest:
            _panel(sheet, rest, colours, axes, _Frame(*places[-1], width, height))
    return _legend(sheet, stream, top + body + GAP)


def _colours(stream: StreamOverview) -> dict[int, str]:
    """Of each tree, by its identity: the colour of its grouping."""
    return {
        id(tree): COLOURS[place % len(COLOURS)]
        for place, classes in enumerate(groupings(stream.classes).values())
        for one in classes
        for tree in one.trees
    }


# the headline


def _headline(sheet: Sheet, stream: StreamOverview, top: float) -> float:
    title = f"{stream.name}: {counts(stream)}"
    sheet.text(MARGIN, top + 16, fitted(title, WIDTH - 2 * MARGIN, 19), 19, bold=True)
    if not stream.classes:
        return top + 44
    sheet.text(MARGIN, top + 38, fitted(assumptions(stream), WIDTH - 2 * MARGIN, 12), 12, FAINT)
    left, full = MARGIN + 120, 440.0
    longest = max(stream.alone, stream.cost)
    for row, (label, cost, colour) in enumerate(
        [("each query alone", stream.alone, "#b8b8b8"), ("this plan", stream.cost, "#009e73")]
    ):
        y = top + 52 + 20 * row
        length = max(2.0, full * cost / longest) if longest else 2.0
        sheet.text(left - 8, y + 12, label, 12, anchor="right")
        sheet.box(left, y, length, 15, colour, hint=f"{label}: {of_a_core(cost)}")
        sheet.text(left + length + 8, y + 12, of_a_core(cost), 12, bold=True)
    saved = _sentence(saves(stream.alone, stream.cost))
    sheet.text(PANELS[0] + 60, top + 80, saved, 22, "#00674b", bold=True)
    return top + 112


# the flow


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


def _flow(
    sheet: Sheet,
    stream: StreamOverview,
    colours: dict[int, str],
    chosen: set[int],
    top: float,
    height: float,
) -> None:
    """Four columns; ribbons lead queries from one to the next."""
    columns = [_stream_node(stream), _pass_nodes(stream), _class_nodes(stream, colours)]
    trees, tagged = _tree_nodes(stream, colours, chosen)
    columns.append(trees)
    lefts = [FLOW[0], FLOW[0] + 130, FLOW[0] + 290, FLOW[1] - 110]
    titles = ["stream", "passes", "classes", "trees"]
    for nodes in columns:
        _stack(nodes, top + 18, height - 18)
    for nodes, following, left, right in zip(columns, columns[1:], lefts, lefts[1:], strict=False):
        _ribbons(sheet, nodes, following, left + NODE, right)
    for number, (nodes, left, title) in enumerate(zip(columns, lefts, titles, strict=True)):
        sheet.text(left, top + 8, title, 11, FAINT)
        room = (lefts[number + 1] if number < 3 else FLOW[1]) - left - NODE - 10
        for node in nodes:
            sheet.box(left, node.top, NODE, node.height, node.colour, hint=node.hint)
        if number < 3:
            _labels(sheet, nodes, left + NODE + 5, room)
    _tags(sheet, tagged, lefts[3] + NODE, top + 18, top + height)


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
                node = _Node("", colours[id(tree)], _hint(tree), list(tree.queries), len(nodes))
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


def _tags(
    sheet: Sheet, tagged: list[tuple[_Node, TreeOverview]], x: float, top: float, bottom: float
) -> None:
    """The names of the trees that have a panel, pushed apart where they would overlap."""
    size, step = 11.0, 15.0
    wanted = [node.top + node.height / 2 for node, _ in tagged]
    places: list[float] = []
    for middle in wanted:
        places.append(max(middle, top + step / 2, places[-1] + step if places else top))
    limit = bottom - step / 2
    for i in range(len(places) - 1, -1, -1):
        places[i] = min(places[i], limit)
        limit = places[i] - step
    for (_, tree), middle, place in zip(tagged, wanted, places, strict=True):
        sheet.line(x, middle, x + 14, place, "#9a9a9a")
        sheet.text(x + 17, place + size * 0.36, fitted(_name(tree), FLOW[1] - x - 17, size), size)


# the panels


class _Frame(NamedTuple):
    """A part of the sheet."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class _Axes:
    """The decades that all panels show: of slides to the right, of ranges upwards."""

    slides: tuple[float, float]
    ranges: tuple[float, float]
    radius: float
    """Of the dot of one query."""

    @classmethod
    def of(cls, panels: Sequence[Sequence[TreeOverview]]) -> _Axes:
        together = WindowSet.union([tree.windows for trees in panels for tree in trees])
        most = max(sum(len(tree.queries) for tree in trees) for trees in panels)
        radius = next((size for queries, size in RADIUS.items() if most <= queries), 0.8)
        return cls(_limits(together.slides), _limits(together.ranges), radius)


def _limits(sizes: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> tuple[float, float]:
    """Logarithms, with a margin, at least two decades."""
    low, high = log10(float(sizes.min())), log10(float(sizes.max()))
    wider = max(0.25, (2.0 - (high - low)) / 2)
    return low - wider, high + wider


def _panel(
    sheet: Sheet, trees: list[TreeOverview], colours: dict[int, str], axes: _Axes, frame: _Frame
) -> None:
    colour = colours[id(trees[0])]
    together = WindowSet.union([tree.windows for tree in trees], disjoint=False)
    queries = sum(len(tree.queries) for tree in trees)
    cost, alone = sum(tree.cost for tree in trees), sum(tree.alone for tree in trees)
    second = some(len(together), "window")
    if len(trees) == 1:
        (tree,) = trees
        title, hint = f"{_name(tree)}: {some(queries, 'query')}", _hint(tree)
        second += f", {edges(tree).removesuffix(' a second')}/s"
        third = f"composite slide {repeats_after(tree.composite_slide)}"
        if frame.width > 300:
            third += f"; {', '.join(dict.fromkeys(structure.name for structure in tree.structures))}"
    else:
        title = hint = f"the other {some(len(trees), 'tree')}"
        second = f"{some(queries, 'query')}, {second}"
        third = f"{rates(trees)} edges/s each"
    fourth = f"{of_a_core(cost)}, alone {of_a_core(alone).removesuffix(' of a core')}"
    room = frame.width - 18
    sheet.box(*frame, "#ffffff", PALE, hint)
    sheet.box(frame.x, frame.y, 4, frame.height, colour if len(trees) == 1 else OWN)
    sheet.text(frame.x + 12, frame.y + 17, fitted(title, room, 11.5), 11.5, bold=True)
    for row, text in enumerate((second, third, fourth)):
        sheet.text(frame.x + 12, frame.y + 32 + 13 * row, fitted(text, room, 9.5), 9.5)
    plot = _Frame(frame.x + 48, frame.y + 68, frame.width - 60, frame.height - 68 - 20)
    _grid(sheet, axes, plot)
    if len(trees) == 1:
        _dots(sheet, together, colour, axes, plot)
    else:
        for of_colour in dict.fromkeys(colours[id(tree)] for tree in trees):
            some_trees = [tree.windows for tree in trees if colours[id(tree)] == of_colour]
            _dots(sheet, WindowSet.union(some_trees, disjoint=False), of_colour, axes, plot)


def _grid(sheet: Sheet, axes: _Axes, plot: _Frame) -> None:
    sheet.box(*plot, "#fafafa")
    right_of, above = -1e9, 1e9
    for label, size in TICKS.items():
        x, y = _x(axes, plot, log10(size)), _y(axes, plot, log10(size))
        width = width_of(label, 9)
        if plot.x <= x <= plot.x + plot.width and x - width / 2 > right_of + 4:
            sheet.line(x, plot.y, x, plot.y + plot.height, PALE)
            sheet.text(x, plot.y + plot.height + 11, label, 9, FAINT, "center")
            right_of = x + width / 2
        if plot.y <= y <= plot.y + plot.height and y < above - 13:
            sheet.line(plot.x, y, plot.x + plot.width, y, PALE)
            sheet.text(plot.x - 4, y + 3, label, 9, FAINT, "right")
            above = y
    low = max(axes.slides[0], axes.ranges[0])
    high = min(axes.slides[1], axes.ranges[1])
    if low < high:
        x, y, to_x, to_y = (f(axes, plot, at) for at in (low, high) for f in (_x, _y))
        sheet.line(x, y, to_x, to_y, "#b0b0b0", dashed=True)
    sheet.text(plot.x + plot.width - 4, plot.y + plot.height - 4, "slide →", 9, FAINT, "right")
    sheet.text(plot.x + 4, plot.y + 10, "↑ range", 9, FAINT)


def _dots(sheet: Sheet, asked: WindowSet, colour: str, axes: _Axes, plot: _Frame) -> None:
    """A dot for each place with windows; those nearer than they are large are one."""
    places: dict[tuple[int, int], list[int]] = {}
    for i, (length, slide, _) in enumerate(asked.rows.tolist()):
        x, y = _x(axes, plot, log10(slide)), _y(axes, plot, log10(length))
        places.setdefault((round(x / 3), round(y / 3)), []).append(i)
    for members in places.values():
        length, slide, _ = asked.rows[members[0]].tolist()
        queries = int(asked.queries[members].sum())
        x, y = _x(axes, plot, log10(slide)), _y(axes, plot, log10(length))
        hint = f"RANGE {short_duration(length)} SLIDE {short_duration(slide)}"
        hint += f" and {len(members) - 1} near" if len(members) > 1 else ""
        radius = min(axes.radius * sqrt(queries), 2 + 1.5 * axes.radius)
        sheet.dot(x, y, radius, colour, f"{hint}: {some(queries, 'query')}")


def _x(axes: _Axes, plot: _Frame, place: float) -> float:
    low, high = axes.slides
    return plot.x + plot.width * (place - low) / (high - low)


def _y(axes: _Axes, plot: _Frame, place: float) -> float:
    low, high = axes.ranges
    return plot.y + plot.height * (high - place) / (high - low)


def _legend(sheet: Sheet, stream: StreamOverview, top: float) -> float:
    words = "Left: heights are numbers of queries, colours are groupings."
    if stream.classes:
        words += " Right: the largest trees; a dot is a window, its area the number of queries; dashed: "
        words += "range = slide; ≈: estimated. Costs are without writing results."
    sheet.text(MARGIN, top + 12, fitted(words, WIDTH - 2 * MARGIN, 10.5), 10.5, FAINT)
    return top + 16


def _name(tree: TreeOverview) -> str:
    return f"tree {tree.number}"


def _hint(tree: TreeOverview) -> str:
    runs = "running" if tree.runs else "planned"
    structures = "\n".join(f"{s.name} for {s.operation}: {s.reason}" for s in tree.structures[:8])
    return (
        f"{_name(tree)} ({runs}): {some(len(tree.queries), 'query')}; {windows(tree.windows)}\n"
        f"composite slide {repeats_after(tree.composite_slide)}, {edges(tree)}\n"
        f"{savings(tree.cost, tree.alone)}\n{structures}"
    )


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]

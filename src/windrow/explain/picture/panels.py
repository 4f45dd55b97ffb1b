"""The right half of the picture: a panel a tree, and one for all others, on axes that all panels share.

Each window is a dot, its slide to the right and its range upwards, by their logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log10, sqrt
from typing import TYPE_CHECKING

import numpy as np

from windrow.explain.picture.colours import FAINT, OWN, PALE
from windrow.explain.picture.labels import tree_hint, tree_name
from windrow.explain.sheet import Area, fitted, width_of
from windrow.explain.summary import edges, rates
from windrow.explain.words import of_a_core, repeats_after, short_duration, some
from windrow.planner.sharing import WindowSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.explain.overview import TreeOverview
    from windrow.explain.sheet import Sheet

RADIUS = {30: 4.0, 200: 2.8, 2000: 1.6}
"""Of the dot of one query, by the number of queries in the fullest panel."""
TICKS = {
    "1 µs": 1e0, "1 ms": 1e3, "1 s": 1e6, "10 s": 1e7, "1 min": 6e7, "10 min": 6e8, "1 h": 3.6e9,
    "6 h": 2.16e10, "1 d": 8.64e10, "7 d": 6.048e11, "30 d": 2.592e12, "1 y": 3.15576e13,
}  # fmt: skip


@dataclass(frozen=True)
class Axes:
    """The decades that all panels show: of slides to the right, of ranges upwards."""

    slides: tuple[float, float]
    ranges: tuple[float, float]
    radius: float
    """Of the dot of one query."""

    @classmethod
    def of(cls, panels: Sequence[Sequence[TreeOverview]]) -> Axes:
        """The axes that have room for all windows of all panels."""
        together = WindowSet.union([tree.windows for trees in panels for tree in trees])
        most = max(sum(len(tree.queries) for tree in trees) for trees in panels)
        radius = next((size for queries, size in RADIUS.items() if most <= queries), 0.8)
        return cls(_limits(together.slides), _limits(together.ranges), radius)


def _limits(sizes: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> tuple[float, float]:
    """Logarithms, with a margin, at least two decades."""
    low, high = log10(float(sizes.min())), log10(float(sizes.max()))
    wider = max(0.25, (2.0 - (high - low)) / 2)
    return low - wider, high + wider


def draw_panel(
    sheet: Sheet, trees: list[TreeOverview], colours: dict[int, str], axes: Axes, area: Area
) -> None:
    """One tree, or several in one panel: a few numbers, and the windows as dots."""
    colour = colours[id(trees[0])]
    together = WindowSet.union([tree.windows for tree in trees], disjoint=False)
    queries = sum(len(tree.queries) for tree in trees)
    cost, alone = sum(tree.cost for tree in trees), sum(tree.alone for tree in trees)
    second = some(len(together), "window")
    if len(trees) == 1:
        (tree,) = trees
        title, hint = f"{tree_name(tree)}: {some(queries, 'query')}", tree_hint(tree)
        second += f", {edges(tree).removesuffix(' a second')}/s"
        third = f"composite slide {repeats_after(tree.composite_slide)}"
        if area.width > 300:
            third += f"; {', '.join(dict.fromkeys(structure.name for structure in tree.structures))}"
    else:
        title = hint = f"the other {some(len(trees), 'tree')}"
        second = f"{some(queries, 'query')}, {second}"
        third = f"{rates(trees)} edges/s each"
    fourth = f"{of_a_core(cost)}, alone {of_a_core(alone).removesuffix(' of a core')}"
    room = area.width - 18
    sheet.box(*area, "#ffffff", PALE, hint)
    sheet.box(area.x, area.y, 4, area.height, colour if len(trees) == 1 else OWN)
    sheet.text(area.x + 12, area.y + 17, fitted(title, room, 11.5), 11.5, bold=True)
    for row, text in enumerate((second, third, fourth)):
        sheet.text(area.x + 12, area.y + 32 + 13 * row, fitted(text, room, 9.5), 9.5)
    plot = Area(area.x + 48, area.y + 68, area.width - 60, area.height - 68 - 20)
    _grid(sheet, axes, plot)
    if len(trees) == 1:
        _dots(sheet, together, colour, axes, plot)
    else:
        for of_colour in dict.fromkeys(colours[id(tree)] for tree in trees):
            some_trees = [tree.windows for tree in trees if colours[id(tree)] == of_colour]
            _dots(sheet, WindowSet.union(some_trees, disjoint=False), of_colour, axes, plot)


def _grid(sheet: Sheet, axes: Axes, plot: Area) -> None:
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


def _dots(sheet: Sheet, asked: WindowSet, colour: str, axes: Axes, plot: Area) -> None:
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


def _x(axes: Axes, plot: Area, place: float) -> float:
    low, high = axes.slides
    return plot.x + plot.width * (place - low) / (high - low)


def _y(axes: Axes, plot: Area, place: float) -> float:
    low, high = axes.ranges
    return plot.y + plot.height * (high - place) / (high - low)

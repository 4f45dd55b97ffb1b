"""The overview as a drawing: where the rows of a stream flow, and what the trees look like.

1. A headline with the totals, and two bars: the plan's cost, and what it would be without sharing.
2. On the left, a flow from the stream through its passes and classes to the trees; heights are numbers of
   queries, colours are groupings. Many classes stand together by grouping.
3. On the right, panels of the largest trees and one of all others: each window a dot, its slide to the
   right and its range upwards, on axes that all panels share.

4. Below, the trees of operators of queries that slices cannot answer.

Labels stand only where they have room, so the picture has one size for three queries and for ten thousand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.explain.overview import relational
from windrow.explain.picture.colours import FAINT, tree_colours
from windrow.explain.picture.flow import draw_flow
from windrow.explain.picture.operators import draw_operators
from windrow.explain.picture.panels import Axes, draw_panel
from windrow.explain.sheet import Area, Sheet, fitted
from windrow.explain.summary import assumptions, counts, groupings
from windrow.explain.words import of_a_core, saves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.explain.overview import StreamOverview

WIDTH, MARGIN, GAP = 1400.0, 28.0, 8.0
FLOW, PANELS = (MARGIN, 660.0), (690.0, WIDTH - MARGIN)
MOST_PANELS = 12


def picture(streams: Sequence[StreamOverview]) -> Sheet:
    """All streams, one below the other."""
    sheet = Sheet(WIDTH)
    top = MARGIN
    for stream in streams:
        top = _stream(sheet, stream, top) + 2 * MARGIN
    trees = relational(streams)
    if trees:
        top = draw_operators(sheet, trees, MARGIN, WIDTH - 2 * MARGIN, top) + 2 * MARGIN
    if not streams:
        sheet.text(MARGIN, top + 16, "no queries", 16, bold=True)
        top += 3 * MARGIN
    sheet.height = top - MARGIN
    return sheet


def _stream(sheet: Sheet, stream: StreamOverview, top: float) -> float:
    colours = tree_colours(stream)
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
    draw_flow(sheet, stream, colours, chosen, Area(FLOW[0], top, FLOW[1] - FLOW[0], body))
    if panels:
        width = (PANELS[1] - PANELS[0] - (columns - 1) * 1.5 * GAP) / columns
        axes = Axes.of([[tree] for tree in shown] + [rest][: bool(rest)])
        places = [
            (PANELS[0] + (i % columns) * (width + 1.5 * GAP), top + (i // columns) * (height + GAP))
            for i in range(panels)
        ]
        for tree, (x, y) in zip(shown, places, strict=False):
            draw_panel(sheet, [tree], colours, axes, Area(x, y, width, height))
        if rest:
            draw_panel(sheet, rest, colours, axes, Area(*places[-1], width, height))
    return _legend(sheet, stream, top + body + GAP)


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


def _legend(sheet: Sheet, stream: StreamOverview, top: float) -> float:
    words = "Left: heights are numbers of queries, colours are groupings."
    if stream.classes:
        words += " Right: the largest trees; a dot is a window, its area the number of queries; dashed: "
        words += "range = slide; ≈: estimated. Costs are without writing results."
    sheet.text(MARGIN, top + 12, fitted(words, WIDTH - 2 * MARGIN, 10.5), 10.5, FAINT)
    return top + 16


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]

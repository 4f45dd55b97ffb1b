"""The trees of operators: windows on the left, the answer on the right, and on every edge how its rows end.

A query is a band; its leaves stand below each other, and every operator in the middle of its inputs. Colours
of edges are update patterns. Of many queries the first ones are drawn, and the others counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.explain.picture.colours import FAINT
from windrow.explain.sheet import fitted
from windrow.logical.patterns import UpdatePattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from windrow.explain.sheet import Sheet
    from windrow.logical import RelationalQuery
    from windrow.logical.tree import Node

PATTERNS = {
    UpdatePattern.MONOTONIC: "#009e73",
    UpdatePattern.WEAKEST: "#56b4e9",
    UpdatePattern.WEAK: "#e69f00",
    UpdatePattern.STRICT: "#d55e00",
}
"""Told apart by the colour-blind too, from the one that asks least of those who keep rows to the most."""
MOST_QUERIES = 6
ROW, BOX, GAP, EDGE = 40.0, 28.0, 56.0, 5.0
SIZE = 11.0


def draw_operators(
    sheet: Sheet, queries: Mapping[str, RelationalQuery], left: float, width: float, top: float
) -> float:
    """Draw the trees of some queries; where the next thing may stand."""
    shown = dict(list(queries.items())[:MOST_QUERIES])
    sheet.text(left, top + 16, "Trees of operators", 19, bold=True)
    top += 44
    for name, query in shown.items():
        sheet.text(left, top + 8, fitted(name, width, 12), 12, bold=True)
        top = _tree(sheet, query, left, width, top + 18) + 14
    words = "Colours of edges: how rows end. "
    words += "; ".join(f"{pattern.value}: {HOW[pattern]}" for pattern in PATTERNS)
    if len(queries) > len(shown):
        words = f"And {len(queries) - len(shown):,} more. {words}"
    sheet.text(left, top + 6, fitted(words, width, 10.5), 10.5, FAINT)
    return top + 12


HOW = {
    UpdatePattern.MONOTONIC: "never",
    UpdatePattern.WEAKEST: "in the order in which they came",
    UpdatePattern.WEAK: "at a time known when they come",
    UpdatePattern.STRICT: "when they are taken back",
}


def _tree(sheet: Sheet, query: RelationalQuery, left: float, width: float, top: float) -> float:
    """One tree, and the answer behind its root; where it ends."""
    columns = _depth(query.root) + 2
    step = (width + GAP) / columns
    leaves = 0

    def draw(node: Node, column: int) -> float:
        """Draw a node and all below it; the height of its middle."""
        nonlocal leaves
        middles = [draw(below, column - 1) for below in node.inputs]
        if middles:
            middle = sum(middles) / len(middles)
        else:
            middle = top + ROW * leaves + ROW / 2
            leaves += 1
        x = left + step * column
        for below, height in zip(node.inputs, middles, strict=True):
            # A leaf stands right before those who read it, however deep the tree is beside it.
            _edge(sheet, x - GAP, height, x, middle, below.pattern)
        _box(sheet, x, middle, step - GAP, query.said_of(node), node.pattern.value)
        return middle

    root = columns - 2
    middle = draw(query.root, root)
    x = left + step * (root + 1)
    _edge(sheet, x - GAP, middle, x, middle, query.pattern)
    _box(sheet, x, middle, step - GAP, query.steps()[0], query.pattern.value)
    return top + ROW * leaves


def _box(sheet: Sheet, x: float, middle: float, width: float, text: str, pattern: str) -> None:
    sheet.box(x, middle - BOX / 2, width, BOX, "#f4f4f4", "#c4c4c4", hint=f"{text}\n{pattern}")
    sheet.text(x + 8, middle + SIZE * 0.36, fitted(text, width - 12, SIZE), SIZE)


def _edge(sheet: Sheet, x: float, y: float, to_x: float, to_y: float, pattern: UpdatePattern) -> None:
    half = EDGE / 2
    sheet.ribbon(x, y - half, y + half, to_x, to_y - half, to_y + half, PATTERNS[pattern])
    # Above the edge, where it leaves what it comes from.
    sheet.text(x + 3, y - half - 3, fitted(pattern.value, GAP - 4, 8), 8, PATTERNS[pattern])


def _depth(node: Node) -> int:
    return max((1 + _depth(below) for below in node.inputs), default=0)

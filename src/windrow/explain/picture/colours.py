"""The colours of the picture: one a grouping of trees, and those of what is no tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.explain.summary import groupings

if TYPE_CHECKING:
    from windrow.explain.overview import StreamOverview

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#8c6d31")
"""Told apart by the colour-blind too."""
OWN, FAINT, PALE = "#8a8a8a", "#767676", "#e4e4e4"


def tree_colours(stream: StreamOverview) -> dict[int, str]:
    """Of each tree, by its identity: the colour of its grouping."""
    return {
        id(tree): COLOURS[place % len(COLOURS)]
        for place, classes in enumerate(groupings(stream.classes).values())
        for one in classes
        for tree in one.trees
    }

"""What the picture says of a tree: its name, and what is shown when somebody points at it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.explain.summary import edges, savings, windows
from windrow.explain.words import repeats_after, some

if TYPE_CHECKING:
    from windrow.explain.overview import TreeOverview


def tree_name(tree: TreeOverview) -> str:
    """A short name."""
    return f"tree {tree.number}"


def tree_hint(tree: TreeOverview) -> str:
    """Its queries, windows, cuts, costs and structures, in lines."""
    runs = "running" if tree.runs else "planned"
    structures = "\n".join(f"{s.name} for {s.operation}: {s.reason}" for s in tree.structures[:8])
    return (
        f"{tree_name(tree)} ({runs}): {some(len(tree.queries), 'query')}; {windows(tree.windows)}\n"
        f"composite slide {repeats_after(tree.composite_slide)}, {edges(tree)}\n"
        f"{savings(tree.cost, tree.alone)}\n{structures}"
    )

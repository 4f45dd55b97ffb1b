"""Where a node of the syntax tree stands in the text, for errors that are found after parsing.

sqlglot notes places on the leaves (identifiers, literals, function names), and our parser (`places.py`) where
larger nodes begin and end that have words or parentheses of their own; the others stand where their leaves
stand. Nodes that a later step made have no place: (0, 0), which `StatementError` does not show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlglot.expressions.core import Expr

    from windrow.cql.statements import Span


OPENING = "opening"
"""The key in a node's `meta` for the first character of it, where no leaf has it: its SELECT, JOIN or `(`."""
CLOSING = "closing"
"""The key in a node's `meta` for the last character of it, where no leaf has it: its `)` or its END."""


def span(node: Expr) -> Span:
    """From the first to the last character known of a node (end exclusive), whatever it is.

    >>> from windrow.cql import parse
    >>> text = "SELECT MAX(dep_delay) AS worst FROM flights"
    >>> start, end = span(parse(text)[0].select.selects[0])
    >>> text[start:end]
    'MAX(dep_delay) AS worst'
    """
    starts: list[int] = []
    ends: list[int] = []
    for inner in node.walk():
        meta = inner.meta
        starts += [meta[key] for key in ("start", OPENING) if key in meta]
        ends += [meta[key] + 1 for key in ("end", CLOSING) if key in meta]
    return (min(starts, default=0), max(ends)) if ends else (0, 0)


def place(node: Expr, span: Span) -> None:
    """Give a node and all in it one place: in another text than that in which they stood."""
    start, end = span
    for inner in node.walk():
        if inner.meta.keys() & {"start", OPENING, CLOSING}:
            for key in (OPENING, CLOSING):
                inner.meta.pop(key, None)
            inner.meta.update(start=start, end=end - 1)


def name_span(node: Expr) -> Span:
    """Of a function its name alone; of a table its name without window and alias; else as `span`."""
    if isinstance(node, exp.Table):
        return _hull(node.parts)
    if isinstance(node, exp.Func) and (own := _hull([node])) != (0, 0):
        return own
    return span(node)


def _hull(nodes: Iterable[Expr]) -> Span:
    places = [(node.meta["start"], node.meta["end"] + 1) for node in nodes if "start" in node.meta]
    if not places:
        return (0, 0)
    return min(start for start, _ in places), max(end for _, end in places)

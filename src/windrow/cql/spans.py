"""Where a node of the syntax tree stands in the text, for errors that are found after parsing.

sqlglot notes places on the leaves (identifiers, literals, function names), and our parser where a call
ends; a larger node stands where its leaves stand. Nodes that a later step made have no place: (0, 0),
which `StatementError` does not show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlglot.expressions.core import Expr

    from windrow.cql.statements import Span


CALL_END = "call_end"
"""The key in a node's `meta` for the last character of a function call, its `)` or its END."""


def span(node: Expr) -> Span:
    """From the first to the last character known of a node (end exclusive), whatever it is.

    >>> from windrow.cql import parse
    >>> text = "SELECT MAX(dep_delay) AS worst FROM flights"
    >>> start, end = span(parse(text)[0].select.selects[0])
    >>> text[start:end]
    'MAX(dep_delay) AS worst'
    """
    start, end = _hull(node.walk())
    return start, max(end, *(inner.meta.get(CALL_END, -1) + 1 for inner in node.walk()))


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

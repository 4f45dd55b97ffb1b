"""The overview as a page of its own: the picture, a table of the trees, the text. It loads nothing."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from windrow.explain.picture.drawing import picture
from windrow.explain.sheet import xml_characters
from windrow.explain.summary import edges, windows
from windrow.explain.words import of_a_core, repeats_after, shortened, significant, some

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from windrow.explain.overview import StreamOverview

MOST_ROWS = 500
STYLE = """
body { font: 14px/1.4 Helvetica, Arial, sans-serif; color: #222; margin: 16px; }
table { border-collapse: collapse; }
th, td { text-align: left; padding: 2px 12px 2px 0; border-bottom: 1px solid #e4e4e4; vertical-align: top; }
td.number, th.number { text-align: right; }
summary { cursor: pointer; font-weight: bold; margin: 12px 0; }
pre { font-size: 12px; overflow-x: auto; }
"""
COLUMNS = {
    "tree": True, "stream": False, "class": False, "queries": True, "windows": False, "edges": False,
    "composite slide": False, "structures": False, "cost": True, "each query alone": True, "saves": True,
}  # fmt: skip
"""The columns of the table, and which hold numbers."""


def html(streams: Sequence[StreamOverview], text: str) -> str:
    """The page."""
    names = ", ".join(stream.name for stream in streams)
    count = sum(len(stream.trees) for stream in streams)
    shown = f", the {MOST_ROWS} dearest" if count > MOST_ROWS else ""
    head = "".join(f"<th{_kind(number)}>{name}</th>" for name, number in COLUMNS.items())
    rows = "\n".join(_rows(streams))
    table = f"<table>\n<tr>{head}</tr>\n{rows}\n</table>"
    parts = [
        "<!DOCTYPE html>",
        '<html xmlns="http://www.w3.org/1999/xhtml" lang="en">',
        f'<head><meta charset="utf-8"/><title>plan of {xml_text(names)}</title>',
        f"<style>{STYLE}</style></head>",
        "<body>",
        picture(streams).svg(),
        f"<details><summary>{some(count, 'tree')}{shown}</summary>{table}</details>",
        f"<details><summary>as text</summary><pre>{xml_text(text)}</pre></details>",
        "</body></html>",
    ]
    return "\n".join(parts)


def fragment(streams: Sequence[StreamOverview], text: str) -> str:
    """The picture and the text, as a part of another page: what a notebook shows."""
    words = f"<details><summary>as text</summary><pre>{xml_text(text)}</pre></details>"
    return f"<div>{picture(streams).svg()}{words}</div>"


def _rows(streams: Sequence[StreamOverview]) -> Iterator[str]:
    """The trees, the dearest first."""
    trees = [(tree, one, stream) for stream in streams for one in stream.classes for tree in one.trees]
    for tree, one, stream in sorted(trees, key=lambda row: -row[0].cost)[:MOST_ROWS]:
        cells = [
            str(tree.number),
            stream.name,
            shortened(one.title, 120),
            f"{len(tree.queries):,}",
            windows(tree.windows),
            edges(tree),
            repeats_after(tree.composite_slide),
            "; ".join(f"{structure.name} for {structure.operation}" for structure in tree.structures[:6]),
            of_a_core(tree.cost),
            of_a_core(tree.alone),
            f"{significant(tree.alone / tree.cost)} ×" if tree.cost else "",
        ]
        made = zip(cells, COLUMNS.values(), strict=True)
        yield f"<tr>{''.join(f'<td{_kind(number)}>{xml_text(cell)}</td>' for cell, number in made)}</tr>"


def _kind(number: bool) -> str:
    return ' class="number"' if number else ""


def xml_text(text: str) -> str:
    """Text as XML takes it: escaped, and without characters that XML does not have.

    >>> xml_text("a\\x00 & b")
    'a� &amp; b'
    """
    return escape(xml_characters(text))

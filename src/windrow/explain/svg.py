"""A drawing as SVG: one self-contained element, without references to anything."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from windrow.explain.drawing import Box, Dot, Line, Ribbon, Text

if TYPE_CHECKING:
    from windrow.explain.drawing import Drawing, Shape

FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"
NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def svg(drawing: Drawing) -> str:
    """The text of an SVG file.

    >>> from windrow.explain.drawing import Drawing
    >>> print(svg(Drawing(20, 10, [Box(0, 0, 5, 2.5, "#ff0000", hint="a < b")])).splitlines()[-2])
    <rect x="0" y="0" width="5" height="2.5" fill="#ff0000"><title>a &lt; b</title></rect>
    """
    size = f'viewBox="0 0 {_n(drawing.width)} {_n(drawing.height)}"'
    size += f' width="{_n(drawing.width)}" height="{_n(drawing.height)}"'
    paper = Box(0, 0, drawing.width, drawing.height, "#ffffff")
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONT}">']
    lines += [_element(shape) for shape in (paper, *drawing.shapes)]
    return "\n".join([*lines, "</svg>"])


def xml_text(text: str) -> str:
    """Text as XML takes it: without characters that XML does not have.

    >>> xml_text("a\\x00 & b")
    'a� &amp; b'
    """
    return escape(NOT_IN_XML.sub("\ufffd", text))


def _element(shape: Shape) -> str:
    match shape:
        case Box():
            stroke = f' stroke="{shape.stroke}"' if shape.stroke else ""
            place = (
                f'x="{_n(shape.x)}" y="{_n(shape.y)}" width="{_n(shape.width)}" height="{_n(shape.height)}"'
            )
            return _hinted("rect", f'{place} fill="{shape.fill}"{stroke}', shape.hint)
        case Dot():
            place = f'cx="{_n(shape.x)}" cy="{_n(shape.y)}" r="{_n(shape.radius)}"'
            return _hinted("circle", f'{place} fill="{shape.fill}" fill-opacity="0.55"', shape.hint)
        case Line():
            dashed = ' stroke-dasharray="3 3"' if shape.dashed else ""
            place = f'x1="{_n(shape.x)}" y1="{_n(shape.y)}" x2="{_n(shape.to_x)}" y2="{_n(shape.to_y)}"'
            return f'<line {place} stroke="{shape.stroke}"{dashed}/>'
        case Ribbon():
            x, to_x, middle = _n(shape.x), _n(shape.to_x), _n((shape.x + shape.to_x) / 2)
            top, bottom = _n(shape.top), _n(shape.bottom)
            to_top, to_bottom = _n(shape.to_top), _n(shape.to_bottom)
            path = f"M{x} {top}C{middle} {top} {middle} {to_top} {to_x} {to_top}V{to_bottom}"
            path += f"C{middle} {to_bottom} {middle} {bottom} {x} {bottom}Z"
            return f'<path d="{path}" fill="{shape.fill}" fill-opacity="0.3"/>'
        case Text():
            anchor = f' text-anchor="{shape.anchor}"' if shape.anchor != "start" else ""
            bold = ' font-weight="bold"' if shape.bold else ""
            place = f'x="{_n(shape.x)}" y="{_n(shape.y)}" font-size="{_n(shape.size)}"'
            return f'<text {place} fill="{shape.fill}"{anchor}{bold}>{xml_text(shape.text)}</text>'


def _hinted(tag: str, attributes: str, hint: str) -> str:
    if not hint:
        return f"<{tag} {attributes}/>"
    return f"<{tag} {attributes}><title>{xml_text(hint)}</title></{tag}>"


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")

"""A sheet to draw a picture on, which Matplotlib writes as SVG or PNG. Units are pixels, from the top left.

Matplotlib is imported when a sheet is made, so that only those who draw wait for it.
"""

from __future__ import annotations

import re
import warnings
from contextlib import contextmanager
from io import BytesIO
from itertools import count
from typing import TYPE_CHECKING, Literal, NamedTuple
from xml.etree import ElementTree

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from matplotlib.artist import Artist

POINTS_AN_INCH = 72
"""What Matplotlib counts letters and lines in; on a sheet, a point is a pixel."""
DOTS_A_PIXEL = 1.5
"""Of a PNG."""
FONTS = ["DejaVu Sans", "Helvetica", "Arial"]
"""The first comes with Matplotlib and has all signs in use; a browser without it takes the next it has."""
LETTER = 0.6
"""The width of a letter in font sizes; of the fonts in use, the widest are so wide on average."""
NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Area(NamedTuple):
    """A rectangle of a sheet."""

    x: float
    y: float
    width: float
    height: float


class Sheet:
    """A picture in the making. Later shapes cover earlier ones; a pointer at rest shows a shape's hint."""

    def __init__(self, width: float) -> None:
        from matplotlib.figure import Figure
        from matplotlib.transforms import Affine2D

        self.width = width
        self.height = 0.0
        self.figure = Figure(dpi=POINTS_AN_INCH, facecolor="#ffffff")
        self._from_top = Affine2D()
        """Where the top is, is known when all has been drawn: see `_finished`."""
        self._order = count(1)
        self._hints: dict[str, str] = {}

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str,
        stroke: str | None = None,
        hint: str = "",
    ) -> None:
        """A rectangle."""
        from matplotlib.patches import Rectangle

        self._add(Rectangle((x, y), width, height, fc=fill, ec=stroke or "none", lw=1), hint)

    def dot(self, x: float, y: float, radius: float, fill: str, hint: str = "") -> None:
        """A disc, which lets others shine through."""
        from matplotlib.patches import Circle

        self._add(Circle((x, y), radius, fc=fill, lw=0, alpha=0.55), hint)

    def line(
        self, x: float, y: float, to_x: float, to_y: float, stroke: str, *, dashed: bool = False
    ) -> None:
        """A straight line."""
        from matplotlib.lines import Line2D

        style = (0, (3, 3)) if dashed else "-"
        self._add(Line2D((x, to_x), (y, to_y), color=stroke, lw=1, ls=style, marker="None"))

    def ribbon(
        self,
        x: float,
        top: float,
        bottom: float,
        to_x: float,
        to_top: float,
        to_bottom: float,
        fill: str,
    ) -> None:
        """A band that flows from the right of one thing to the left of another."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        middle = (x + to_x) / 2
        points = [
            (x, top), (middle, top), (middle, to_top), (to_x, to_top),
            (to_x, to_bottom), (middle, to_bottom), (middle, bottom), (x, bottom), (x, top),
        ]  # fmt: skip
        curve, codes = [Path.CURVE4] * 3, [Path.MOVETO]
        codes += [*curve, Path.LINETO, *curve, Path.CLOSEPOLY]
        self._add(PathPatch(Path(points, codes), fc=fill, lw=0, alpha=0.3))

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        fill: str = "#222222",
        anchor: Literal["left", "center", "right"] = "left",
        *,
        bold: bool = False,
    ) -> None:
        """One line of text on its baseline; names may have dollars, which are no formulas."""
        from matplotlib.text import Text

        one_line = xml_characters(" ".join(text.split()))
        self._add(
            Text(
                x, y, one_line, color=fill, ha=anchor, va="baseline", fontsize=size,
                family="sans-serif", weight="bold" if bold else "normal", parse_math=False, usetex=False,
            )
        )  # fmt: skip

    def write_png(self, path: str | os.PathLike[str]) -> None:
        """Write the picture as a PNG file."""
        with self._finished():
            dots = POINTS_AN_INCH * DOTS_A_PIXEL
            self.figure.savefig(path, format="png", dpi=dots, metadata={"Software": None})

    def svg(self) -> str:
        """The picture as one SVG element, without references to anything; its text is text.

        Matplotlib's own is cleaned for pages that hold several: names that would be there twice go, and so
        does a style for all elements of a page. Hints are added, of which Matplotlib knows nothing.
        """
        written = BytesIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        with self._finished():
            self.figure.savefig(written, format="svg", dpi=POINTS_AN_INCH, metadata=nothing)
        root = ElementTree.fromstring(written.getvalue())
        for element in root.iter():
            element.tag = element.tag.rpartition("}")[2]
            element.text, element.tail = (element.text or "").strip(), "\n"
            if outline := element.get("d"):  # six digits after the point are half of the file
                element.set("d", re.sub(r"(\.\d\d)\d+", r"\1", " ".join(outline.split())))
            if hint := self._hints.get(element.attrib.pop("id", "")):
                title = ElementTree.Element("title")
                title.text = xml_characters(hint).strip()
                element.insert(0, title)
        for style in root.findall("defs"):
            root.remove(style)
        for side, length in (("width", self.width), ("height", self.height)):
            root.set(side, f"{length:g}")
        root.set("style", "max-width: 100%; height: auto")  # in a page, no wider than its column
        root.set("xmlns", "http://www.w3.org/2000/svg")
        return ElementTree.tostring(root, encoding="unicode")

    def _add(self, artist: Artist, hint: str = "") -> None:
        order = next(self._order)
        artist.set(zorder=order, transform=self._from_top + self.figure.dpi_scale_trans)
        if hint:
            artist.set_gid(f"hint_{order}")
            self._hints[f"hint_{order}"] = hint
        self.figure.add_artist(artist)

    @contextmanager
    def _finished(self) -> Iterator[None]:
        """The size of the sheet is what it is now; what is written is the same whenever it is written."""
        from matplotlib import rc_context

        width, height = self.width / POINTS_AN_INCH, self.height / POINTS_AN_INCH
        self.figure.set_size_inches(width, height)
        self._from_top.clear().scale(1 / POINTS_AN_INCH, -1 / POINTS_AN_INCH).translate(0, height)
        with (
            rc_context(
                {
                    "font.sans-serif": FONTS,
                    "savefig.bbox": "standard",
                    "svg.fonttype": "none",
                    "svg.hashsalt": "windrow",
                }
            ),
            warnings.catch_warnings(),
        ):
            # A sign that no font has is a little box in a PNG; in an SVG, the browser's fonts may have it.
            warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
            yield


def xml_characters(text: str) -> str:
    """Text without the characters that XML does not have.

    >>> xml_characters("a\\x00 & b")
    'a� & b'
    """
    return NOT_IN_XML.sub("\ufffd", text)


def width_of(text: str, size: float) -> float:
    """About how wide a text is, rather more than less.

    >>> width_of("10 min", 9)
    32.4
    """
    return len(text) * size * LETTER


def fitted(text: str, width: float, size: float) -> str:
    """Text that is cut off where it would be wider; nothing where not even a few letters have room.

    >>> fitted("by origin, carrier", 60, 10), fitted("by origin", 60, 10), fitted("by origin", 20, 10)
    ('by origin…', 'by origin', '')
    """
    letters = int(width / (size * LETTER))
    if len(text) <= letters:
        return text
    return f"{text[: letters - 1].rstrip(' ,')}…" if letters >= 5 else ""

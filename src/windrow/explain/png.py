"""A drawing as PNG, by Matplotlib, which is imported only when somebody wants one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.explain.drawing import Box, Dot, Line, Ribbon, Text

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from windrow.explain.drawing import Drawing, Shape

PIXELS_AN_INCH = 96
POINTS_AN_INCH = 72
ANCHORS = {"start": "left", "middle": "center", "end": "right"}


def write_png(drawing: Drawing, path: Path, dots_an_inch: int = 144) -> None:
    """Write the drawing, at one and a half dots a pixel."""
    from matplotlib.figure import Figure

    size = drawing.width / PIXELS_AN_INCH, drawing.height / PIXELS_AN_INCH
    figure = Figure(figsize=size, dpi=dots_an_inch, facecolor="#ffffff")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, drawing.width)
    axes.set_ylim(drawing.height, 0)
    axes.set_axis_off()
    for order, shape in enumerate(drawing.shapes):
        _draw(axes, shape, order)
    figure.savefig(path, dpi=dots_an_inch)


def _draw(axes: Axes, shape: Shape, order: int) -> None:
    from matplotlib.patches import Circle, PathPatch, Rectangle
    from matplotlib.path import Path as Outline

    point = POINTS_AN_INCH / PIXELS_AN_INCH
    match shape:
        case Box():
            box = Rectangle((shape.x, shape.y), shape.width, shape.height, lw=point, zorder=order)
            box.set(facecolor=shape.fill, edgecolor=shape.stroke or "none")
            axes.add_patch(box)
        case Dot():
            disc = Circle((shape.x, shape.y), shape.radius, facecolor=shape.fill, lw=0, zorder=order)
            disc.set_alpha(0.55)
            axes.add_patch(disc)
        case Line():
            style = "--" if shape.dashed else "-"
            xs, ys = (shape.x, shape.to_x), (shape.y, shape.to_y)
            axes.plot(xs, ys, style, color=shape.stroke, lw=point, zorder=order)
        case Ribbon():
            x, to_x, middle = shape.x, shape.to_x, (shape.x + shape.to_x) / 2
            points = [
                (x, shape.top), (middle, shape.top), (middle, shape.to_top), (to_x, shape.to_top),
                (to_x, shape.to_bottom), (middle, shape.to_bottom), (middle, shape.bottom), (x, shape.bottom),
                (x, shape.top),
            ]  # fmt: skip
            codes = [1, 4, 4, 4, 2, 4, 4, 4, 79]
            axes.add_patch(PathPatch(Outline(points, codes), fc=shape.fill, lw=0, alpha=0.3, zorder=order))
        case Text():
            # Names may have dollars, which are not formulas.
            axes.text(
                shape.x, shape.y, shape.text, fontsize=shape.size * point, color=shape.fill, va="baseline",
                ha=ANCHORS[shape.anchor], weight="bold" if shape.bold else "normal", zorder=order,
                parse_math=False,
            )  # fmt: skip

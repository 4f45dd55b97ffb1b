"""Shapes on a sheet: what a picture is made of before it becomes SVG or PNG. Units are pixels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Anchor = Literal["start", "middle", "end"]

LETTER = 0.6
"""The width of a letter in font sizes; of the fonts in use, the widest are so wide on average."""


@dataclass(frozen=True)
class Box:
    """A rectangle; `hint` is shown by a pointer that rests on it."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    stroke: str | None = None
    hint: str = ""


@dataclass(frozen=True)
class Dot:
    """A disc, which lets others shine through."""

    x: float
    y: float
    radius: float
    fill: str
    hint: str = ""


@dataclass(frozen=True)
class Line:
    """A straight line."""

    x: float
    y: float
    to_x: float
    to_y: float
    stroke: str
    dashed: bool = False


@dataclass(frozen=True)
class Ribbon:
    """A band that flows from the right of one thing to the left of another."""

    x: float
    top: float
    bottom: float
    to_x: float
    to_top: float
    to_bottom: float
    fill: str


@dataclass(frozen=True)
class Text:
    """One line of text on its baseline."""

    x: float
    y: float
    text: str
    size: float
    fill: str = "#222222"
    anchor: Anchor = "start"
    bold: bool = False

    @property
    def width(self) -> float:
        """About how wide it is, rather more than less."""
        return len(self.text) * self.size * LETTER


Shape = Box | Dot | Line | Ribbon | Text


@dataclass
class Drawing:
    """A sheet; later shapes cover earlier ones."""

    width: float
    height: float = 0.0
    shapes: list[Shape] = field(default_factory=list)

    def add(self, *shapes: Shape) -> None:
        """Draw shapes on top."""
        self.shapes.extend(shapes)


def fitted(text: str, width: float, size: float) -> str:
    """Text that is cut off where it would be wider; nothing where not even a few letters have room.

    >>> fitted("by origin, carrier", 60, 10), fitted("by origin", 60, 10), fitted("by origin", 20, 10)
    ('by origin…', 'by origin', '')
    """
    letters = int(width / (size * LETTER))
    if len(text) <= letters:
        return text
    return f"{text[: letters - 1].rstrip(' ,')}…" if letters >= 5 else ""

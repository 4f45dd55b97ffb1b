"""A leaf: the rows of a stream in a window of time, each of which lives as long as the window is."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.cql.durations import format_duration
from windrow.logical.patterns import UpdatePattern
from windrow.logical.tree.node import Column, Node


class InWindow(Node):
    """Rows that live as long as a window is."""

    window: int | None
    internal: bool

    @property
    def pattern(self) -> UpdatePattern:
        return UpdatePattern.MONOTONIC if self.window is None else UpdatePattern.WEAKEST

    @property
    def ends(self) -> UpdatePattern:
        return UpdatePattern.MONOTONIC if self.internal else self.pattern

    @property
    def range(self) -> int | None:
        return self.window


@dataclass(frozen=True)
class Rows(InWindow):
    """The rows of a port of the operator, which a pass over a batch hands over: what is computed of each, if
    it meets the condition that the port has."""

    port: int
    """Its place among the `reads` of the query."""
    stream: str
    handed_over: tuple[Column, ...]
    """The columns; their names go with the outputs of the port's query."""
    window: int | None
    """How long a row lives, in microseconds; None: for ever."""
    internal: bool = False
    """Whether results stay when rows leave the window."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.handed_over

    def __str__(self) -> str:
        return f"{self.stream} {written(self.window, internal=self.internal)}"


def written(window: int | None, *, internal: bool) -> str:
    """A window as people write it.

    >>> written(60_000_000, internal=True), written(1, internal=False), written(None, internal=False)
    ('[RANGE 1 MINUTE INTERNAL]', '[NOW]', '[UNBOUNDED]')
    """
    size = "UNBOUNDED" if window is None else "NOW"
    if window is not None and window > 1:
        size = f"RANGE {format_duration(window).upper()}"
    return f"[{size}{' INTERNAL' if internal else ''}]"

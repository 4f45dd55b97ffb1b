"""All rows that are there at each evaluation: a SELECT without aggregates over windows with SLIDE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.cql.durations import format_duration
from windrow.logical.patterns import UpdatePattern
from windrow.logical.tree.node import OfOne

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Evaluate(OfOne):
    """The evaluation at e gives the rows that are there at the last instant before e. They live from that
    instant on, until the one of the next evaluation; for ever, if the windows are INTERNAL."""

    slide: int
    offset: int
    internal: bool = False

    @property
    def pattern(self) -> UpdatePattern:
        return UpdatePattern.MONOTONIC if self.internal else UpdatePattern.WEAKEST

    @property
    def ends(self) -> UpdatePattern:
        return self.pattern

    @property
    def range(self) -> int | None:
        return None if self.internal else self.slide

    def __str__(self) -> str:
        offset = f" OFFSET {format_duration(self.offset).upper()}" if self.offset else ""
        return f"all that is there, every {format_duration(self.slide)}{offset}"

"""GROUP BY over rows that each know when they end: with SLIDE at each evaluation, otherwise at every
change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.columns import aggregate_name, key_name
from windrow.cql.durations import format_duration
from windrow.logical.patterns import UpdatePattern
from windrow.logical.tree.node import Column, OfOne

if TYPE_CHECKING:
    from windrow.aggregates import Aggregate


@dataclass(frozen=True)
class Group(OfOne):
    """A row for each group that has rows. Its columns are the keys and the aggregates, under the names that
    answers have (`key_name`, `aggregate_name`).

    Rows hand over what partials and contents need of each: the input has a column for each, of the name that
    is given in `values`.
    """

    keys: tuple[str, ...]
    """The columns of the input that rows are grouped by."""
    aggregates: tuple[Aggregate, ...]
    values: tuple[tuple[str, str], ...]
    """What partials and contents call what rows give (`value_name(partial)`, `contents.value_name`), and the
    column of the input that it is."""
    slide: int | None = None
    """The time between two evaluations, in microseconds; None: it is answered at every change."""
    offset: int = 0
    internal: bool = False
    """Whether the windows below are INTERNAL: new values are told then, and none is taken back."""

    @property
    def columns(self) -> tuple[Column, ...]:
        types = self.of.types
        keys = (Column(key_name(place), types[name]) for place, name in enumerate(self.keys))
        answers = (
            Column(aggregate_name(place), one.result_type) for place, one in enumerate(self.aggregates)
        )
        return *keys, *answers

    @property
    def pattern(self) -> UpdatePattern:
        if self.internal:
            return UpdatePattern.MONOTONIC
        return UpdatePattern.STRICT if self.slide is None else UpdatePattern.WEAKEST

    @property
    def ends(self) -> UpdatePattern:
        return self.pattern

    @property
    def range(self) -> int | None:
        return None if self.internal else self.slide

    def __str__(self) -> str:
        what = ", ".join(map(str, self.aggregates)) or "the groups"
        by = f" by {', '.join(self.keys)}" if self.keys else ""
        when = "at every change" if self.slide is None else f"every {format_duration(self.slide)}"
        return f"aggregate {what.replace('`', '')}{by}, {when}"

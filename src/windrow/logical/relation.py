"""The relations that statements name: streams and tables, with their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa


@dataclass(frozen=True)
class Stream:
    """An unbounded relation whose rows carry an event time. Durations are microseconds."""

    name: str
    columns: Mapping[str, pa.DataType]
    timestamp: str
    delay: int = 0
    skew: int | None = None
    idle_timeout: int | None = None
    """How long it may be silent before event time goes on without it."""
    retain: int | None = None
    """How long its late rows and dead letters are kept, by the home's clock; None: the default."""
    max_dead: int | None = None
    """More dead letters than this stop it."""
    text: bool = False
    """Whether rows come from text, each with the text of a line that could not be read (NULL if it could)."""
    zone: str | None = None
    """The time zone that its rows are read and its queries computed in; None: that of the session."""

    @property
    def time_type(self) -> pa.DataType:
        """The type of the event time, which window boundaries share."""
        return self.columns[self.timestamp]


@dataclass(frozen=True)
class Table:
    """An ordinary relation, without time."""

    name: str
    columns: Mapping[str, pa.DataType]


Relation = Stream | Table

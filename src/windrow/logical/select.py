"""A query without a window: `SELECT ts, room, celsius * 1.8 + 32 AS f FROM readings WHERE celsius > 30`.

Each row that fulfils WHERE is answered once, with the epoch that commits its batch, in no order. Nothing is
ever taken back, so that a result says when it is of (`_ts`, the event time of its row), and not when it ends.
Late rows and dead letters are answered by no query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.columns import TIME
from windrow.logical.patterns import UpdatePattern
from windrow.logical.query import BoundQuery

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class SelectQuery(BoundQuery):
    """The rows of a stream that fulfil a condition, with expressions over them."""

    @property
    def pattern(self) -> UpdatePattern:
        """Nothing is ever taken back."""
        return UpdatePattern.MONOTONIC

    @property
    def time_column(self) -> str:
        """The event time of the row."""
        return TIME

    @property
    def time_columns(self) -> dict[str, pa.DataType]:
        """The event time of the row."""
        return {TIME: self.stream.time_type}

    @property
    def shape(self) -> Hashable:
        """An operator answers one such query."""
        return self.outputs

    @property
    def handed_over(self) -> tuple[str, ...]:
        """The expressions of the SELECT list, each once; Spark computes them in its pass over the rows."""
        return tuple(dict.fromkeys(output.expression for output in self.outputs))

    def steps(self) -> list[str]:
        """What is done, from the answer down to the stream, for people."""
        outputs = (
            readable if (readable := self.readable(o.expression)) == o.name else f"{readable} AS {o.name}"
            for o in self.outputs
        )
        steps = [f"answer each row once, with its batch: {', '.join(outputs)}"]
        if self.where:
            steps.append(f"select {self.readable(self.where)}")
        steps.extend(self.readable(str(enrichment)) for enrichment in reversed(self.enrichments))
        steps.append(str(self.scan))
        return steps

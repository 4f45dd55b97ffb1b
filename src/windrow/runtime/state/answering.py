"""What becomes of the answers of an epoch: written, and noted by query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.columns import QUERY
from windrow.runtime.home.results import last_answers, time_column

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from windrow.runtime.home.results import ResultWriter


@dataclass
class Answered:
    """What one query has answered in an epoch."""

    count: int = 0
    latest_end: int | None = None
    """The latest time of an answer."""
    last: pa.Table | None = None
    """Its last evaluation, or its latest answers, where somebody watches."""
    kept: list[pa.Table] = field(default_factory=list)
    """All of them, where a sink wants them."""

    def is_reached_by(self, end: int) -> bool:
        """Whether answers whose latest time is this one are not earlier than the latest of the query so far.

        A query that moves between operators is answered by both in the epoch that passes the hand-over, and
        the one with the later evaluations may come first.
        """
        return self.latest_end is None or end >= self.latest_end


UNANSWERED = Answered()
"""Of all queries that an epoch has not answered: one object, which nobody changes."""


class Answering:
    """Takes result rows: `watched` keeps the last evaluation of each query, `kept` all of some queries."""

    def __init__(self, results: ResultWriter, *, watched: bool, kept: AbstractSet[int] = frozenset()) -> None:
        self._results = results
        self.watched = watched
        self.kept = kept
        self.by_query: dict[int, Answered] = {}

    def take(self, schema: str, rows: pa.Table) -> None:
        """Write rows of queries whose results have this schema, those of a query together."""
        if not len(rows):
            return
        self._results.write(schema, rows)
        whose = rows[QUERY].to_numpy()
        finish = rows[time_column(rows.schema)].cast(pa.int64()).to_numpy()
        first = np.flatnonzero(np.diff(whose, prepend=-1))
        last = np.append(first[1:], len(whose))
        for place, until, end in zip(
            first.tolist(), last.tolist(), np.maximum.reduceat(finish, first).tolist(), strict=True
        ):
            query = int(whose[place])
            answered = self.by_query.setdefault(query, Answered())
            answered.count += until - place
            is_latest = answered.is_reached_by(end)
            if is_latest:
                answered.latest_end = end
            if self.watched or query in self.kept:
                own = rows.slice(place, until - place).drop_columns([QUERY])
                if is_latest:
                    answered.last = last_answers(own)
                if query in self.kept:
                    answered.kept.append(own)

    def add(self, elsewhere: Mapping[int, Answered]) -> None:
        """Note what was answered, and written, elsewhere. A query may have answered at several places."""
        for query, more in elsewhere.items():
            answered = self.by_query.setdefault(query, Answered())
            answered.count += more.count
            answered.kept += more.kept
            if more.latest_end is not None and answered.is_reached_by(more.latest_end):
                answered.latest_end, answered.last = more.latest_end, more.last

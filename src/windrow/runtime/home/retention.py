"""What RETAIN leaves of results: those that can still be asked for.

Of most queries these are the results later than an edge. Of changes of an answer from which something goes
again, older changes stay as long as the row lives that they are of: the answer at the edge, and at every
instant behind it, can still be put together. What was taken back before the edge goes with what took it back.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from windrow.columns import BEGINNING, END_OF_TIME, EXPIRES, OP, QUERY
from windrow.runtime.home.alive_groups import note_of
from windrow.runtime.home.durable import reading
from windrow.runtime.home.folding import left_of
from windrow.runtime.home.results import time_column

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from windrow.runtime.home.records import DataFile, KeptAnswers


def kept_results(results: pa.Table, kept: Sequence[KeptAnswers]) -> pa.Table:
    """Results without those of dropped queries, and those that RETAIN has let go."""
    bounds, owner = _bounds(results, kept)
    wanted = pc.fill_null(pc.greater(_microseconds(results, time_column(results.schema)), bounds), True)
    if OP in results.schema.names:
        folds = pc.take(pa.array([answers.can_end for answers in kept], pa.bool_()), owner)
        ends = _microseconds(results, EXPIRES)
        lives_on = pc.fill_null(pc.greater(ends, bounds), True)
        wanted = pc.or_(wanted, pc.and_(folds, lives_on))
    return _folded(results.filter(pc.fill_null(pc.and_(pc.is_valid(owner), wanted), False)), kept)


def may_ask(answers: KeptAnswers, file: DataFile, home: Path) -> bool:
    """Whether a file may have answers of a query that it has not let go."""
    if file.earliest is None or file.latest is None:
        return True
    if answers.latest_end is None or answers.latest_end < file.earliest:
        return False
    if answers.after is None or file.latest > answers.after:
        return True
    return answers.can_end and last_end(home / file.path) > answers.after


def edge_of(kept: Sequence[KeptAnswers], earliest: int | None) -> int:
    """Up to where RETAIN applies to all results of a file; the beginning of time if it does not."""
    edges = [
        answers.after
        for answers in kept
        if answers.latest_end is not None and (earliest is None or answers.latest_end >= earliest)
    ]
    return min((BEGINNING if edge is None else edge for edge in edges), default=BEGINNING)


def is_due(kept: Sequence[KeptAnswers], file: DataFile, home: Path) -> bool:
    """Whether a file has changes that no longer matter, and are not in the way of a merge that is to come:
    all are older than the edge, and when compaction wrote it, some were not."""
    if not file.level or file.latest is None or not any(answers.can_end for answers in kept):
        return False
    return edge_of(kept, file.earliest) >= file.latest > folded_up_to(home / file.path)


@lru_cache(10_000)  # housekeeping asks after every epoch, and a file never changes
def folded_up_to(path: Path) -> int:
    """Up to where RETAIN has been applied to a file of changes."""
    with reading(path), pq.ParquetFile(path) as file:
        return note_of(file).folded


@lru_cache(10_000)
def last_end(path: Path) -> int:
    """When the last row of a file of changes ends by itself; END_OF_TIME if that is not known of one."""
    with reading(path), pq.ParquetFile(path) as file:
        place = file.schema_arrow.names.index(EXPIRES)
        groups = [file.metadata.row_group(group) for group in range(file.num_row_groups)]
        found = [group.column(place).statistics for group in groups if group.num_rows]
    is_known = all(ends is not None and ends.has_min_max and ends.null_count == 0 for ends in found)
    return max((int(ends.max_raw) for ends in found), default=0) if is_known else END_OF_TIME


def _folded(results: pa.Table, kept: Sequence[KeptAnswers]) -> pa.Table:
    """Results without what was taken back before the edge, and what took it back."""
    if OP not in results.schema.names or not any(answers.can_end for answers in kept):
        return results
    folding = [answers for answers in kept if answers.can_end and answers.after is not None]
    bounds, _ = _bounds(results, folding)
    is_old = pc.less_equal(_microseconds(results, time_column(results.schema)), bounds)
    old = np.flatnonzero(pc.fill_null(is_old, False).to_numpy())
    left = np.ones(len(results), bool)
    left[old] = False
    left[old[left_of(results.take(pa.array(old)))]] = True
    return results if left.all() else results.filter(pa.array(left))


def _bounds(results: pa.Table, kept: Sequence[KeptAnswers]) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """The edge of each result, and the place of its query; NULL if there is none."""
    owner = pc.index_in(results[QUERY], pa.array([answers.query for answers in kept], pa.int32()))
    return pc.take(pa.array([answers.after for answers in kept], pa.int64()), owner), owner


def _microseconds(results: pa.Table, column: str) -> pa.ChunkedArray:
    return results[column].cast(pa.int64())

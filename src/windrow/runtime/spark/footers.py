"""The tally of a batch of Parquet files from their footers, where these leave no doubt.

A footer says how many rows its file has and, of each column, the least and the greatest value and how many
are NULL. If all event times lie between the bounds of the batch, every row counts and the tally is known
without a look at the rows. Otherwise, and wherever a footer and Spark might not mean the same, Spark counts.

Cost, measured: a footer of four columns takes 0.1 ms, one of 41 columns 0.3; a job of Spark's that counts a
million rows 140, an empty one 54.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from windrow.planner import Tally
from windrow.runtime.spark.headers import local_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from windrow.logical import Stream
    from windrow.planner import Bounds

MOST_FILES = 200
"""Their footers are read one after the other, and take as long as an empty job of Spark's."""
MICROSECONDS = {"milliseconds": 1_000, "microseconds": 1}
YEAR_1900 = -2_208_988_800_000_000
"""Instants before it may have been written by another calendar, which Spark corrects."""


def tally_by_footers(stream: Stream, files: Sequence[str], bounds: Bounds) -> Tally | None:
    """The tally of the rows in files, by their addresses; None where only their rows tell."""
    if not 0 < len(files) <= MOST_FILES:
        return None
    rows = 0
    latest: int | None = None
    for file in files:
        try:
            footer = _footer(stream, file)
        except (OSError, pa.ArrowException):
            return None  # it is Spark that says what is wrong with a file, or goes on without it
        if footer is None:
            return None
        for count, first, last in footer:
            if first < YEAR_1900 or not bounds.admit(first, last):
                return None
            rows += count
            latest = last if latest is None else max(latest, last)
    return Tally(latest, rows, 0, 0)


def _footer(stream: Stream, file: str) -> Iterable[tuple[int, int, int]] | None:
    """The row groups of a file: number of rows, first and last instant; None if it does not say."""
    path, name = local_path(file), stream.timestamp
    # A directory may have the column's value; a dot may stand for a column inside another.
    if path is None or "." in name or f"/{name}=".lower() in path.lower():
        return None
    metadata = pq.read_metadata(path)
    if metadata.num_rows == 0:
        return ()
    columns = [metadata.schema.column(place) for place in range(metadata.num_columns)]
    places = [place for place, column in enumerate(columns) if column.path.lower() == name.lower()]
    if len(places) != 1 or columns[places[0]].path != name:  # whether case counts is a setting of Spark's
        return None
    unit = _microseconds(columns[places[0]], stream.time_type)
    groups = []
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        known = group.column(places[0]).statistics
        if unit is None or known is None or not (known.has_min_max and known.has_null_count):
            return None
        if known.null_count:
            return None
        groups.append((group.num_rows, known.min_raw * unit, known.max_raw * unit))
    return groups


def _microseconds(column: pq.ColumnSchema, of_type: pa.DataType) -> int | None:
    """How long the unit of a column is, if Spark reads it as what the stream has; otherwise None."""
    if column.physical_type != "INT64" or column.max_repetition_level:
        return None
    kind = json.loads(column.logical_type.to_json())
    if kind.get("Type") != "Timestamp" or kind["isAdjustedToUTC"] != (of_type.tz is not None):
        return None
    return MICROSECONDS.get(kind["timeUnit"])

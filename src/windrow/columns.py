"""The names of Windrow's own columns, and the values that stand for none: what all floors agree on.

Rows go from Spark to operators, from operators to files, and from files to users as tables. A column that is
Windrow's, and not of the stream or the query, has its name here and nowhere else. How any
name is quoted for Spark stands here too.
"""

from __future__ import annotations

# instants

BEGINNING, END_OF_TIME = -(1 << 62), 1 << 62
"""Instants before and after all event times, far enough from overflow to add a range."""
YEAR_1, YEAR_10000 = -62_135_596_800_000_000, 253_402_300_800_000_000
"""Spark's calendar; what lies outside is no event time."""

# in the Spark SQL of a pass

INSTANT = "_windrow_instant"
"""The event time of a row, in microseconds."""
FATE = "_windrow_fate"
"""The slice of a row, or its instant; or DEAD or LATE."""
DEAD, LATE = BEGINNING, BEGINNING + 1
"""In place of a slice, for the rows that enter none."""
COPY, START, LINEAGE, WORD = "_windrow_copy", "_windrow_start", "_windrow_lineage", "_windrow_word"
"""In a pass for many classes: which copy of a row it is, its slice, and the predicates that hold of it."""
RAW, FILE, POSITION = "_windrow_raw", "_windrow_file", "_windrow_position"
"""What a source adds to a row: the line if it could not be read, its file, and its place there."""
HEADER = "_windrow_header"
"""The number of the header that a row of CSV was read by, where a batch has files with other headers than the
declared columns."""

# from a pass to an operator, and at rest

SLICE = "_slice"
"""Where a partial belongs, on the axis of its operator: the start of a slice or granule, the event time of a
row, the number of a row, or the number of a key."""
HOLDS = "_holds"
"""Whether a row fulfils the query's WHERE; NULL is false."""
LATEST, ROWS = "_latest", "_rows"
"""On the side of a pass that sees every row: the latest instant in a group, and how many rows it has."""

# from an operator to its readers

QUERY = "_query"
"""The number of the query that an answer is of."""
EPOCH = "_epoch"
"""The number of the epoch that an answer, a late row or a dead letter came with."""
WINDOW_START, WINDOW_END, WINDOW_ROW = "window_start", "window_end", "window_row"
"""When a window begins and ends, and, where it counts rows, with which one it ends."""
TIME, OP, EXPIRES = "_ts", "_op", "_exp"
"""Of a change, or a row that is answered as it is: when it is of, whether it is added or taken away, and
when that ends by itself."""
WINDOW_RANGE = "window_range"
"""How long a window is, where answers of several windows stand in one table."""
LATE_BY = "_late_by"
"""How late a row was."""
REASON, REFUSED_RAW = "_reason", "_raw"
"""Why a row is dead, and the row: its line if that could not be read, otherwise its columns as JSON."""
REFUSED_FILE, REFUSED_POSITION = "_file", "_position"
"""Of a late row or a dead letter: its file, as people write it, and its place there."""

RESERVED = frozenset({QUERY, EPOCH, OP, TIME, EXPIRES, LATE_BY})
"""What the columns of a query's results cannot be called."""


def key_name(place: int) -> str:
    """The answer column of a query's key at a place."""
    return f"_key{place}"


def aggregate_name(place: int) -> str:
    """The answer column of a query's aggregate at a place."""
    return f"_aggregate{place}"


def quoted(name: str) -> str:
    """Any name as Spark SQL: in backquotes.

    >>> quoted("odd`name")
    '`odd``name`'
    """
    return f"`{name.replace('`', '``')}`"

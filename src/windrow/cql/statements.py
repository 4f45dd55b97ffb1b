"""What query text says, statement by statement: the output of `parse`, before any name is looked up.

Every statement keeps the whole text it was found in and its own place there (`text[start:end]`), and
the spans of the pieces that later errors may want to underline. Spans are (start, end) offsets into
`text`, end exclusive; a piece that was not written has the span (0, 0). Durations are microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from sqlglot import exp

Span = tuple[int, int]
Format = Literal["parquet", "csv", "json"]


@dataclass(frozen=True)
class CreateStream:
    """`CREATE STREAM name [(columns)] FROM format 'path' [OPTIONS (…)] TIMESTAMP col [DELAY d] [SKEW d]
    [IDLE TIMEOUT d] [RETAIN d] [MAX DEAD n]`.

    `columns` are (name, Spark SQL type) pairs, or None where the files themselves know (Parquet).
    From `skew` to `max_dead`, what was not written is None: the defaults are the engine's.
    """

    name: str
    columns: tuple[tuple[str, str], ...] | None
    format: Format
    path: str
    options: dict[str, str]
    timestamp: str
    delay: int
    skew: int | None
    idle_timeout: int | None
    retain: int | None
    max_dead: int | None
    text: str
    start: int
    end: int
    name_span: Span
    path_span: Span
    timestamp_span: Span
    column_spans: tuple[Span, ...]
    """One span per column, its name and type; empty where no columns were declared."""


@dataclass(frozen=True)
class CreateTable:
    """`CREATE TABLE name [(columns)] FROM format 'path' [OPTIONS (…)]`."""

    name: str
    columns: tuple[tuple[str, str], ...] | None
    format: Format
    path: str
    options: dict[str, str]
    text: str
    start: int
    end: int
    name_span: Span
    path_span: Span
    column_spans: tuple[Span, ...]


@dataclass(frozen=True)
class Query:
    """`CREATE QUERY name [RETAIN d] AS SELECT …`, or a bare SELECT (then `name` and `retain` are None).

    `select` is the syntax tree, of one SELECT or of several with UNION or INTERSECT between them, windows on
    the table nodes (see `window_of`) and deliveries on the SELECTs (see `delivery_of`); `select_sql` is the
    SELECT as it was written, both included.
    """

    name: str | None
    select: exp.Query
    select_sql: str
    retain: int | None
    text: str
    start: int
    end: int
    name_span: Span


Statement = CreateStream | CreateTable | Query

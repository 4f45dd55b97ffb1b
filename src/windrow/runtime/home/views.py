"""The answer of a query at an instant, from the result files that are committed. Needs no Spark.

1. Up to where the query is answered, and from where on answers are kept, says whether there is an answer.
2. Of a query without SLIDE: the changes up to the instant whose rows have not ended by themselves, summed by
   value. With SLIDE: the evaluation that is of the last instant so far.

Cost: of a file that compaction has written, what is alive at its end is read, and no more if the file ends
before the instant (`alive_groups.py`). Files, and row groups in them, are passed over by their times, and row
groups by the largest `_exp` in them.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from windrow.columns import BEGINNING, END_OF_TIME, EXPIRES, OP, QUERY, TIME, WINDOW_ROW
from windrow.errors import HomeError, WindrowError
from windrow.runtime.home.alive_groups import note_of
from windrow.runtime.home.declarations import declared_kind
from windrow.runtime.home.durable import reading
from windrow.runtime.home.folding import alive, left_of
from windrow.runtime.home.results import time_column

if TYPE_CHECKING:
    from pathlib import Path

    from windrow.runtime.home.catalog import Catalog
    from windrow.runtime.home.declarations import AnswerKind
    from windrow.runtime.home.records import DataFile, StoredQuery


class View(NamedTuple):
    """An answer, in no order."""

    at: int
    """The instant that it is of, in microseconds since 1970."""
    answer: pa.Table
    """The columns of the query; of an evaluation also when its window begins and ends."""


def view(home: Path, catalog: Catalog, query: StoredQuery, at: int | None = None) -> View:
    """The answer of a query at an instant (None: at the last one up to which it is answered)."""
    while True:
        # How far it is answered is asked before the files are, which then have all of it; and what is kept
        # after them, so that they have at least that.
        until = _answered(catalog, query)
        files = catalog.files("results", query.schema_id)
        now = catalog.query(query.name)
        if now is None or now.id != query.id:
            raise WindrowError(f"query '{query.name}' was dropped by somebody meanwhile")
        try:
            return _view(home, catalog, now, files, until, at)
        except HomeError:
            # Whoever takes longer than replaced files stay: on with what took their place.
            listed = {file.path for file in catalog.files("results", query.schema_id)}
            if listed.issuperset(file.path for file in files):
                raise


def _view(
    home: Path, catalog: Catalog, query: StoredQuery, files: list[DataFile], until: int | None, at: int | None
) -> View:
    kind = _kind(query)
    if until is None:
        raise _not_answered(query, "no watermark has been committed for it")
    if at is None:
        at = until - 1 if until < END_OF_TIME else _latest(catalog, query)
    _check_final(query, until, at)
    if kind.form == "changes":
        _check_kept(query, kind, at, at)
        return View(at, _of_changes(home, query, kind, files, at))
    evaluation = kind.last_evaluation(at + 1)
    if kind.lasts and query.sealed and query.latest_end is not None:
        evaluation = min(evaluation, query.latest_end)
    _check_kept(query, kind, at, evaluation)
    return View(at, _of_evaluation(home, query, files, evaluation))


def parsed_instant(at: str | datetime, zone: str = "UTC") -> int:
    """An instant in microseconds since 1970; one that names no zone is in the given one.

    >>> parsed_instant("1970-01-01 00:01"), parsed_instant("1970-01-01T01:00:00.5+01:00")
    (60000000, 500000)
    """
    try:
        found = at if isinstance(at, datetime) else datetime.fromisoformat(at.strip())
    except (ValueError, AttributeError):
        raise WindrowError(
            f"{at!r} is no instant; write it as 2024-01-31 12:00, 2024-01-31T12:00:00.5 or 2024-01-31 "
            "12:00+01:00"
        ) from None
    if found.tzinfo is None:
        try:
            found = found.replace(tzinfo=ZoneInfo(zone))
        except (ValueError, OSError, KeyError):  # a zone that has no name, as +01:00
            raise WindrowError(
                f"the session's time zone {zone} is not known here; say in which one the instant is, "
                f"as in {found.isoformat(sep=' ')}+00:00"
            ) from None
    since = found - datetime.fromtimestamp(0, ZoneInfo("UTC"))
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


# whether there is an answer


def _kind(query: StoredQuery) -> AnswerKind:
    """What the answers of a query are, if it has one at an instant."""
    kind, nothing = declared_kind(query.schema), f"query '{query.name}' has no answer at an instant"
    if kind is None:
        raise WindrowError(
            f"query '{query.name}' was registered by an earlier Windrow, which did not keep when it is "
            "evaluated; register it again as it is, with the same name and text"
        )
    if kind.delivery != "RSTREAM":
        told = "what is new" if kind.delivery == "ISTREAM" else "what is gone"
        raise WindrowError(
            f"{nothing}: {kind.delivery} says {told} each time; without the word {kind.delivery}, "
            "as a query of another name, it has"
        )
    if kind.form == "rows":
        raise WindrowError(f"{nothing}: it has no window, and its results are rows that stand for themselves")
    if kind.slide is None and WINDOW_ROW in query.schema.names:
        raise WindrowError(
            f"{nothing}: its window counts rows, so that rows say when it is evaluated, and not time"
        )
    return kind


def _answered(catalog: Catalog, query: StoredQuery) -> int | None:
    """Up to which instant a query is answered, that one not included; None if it is not yet."""
    query = catalog.query(query.name) or query
    if query.sealed:
        return END_OF_TIME
    if query.quarantined is not None:  # no operator has it any more
        kind = declared_kind(query.schema)
        is_change = kind is not None and kind.form == "changes"
        return None if query.latest_end is None else query.latest_end + is_change
    evaluated = catalog.answered_until(query.id)
    return None if evaluated is None or evaluated <= BEGINNING else evaluated


def _latest(catalog: Catalog, query: StoredQuery) -> int:
    """The latest event time of the streams of a query."""
    latest = [catalog.progress(stream).latest for stream in query.streams]
    known = [instant for instant in latest if instant is not None]
    if not known:
        raise _not_answered(query, "its streams are sealed, and have had no rows")
    return max(known)


def _not_answered(query: StoredQuery, why: str) -> WindrowError:
    return WindrowError(f"query '{query.name}' has no answer yet: {why}")


def _check_final(query: StoredQuery, until: int, at: int) -> None:
    if at >= until:
        why = "it is quarantined" if query.quarantined is not None else "rows of that time may still come"
        raise WindrowError(
            f"the answer of query '{query.name}' at {_told(at)} is not final yet: it is answered before "
            f"{_told(until)}, and {why}"
        )


def _check_kept(query: StoredQuery, kind: AnswerKind, at: int, of: int) -> None:
    """Raise an error if an answer of a time is gone, or the query had not begun."""
    edge = query.retained_from
    if edge is not None and (of < edge or (of == edge and kind.form != "changes")):
        raise WindrowError(
            f"the answer of query '{query.name}' at {_told(at)} is gone: its RETAIN keeps what is later than "
            f"{_told(edge)}"
        )
    if query.complete_after is not None:
        begins = query.complete_after + kind.longest
        if of < begins or (of == begins and kind.form != "changes"):
            raise WindrowError(
                f"query '{query.name}' has no answer at {_told(at)}: it came when its streams were at "
                f"{_told(query.complete_after)}, and its windows hold all their rows from {_told(begins)} on"
            )


def _told(instant: int) -> str:
    """An instant as an error says it, in UTC."""
    return str(pa.scalar(instant, pa.timestamp("us")).cast(pa.string()).as_py()).removesuffix(".000000")


# the answer


def _of_changes(home: Path, query: StoredQuery, kind: AnswerKind, files: list[DataFile], at: int) -> pa.Table:
    """The rows that have come up to an instant, have not ended by themselves, and were not taken back."""
    names = [name for name in query.schema.names if name not in (OP, TIME, EXPIRES)]
    bounds = (query.complete_after, None if kind.can_end else query.retained_from)
    after = max((bound for bound in bounds if bound is not None), default=BEGINNING)
    pieces = []
    for file in files:
        if file.earliest is not None and file.earliest > at:
            continue
        if file.latest is not None and file.latest <= after:
            continue
        for rows in _row_groups(home / file.path, query.id, at):
            when = rows[TIME].cast(pa.int64())
            there = pc.and_(pc.less_equal(when, at), pc.greater(when, after))
            there = pc.and_(there, pc.equal(rows[QUERY], query.id))
            rows = rows.filter(pc.and_(there, alive(rows, at)))
            pieces.append(rows.select(query.schema.names).cast(query.schema))
    changes = pa.concat_tables(pieces) if pieces else query.schema.empty_table()
    left = changes.take(pa.array(left_of(changes)))
    return left.filter(pc.greater(left[OP], 0)).select(names)


def _row_groups(path: Path, query: int, at: int) -> list[pa.Table]:
    """The row groups of a file that may have changes of a query which matter at an instant."""
    with reading(path), pq.ParquetFile(path) as file:
        place = {file.schema.column(i).path: i for i in range(len(file.schema))}
        wanted = []
        for group in range(note_of(file).first_group(at), file.num_row_groups):
            found = file.metadata.row_group(group)
            whose, when, ends = (found.column(place[name]).statistics for name in (QUERY, TIME, EXPIRES))
            if whose is not None and whose.has_min_max and not whose.min <= query <= whose.max:
                continue
            if when is not None and when.has_min_max and when.min_raw > at:
                continue
            is_known = ends is not None and ends.has_min_max and ends.has_null_count and not ends.null_count
            if is_known and ends.max_raw <= at:
                continue
            wanted.append(group)
        return [file.read_row_group(group) for group in wanted]


def _of_evaluation(home: Path, query: StoredQuery, files: list[DataFile], end: int) -> pa.Table:
    time = time_column(query.schema)
    instant = pa.scalar(end).cast(query.schema.field(time).type)
    wanted = (pc.field(QUERY) == query.id) & (pc.field(time) == instant)
    pieces = [query.schema.empty_table()]
    for file in files:
        if file.earliest is not None and file.latest is not None and not file.earliest <= end <= file.latest:
            continue
        with reading(home / file.path):
            rows = pq.read_table(home / file.path, filters=wanted)
        pieces.append(rows.select(query.schema.names).cast(query.schema))
    return pa.concat_tables(pieces)

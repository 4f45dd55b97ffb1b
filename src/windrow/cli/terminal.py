"""How things look: consoles, numbers, times, and tables of answers.

Answers go to standard output; whatever is said about them goes to standard error, so that
`windrow run q.cql > answers.txt` keeps the answers alone.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import rich.box
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

WIDE = 10_000
"""Columns of a console that is not a terminal: nothing is cut off in a file."""


def answers_console() -> Console:
    """Standard output."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)


def messages_console() -> Console:
    """Standard error."""
    return Console(highlight=False, stderr=True, width=None if sys.stderr.isatty() else WIDE)


def is_interactive() -> bool:
    """Whether somebody is looking, so that a display may redraw itself."""
    return sys.stdout.isatty() and messages_console().is_terminal


@contextmanager
def status(text: str) -> Iterator[None]:
    """A spinner while something takes its time; silent when nobody is looking."""
    if not is_interactive():
        yield
        return
    with messages_console().status(text):
        yield


def instant(microseconds: int | None) -> str:
    """An event time as people write it.

    >>> instant(1_357_020_000_000_000), instant(None)
    ('2013-01-01 06:00:00', '–')
    """
    if microseconds is None:
        return "–"
    seconds, fraction = divmod(microseconds, 1_000_000)
    return cell(datetime.fromtimestamp(seconds, UTC).replace(microsecond=fraction))


def cell(value: Any) -> str:
    """A value of an answer.

    >>> cell(12.345678), cell(3.0), cell(0.0000012), cell(None), cell("EWR")
    ('12.3457', '3.0', '1.2e-06', 'NULL', 'EWR')
    """
    if value is None:
        return "NULL"
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ")
    if isinstance(value, float):
        small = value != 0 and abs(value) < 1e-3
        text = f"{value:.4g}" if small or abs(value) >= 1e15 else f"{value:.4f}".rstrip("0")
        return f"{text}0" if text.endswith(".") else text
    return str(value)


def counted(count: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def duration(length: timedelta | float | None) -> str:
    """A length of time (a number is seconds), as coarse as people say it.

    >>> [duration(s) for s in (0.0421, 3.25, 90, 7_200, 400_000, 1e9, -5, None)]
    ['0.04 s', '3.2 s', '90 s', '2 h', '5 days', '32 years', '-5 s', '–']
    """
    if length is None:
        return "–"
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    if seconds < 0:
        return f"-{duration(-seconds)}"
    for unit, size in (("years", 365.25 * 86_400), ("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.{int(seconds < 10 and seconds % 1 > 0)}f} s"


def print_answers(answers: pa.Table) -> None:
    """A table for people; for programs, lines with tabs between the values, in full."""
    if sys.stdout.isatty():
        answers_console().print(answers_table(answers))
        return
    print(*answers.column_names, sep="\t")
    for row in _rows(answers):
        print(*(repr(value) if isinstance(value, float) else cell(value) for value in row), sep="\t")


def _rows(answers: pa.Table) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in answers.columns), strict=True)


def answers_table(answers: pa.Table) -> Table:
    """Answers as a table; numbers to the right, times no finer than they need to be."""
    table = Table(box=rich.box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for field in answers.schema:
        numeric = str(field.type).startswith(("int", "uint", "float", "double", "decimal"))
        table.add_column(field.name, justify="right" if numeric else "left", no_wrap=True)
    for row in zip(*(_cells(column) for column in answers.columns), strict=True):
        table.add_row(*row)
    return table


def _cells(column: pa.ChunkedArray) -> list[str]:
    values = [cell(value) for value in column.to_pylist()]
    whole_minutes = str(column.type).startswith("timestamp") and all(text.endswith(":00") for text in values)
    return [text.removesuffix(":00") for text in values] if whole_minutes else values

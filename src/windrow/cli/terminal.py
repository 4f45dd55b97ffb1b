"""How things look: consoles, numbers, times, and tables of answers.

Answers go to standard output; whatever is said about them goes to standard error, so that
`windrow run q.cql > answers.txt` keeps the answers alone.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import rich.box
from rich.console import Console
from rich.table import Table

from windrow.api.watching import answers as texts_of
from windrow.api.watching import cell as cell
from windrow.api.watching import duration as duration

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


def counted(count: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


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
    """Answers as a table."""
    shown = texts_of(answers)
    table = Table(box=rich.box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name, right in zip(shown.headings, shown.right, strict=True):
        table.add_column(name, justify="right" if right else "left", no_wrap=True)
    for row in shown.rows:
        table.add_row(*row)
    return table

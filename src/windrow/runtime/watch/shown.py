"""Values, and tables of them, as people read them: the same words in a terminal and in a notebook."""

from __future__ import annotations

from datetime import datetime, timedelta
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from windrow.columns import EXPIRES, OP, TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa


class Shown(NamedTuple):
    """A table of texts: the headings, which columns stand to the right, and the rows."""

    headings: Sequence[str]
    right: Sequence[bool]
    rows: Sequence[Sequence[str]]

    def text(self) -> str:
        """Lines with columns side by side.

        >>> print(Shown(["origin", "n"], [False, True], [["EWR", "12"], ["LGA", "7"]]).text())
        origin   n
        EWR     12
        LGA      7
        """
        lines = [self.headings, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        aligned = (
            [f"{text:{'>' if right else '<'}{width}}" for text, right, width in zip(line, self.right, widths)]
            for line in lines
        )
        return "\n".join("  ".join(line).rstrip() for line in aligned)

    def html(self) -> str:
        """An HTML table, complete in itself.

        >>> Shown(["a < b"], [True], [["7"]]).html().count('<td style="text-align: right">7</td>')
        1
        """
        head = "".join(self._cells("th", self.headings))
        body = "\n".join(f"<tr>{''.join(self._cells('td', row))}</tr>" for row in self.rows)
        return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody>\n</table>"

    def _cells(self, tag: str, texts: Sequence[str]) -> list[str]:
        return [
            f'<{tag} style="text-align: {"right" if right else "left"}">{escape(text)}</{tag}>'
            for text, right in zip(texts, self.right, strict=True)
        ]


CHANGES = "+: a row comes, and goes by itself at the time under `until`, if there is one; −: it is taken back"
"""What the signs in front of changes mean."""


def are_changes(names: Sequence[str]) -> bool:
    """Whether answers with these columns are changes."""
    return OP in names


def reading_order(names: Sequence[str]) -> list[int]:
    """The places of columns, in the order in which people want answers sorted by them: changes by their time,
    and those of one instant by what happens.

    >>> reading_order(["_op", "_ts", "_exp", "n"]), reading_order(["window_end", "n"])
    ([1, 0, 2, 3], [0, 1])
    """
    first = {TIME: 0, OP: 1} if are_changes(names) else {}
    return sorted(range(len(names)), key=lambda place: first.get(names[place], len(first)))


def in_order(table: pa.Table) -> pa.Table:
    """Rows by their values, from the left; lists and maps have no order."""
    import pyarrow.types as pat  # here, so that the command line, which shows answers too, begins without it

    by = [(field.name, "ascending") for field in table.schema if not pat.is_nested(field.type)]
    return table.sort_by(by) if by else table


def answers(table: pa.Table) -> Shown:
    """Answers as texts; numbers to the right, times no finer than they need to be.

    Changes begin with what happens: + for a row that comes, − for one that is taken back; and a row that
    comes says until when it stays, where that is known.
    """
    if are_changes(table.column_names):
        return _changes(table)
    numbers = ("int", "uint", "float", "double", "decimal")
    return Shown(
        table.column_names,
        [str(field.type).startswith(numbers) for field in table.schema],
        list(zip(*(_cells(column) for column in table.columns), strict=True)),
    )


def _changes(table: pa.Table) -> Shown:
    """Changes as texts: whether a row comes, when, its values, and until when it stays."""
    op = table[OP].to_pylist()
    ends = zip(op, _cells(table[EXPIRES]), table[EXPIRES].is_valid().to_pylist(), strict=True)
    rows = answers(table.drop_columns([OP, TIME, EXPIRES]))
    until = [text if came > 0 and is_known else "" for came, text, is_known in ends]
    signs = ["+" if came > 0 else "−" for came in op]
    return Shown(
        ["", "at", *rows.headings, "until"],
        [False, False, *rows.right, False],
        [
            [sign, at, *row, end]
            for sign, at, row, end in zip(signs, _cells(table[TIME]), rows.rows, until, strict=True)
        ],
    )


def _cells(column: pa.ChunkedArray) -> list[str]:
    found = column.to_pylist()
    values = [cell(value) for value in found]
    known = [text for text, value in zip(values, found, strict=True) if value is not None]
    whole_minutes = str(column.type).startswith("timestamp") and all(text.endswith(":00") for text in known)
    return [text.removesuffix(":00") for text in values] if whole_minutes else values


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


def until(instant: datetime | None) -> str:
    """An instant; a dash where there is none yet."""
    return "–" if instant is None else cell(instant)


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

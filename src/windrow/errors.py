"""Every error that Windrow raises on purpose: one family, so that a caller can catch it whole.

A message says what was wrong, where, and what to do about it. Errors about query text also carry
the place: `StatementError` prints the line with the offending text underlined.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class WindrowError(Exception):
    """The root of the family."""


class StatementError(WindrowError):
    """A statement cannot be understood or bound. Knows the place and shows it.

    `start` and `end` are offsets into `text` (end exclusive); a place that is unknown is (0, 0)
    and is not shown.

    >>> text = "SELECT 1\\nFROM flight"
    >>> print(StatementError("unknown stream 'flight'", text, 14, 20, "did you mean flights?"))
    unknown stream 'flight' (line 2, column 6)
    <BLANKLINE>
        FROM flight
             ^^^^^^
    did you mean flights?
    """

    def __init__(self, problem: str, text: str = "", start: int = 0, end: int = 0, hint: str = "") -> None:
        self.problem = problem
        self.text = text
        self.start = start
        self.end = max(end, start)
        self.hint = hint
        before = text[:start]
        self.line = before.count("\n") + 1
        self.column = start - (before.rfind("\n") + 1) + 1
        super().__init__(self._render())

    def _render(self) -> str:
        hint = f"\n{self.hint}" if self.hint else ""
        if not self.text or self.end == 0:
            return f"{self.problem}{hint}"
        line = self.text.split("\n")[self.line - 1]
        width = max(1, min(self.end - self.start, len(line) - self.column + 1))
        # Tabs are kept in the padding so that the caret stands under the text in any terminal.
        padding = "".join("\t" if c == "\t" else " " for c in line[: self.column - 1])
        return (
            f"{self.problem} (line {self.line}, column {self.column})\n\n"
            f"    {line}\n    {padding}{'^' * width}{hint}"
        )


class PlanError(WindrowError):
    """The statement is well formed, but no plan may execute it (an algorithm that the aggregate's
    algebra does not allow, a type that an aggregate cannot take)."""


class SourceError(WindrowError):
    """A stream's or table's data cannot be read as declared."""


class MostlyDead(SourceError):
    """Most of what was read of a stream are dead letters: its declaration is wrong, or its source."""


class TimestampError(WindrowError):
    """A stream's event-time column is missing, or is no timestamp."""

    def __init__(self, problem: str, hint: str) -> None:
        self.problem = problem
        self.hint = hint
        super().__init__(f"{problem}\n{hint}")


class HomeError(WindrowError):
    """The home directory cannot be used: not writable, of another format, or used by another engine."""


class QueryFailed(WindrowError):
    """A query failed while it ran; the message carries the query's name and Spark's reason."""


class MachineFailed(WindrowError):
    """The machine failed, and no query: files are away, jobs were cancelled, an executor or Spark itself is
    lost, the disk is full. Nothing is lost by it: what was not committed is done again by the next start.

    `problem` is what happened, `told` the same for people, with what follows from it; `lasting` says that it
    does not help to try again in this process.
    """

    def __init__(self, problem: str, told: str = "", *, lasting: bool = False) -> None:
        self.problem = problem
        self.lasting = lasting
        super().__init__(told or problem)


class InputError(WindrowError, ValueError):
    """An argument of a function on arrays cannot be used: the wrong shape, type or value."""


class SumOverflow(WindrowError, OverflowError):
    """The sum of a window of integers does not fit in 64 bits."""


def suggestion(wrong: str, known: Iterable[str]) -> str:
    """A hint naming the closest known word, or nothing.

    >>> suggestion("dep_dela", ["arr_delay", "dep_delay"])
    'did you mean dep_delay?'
    >>> suggestion("zzz", ["arr_delay"])
    ''
    """
    spelled = {word.lower(): word for word in known}
    close = get_close_matches(wrong.lower(), spelled, n=1, cutoff=0.6)
    return f"did you mean {spelled[close[0]]}?" if close else ""

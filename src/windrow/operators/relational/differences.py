"""ISTREAM and DSTREAM of evaluations: what an answer has that the one before has not, or no longer has.

The answer of an evaluation is there until the next one; so the difference between two is what changes at the
instant of the later, net, by value (`NetChanges`). An evaluation without rows has a difference too.

State: the rows of the last answer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.columns import END_OF_TIME
from windrow.operators.relational.net_changes import NetChanges

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from windrow.operators.relational.changes import Changes


class Differences(NetChanges):
    """What each evaluation has more than the one before it, or less."""

    def __init__(self, columns: Mapping[str, pa.DataType], new: bool, slide: int, *, lasting: bool) -> None:
        """`columns`: those of the rows. `new`: what is new is given, otherwise what is gone. `slide`: the
        time between two evaluations, in microseconds. `lasting`: whether some windows are UNBOUNDED, so that
        the answer of the last evaluation of all stays."""
        super().__init__(columns, new)
        self._slide = slide
        self._lasting = lasting

    def advance(self, inputs: Sequence[Changes], until: int) -> Changes:
        """The differences of the evaluations whose instants lie before `until`."""
        (changes,) = inputs
        ends = changes.ts + self._slide
        if self._lasting and until == END_OF_TIME:
            until = int(ends.max()) if len(ends) else min(self._ends.next(), END_OF_TIME)
        return super().advance([replace(changes, live=ends, exp=ends)], until)

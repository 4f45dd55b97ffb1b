"""A query that slices cannot answer, as a tree of operators: joins, DISTINCT, set operations, windows without
SLIDE, over any number of streams.

Its ports are queries over one stream each, without a window (`reads`), whose rows the leaves of the tree put
into windows. With SLIDE the answers are those of evaluations; without, they are changes: what comes and when
it ends (`_op`, `_ts`, `_exp`), or, as ISTREAM and DSTREAM, what is new or gone (`_ts`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.columns import EXPIRES, OP, TIME, WINDOW_END, WINDOW_START
from windrow.cql import DSTREAM, ISTREAM, RSTREAM
from windrow.logical.patterns import UpdatePattern
from windrow.logical.query import BoundQuery
from windrow.logical.tree import Group, Rows, Windowed
from windrow.slicing import Window

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from windrow.logical.select import SelectQuery
    from windrow.logical.tree import Node


WHAT = {RSTREAM: "", ISTREAM: " what is new:", DSTREAM: " what is gone:"}


@dataclass(frozen=True, kw_only=True)
class RelationalQuery(BoundQuery):
    """A tree of operators, and what becomes of the rows at its root."""

    root: Node
    reads: tuple[SelectQuery, ...]
    """What is asked of each stream, a port each; their outputs are the columns of the tree's leaves."""
    delivery: str = RSTREAM
    """RSTREAM, ISTREAM or DSTREAM."""
    slide: int | None = None
    """The time between two evaluations, in microseconds; None: it is answered at every change."""
    offset: int = 0
    warnings: tuple[str, ...] = field(default=(), compare=False)
    """What people should know before they run it."""

    @property
    def inputs(self) -> tuple[BoundQuery, ...]:
        return self.reads

    @property
    def arrivals(self) -> tuple[UpdatePattern, ...]:
        """How the rows of each input come to an end: as its window says."""
        by_port = {node.port: node.pattern for node in self.root.walk() if isinstance(node, Rows)}
        return tuple(by_port[port] for port in range(len(self.reads)))

    @property
    def pattern(self) -> UpdatePattern:
        """How results end, by the external windows; those of evaluations, and what is new or gone, stand."""
        if self.slide is not None or self.delivery != RSTREAM:
            return UpdatePattern.MONOTONIC
        return self.root.ends

    @property
    def has_changes(self) -> bool:
        """Whether its results are changes, from which the answer at an instant can be put together."""
        return self.slide is None and self.delivery == RSTREAM

    @property
    def time_column(self) -> str:
        """When a change is of, or an evaluation."""
        return TIME if self.slide is None else WINDOW_END

    @property
    def time_columns(self) -> dict[str, pa.DataType]:
        """What every result says of its time."""
        instant = self.stream.time_type
        if self.slide is None:
            return {OP: pa.int8(), TIME: instant, EXPIRES: instant} if self.has_changes else {TIME: instant}
        return (
            {WINDOW_START: instant, WINDOW_END: instant} if self.range is not None else {WINDOW_END: instant}
        )

    @property
    def windows(self) -> list[Rows | Windowed]:
        """Its windows, of streams and of the results of queries, without those that these have below."""
        return list(_windows(self.root))

    @property
    def range(self) -> int | None:
        """How long all its windows are; None if they are not equally long."""
        ranges = {one.window for one in self.windows}
        return ranges.pop() if len(ranges) == 1 else None

    @property
    def longest(self) -> int:
        """How long it takes until all windows are full from which rows leave: where one is over the results
        of others, both together."""
        return _longest(self.root)

    @property
    def shape(self) -> Hashable:
        """An operator answers one such query."""
        return self.outputs

    def steps(self) -> list[str]:
        """What is done, from the answer down to the streams, for people."""
        outputs = (
            readable if (readable := self.readable(o.expression)) == o.name else f"{readable} AS {o.name}"
            for o in self.outputs
        )
        steps = [f"answer{WHAT[self.delivery]} {', '.join(outputs)}"]
        steps += [f"having {self.readable(self.having)}"] if self.having else []
        return [*steps, *(str(node) for node in reversed(list(self.root.walk())))]

    def drawn(self) -> list[str]:
        """The tree as people see it, with how the rows of each of its operators end."""
        outputs, *having = self.steps()[: 1 + bool(self.having)]
        lines = [f"└ {outputs}", *(f"  └ {line}" for line in having)]
        return [*lines, *_drawn(self.root, len(lines))]

    @property
    def waits_for_rows(self) -> bool:
        """Without SLIDE rows are answered one by one, once none can come before them any more."""
        return self.slide is None

    @property
    def evaluations(self) -> tuple[Window, ...]:
        """When it is answered, with SLIDE."""
        return () if self.slide is None else (Window(self.longest or self.slide, self.slide, self.offset),)

    def said_of(self, node: Node) -> str:
        """What a node of its tree does, for people."""
        return _said(node)

    def readable(self, sql: str) -> str:
        """An expression as a person would write it: answer columns as what they are, nothing quoted."""
        return _spelled(sql.replace("`", ""), self.root)


def _windows(node: Node) -> Iterator[Rows | Windowed]:
    """The windows that the rows of a node have come through last."""
    if isinstance(node, Rows | Windowed):
        yield node
        return
    for below in node.inputs:
        yield from _windows(below)


def _longest(node: Node) -> int:
    """How long it takes until all windows of a node, and below it, are full."""
    own = (node.window or 0) if isinstance(node, Rows | Windowed) else 0
    return own + max(map(_longest, node.inputs), default=0)


def _said(node: Node) -> str:
    return _spelled(str(node), node.inputs[0]) if node.inputs else str(node)


def _spelled(text: str, node: Node) -> str:
    """A text about the columns of a node, those of a GROUP BY as what they are."""
    if not isinstance(node, Group):
        return text

    def spell(match: re.Match[str]) -> str:
        place = int(match[2])
        return node.keys[place] if match[1] == "key" else str(node.aggregates[place]).replace("`", "")

    return re.sub(r"\b_(key|aggregate)(\d+)\b", spell, text)


def _drawn(node: Node, depth: int) -> list[str]:
    """A node and all below it, a line each, deeper ones further in."""
    lines = [f"{'  ' * depth}└ {_said(node)}: {node.pattern.value}"]
    for below in node.inputs:
        lines += _drawn(below, depth + 1)
    return lines

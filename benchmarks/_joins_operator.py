"""The join operator by itself, without Spark and a home: what it touches, and how long it takes.

The rows of two links go through it batch by batch, as they would in an engine: those of both links up to an
instant at a time. The first half of the batches fills the windows, the second half is measured.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _joins_links import LINKS, SECOND

from windrow.columns import END_OF_TIME
from windrow.logical.tree import Column, Join, Rows
from windrow.operators.relational.changes import Changes
from windrow.operators.relational.window_join import WindowJoin

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from _joins_links import Links


@dataclass(frozen=True)
class Passage:
    """What the second half of the batches made the operator do."""

    rows: int
    results: int
    touched: int
    """Rows inserted, probed and expired, each time that one was."""
    seconds: float

    @property
    def touched_each(self) -> float:
        """For a row and result."""
        return self.touched / (self.rows + self.results)

    @property
    def nanoseconds_each(self) -> float:
        """For a row and result."""
        return 1e9 * self.seconds / (self.rows + self.results)


def pass_through(links: Links, window: int) -> Passage:
    """Join both links in windows of so many seconds."""
    operator = WindowJoin(_join(window), _no_expressions)
    files = [sorted(links.files_of(link).iterdir()) for link in LINKS]
    rows = results = touched = 0
    seconds = 0.0
    for number, both in enumerate(zip(*files, strict=True)):
        batches = [_changes(file, link, window) for file, link in zip(both, LINKS, strict=True)]
        until = max(int(batch.ts[-1]) for batch in batches) + 1
        touched_before, begun = operator.touched, time.perf_counter()
        pairs = operator.advance(batches, until)
        operator.log()
        if number >= links.size.files // 2:
            seconds += time.perf_counter() - begun
            touched += operator.touched - touched_before
            rows += sum(map(len, batches))
            results += len(pairs)
    return Passage(rows, results, touched, seconds)


def _join(window: int) -> Join:
    """What a query that asks for the key and both values is planned as."""
    left, right = (
        Rows(port, link, _columns(link), window * SECOND, internal=True) for port, link in enumerate(LINKS)
    )
    return Join(left, right, keys=(("a_k", "b_k"),), kept=("a_k", "a_v", "b_v"))


def _columns(link: str) -> tuple[Column, ...]:
    return Column(f"{link}_k", pa.int64()), Column(f"{link}_v", pa.int64())


def _changes(file: Path, link: str, window: int) -> Changes:
    table = pq.read_table(file, columns=["ts", "k", "v"]).combine_chunks()
    ts = np.asarray(table["ts"].chunk(0).cast(pa.int64()).to_numpy())
    rows = pa.table({f"{link}_k": table["k"], f"{link}_v": table["v"]})
    return Changes(ts, ts + window * SECOND, np.full(len(ts), END_OF_TIME), rows)


def _no_expressions(table: pa.Table, expressions: Sequence[str]) -> list[pa.Array]:
    raise AssertionError(f"an equality of keys needs no expressions: {expressions} of {len(table)} rows")

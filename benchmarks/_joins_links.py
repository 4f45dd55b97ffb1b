"""Two generated links, `a` and `b`: rows at a fixed rate, with as many different keys as is asked for.

A window of n rows over keys that are all as likely has n / keys partners for a row of the other link. So keys
that are scaled with the window keep the results a row constant, and what remains is the size of the window.
The rows of the links lie between each other in time; no two have the same instant. Files of both are cut at
the same instants: a file is a micro-batch.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

LINKS = ("a", "b")
SCHEMA = "ts TIMESTAMP, k BIGINT, p INT, v BIGINT"
PROTOCOLS = 16
"""How many values the column p has."""
SECOND = 1_000_000
FIRST = 1_704_067_200 * SECOND
"""When the first row comes: microseconds, a multiple of every SLIDE in use."""


@dataclass(frozen=True)
class Size:
    """How much data, of each link."""

    files: int
    a_file: int
    """Rows of a file, and so of a micro-batch."""
    rate: int
    """Rows a second; a million is a multiple of it, and of its double."""
    first: int | None = None
    """Rows of the first file, if it has others."""

    @property
    def rows(self) -> int:
        return self.begins[-1]

    @property
    def begins(self) -> list[int]:
        """The row at which each file begins, and where the last one ends."""
        first = self.a_file if self.first is None else self.first
        return [0, *(first + number * self.a_file for number in range(self.files))]

    @property
    def step(self) -> int:
        """The time between two rows of a link, in microseconds."""
        return SECOND // self.rate

    def seconds(self, rows: int) -> int:
        """How long it takes for so many rows to come."""
        seconds, rest = divmod(rows, self.rate)
        if rest:
            raise ValueError(f"{rows:,} rows are no whole seconds at {self.rate:,} rows a second")
        return seconds


@dataclass(frozen=True)
class Links:
    """Generated files, a directory a link."""

    size: Size
    path: Path

    def files_of(self, link: str) -> Path:
        """The directory of a link."""
        return self.path / link

    def first(self, files: int, path: Path) -> Links:
        """The first files of each link, in directories of their own."""
        for link in LINKS:
            (path / link).mkdir(parents=True)
            for file in sorted(self.files_of(link).iterdir())[:files]:
                (path / link / file.name).hardlink_to(file)
        return Links(replace(self.size, files=files), path)


def make_links(size: Size, path: Path, keys: int) -> Links:
    """Write both links with so many keys, all of them as likely."""
    generator = np.random.default_rng(keys)
    for link in LINKS:
        write_link(size, path, link, generator.integers(0, keys, size.rows))
    return Links(size, path)


def write_link(size: Size, path: Path, link: str, keys: Array) -> None:
    """Write the files of a link, in the order of time, with modification times in that order."""
    generator = np.random.default_rng(LINKS.index(link))
    rows = pa.table(
        {
            "ts": pa.array(instants(size, link), pa.timestamp("us", "UTC")),
            "k": keys.astype(np.int64),
            "p": generator.integers(0, PROTOCOLS, size.rows, np.int32),
            "v": generator.integers(0, 1_000_000_000, size.rows),
        }
    )
    directory = path / link
    directory.mkdir(parents=True)
    earliest = time.time() - 10 * size.files
    for number, (begin, end) in enumerate(pairwise(size.begins)):
        file = directory / f"{number:04d}.parquet"
        pq.write_table(rows.slice(begin, end - begin), file)
        os.utime(file, (earliest + 10 * number,) * 2)


def instants(size: Size, link: str) -> Array:
    """When the rows of a link come, in microseconds."""
    return FIRST + LINKS.index(link) * size.step // 2 + size.step * np.arange(size.rows)

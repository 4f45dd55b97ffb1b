"""GROUP BY over a join at overlap 60: the engine keeps it up, DuckDB recomputes it at each evaluation.

DuckDB has all rows of both links in memory, in the order of time, before it is asked, and is asked for some
evaluations of windows that are full; the time of each is until its answer is there, as Arrow. The engine is
charged for everything that its epochs do: reading files, keeping state, writing all answers and committing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
from _joins_links import FIRST, LINKS
from _joins_ways import run_engine
from _ways import WrongAnswer
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from _joins_links import Links
    from _joins_ways import Epoch
    from pyspark.sql import DataFrame, SparkSession

    Array = np.ndarray[Any, Any]

OVERLAP = 60
SECOND = 1_000_000
COLUMNS = ("p", "n", "total")


@dataclass(frozen=True)
class Evaluated:
    """What evaluations took."""

    engine: float
    """Seconds an evaluation."""
    duckdb: tuple[float, ...]
    """Seconds, of those that it was asked for."""
    answers: int
    """Of an evaluation."""
    equal: int
    """How many evaluations were compared, and found equal."""


def statement() -> str:
    """The query."""
    window = f"[RANGE {OVERLAP} SECONDS SLIDE 1 SECOND]"
    return f"SELECT a.p, COUNT(*) AS n, SUM(b.v) AS total FROM a {window}, b {window} WHERE a.k = b.k GROUP BY a.p"


def run_evaluations(spark: SparkSession, links: Links, asked: int, scratch: Path) -> Evaluated:
    """Let both answer; raises WrongAnswer unless the evaluations that DuckDB is asked for are equal."""
    _, epochs, answers = run_engine(spark, links, statement(), scratch)
    seconds = links.size.seconds(links.size.rows)
    ends = np.linspace(seconds // 2, seconds - 1, asked).astype(int)
    theirs = _recomputed(links, [int(end) for end in ends])
    ours = _of_evaluations(answers, list(theirs))
    for end, (_, expected) in theirs.items():
        if any(not np.array_equal(ours[end][name], expected[name]) for name in COLUMNS):
            raise WrongAnswer(f"the evaluation after {end} s is not the one that DuckDB recomputes")
    mean = round(float(np.mean([len(expected["p"]) for _, expected in theirs.values()])))
    return Evaluated(_each(epochs, links), tuple(took for took, _ in theirs.values()), mean, len(theirs))


def _each(epochs: tuple[Epoch, ...], links: Links) -> float:
    """What an evaluation costs the engine, once its windows are full: in the second half of the batches."""
    half = links.size.files // 2
    begin = max(epoch.at for epoch in epochs if epoch.batch is not None and epoch.batch < half)
    end = max(epoch.at for epoch in epochs if epoch.batch is not None)
    return (end - begin) / (links.size.seconds(links.size.rows) * (1 - half / links.size.files))


def _recomputed(links: Links, ends: list[int]) -> dict[int, tuple[float, Mapping[str, Array]]]:
    """By the second that an evaluation is at: how long it took, and its answer."""
    found = {}
    with duckdb.connect() as database:
        for link in LINKS:
            files = links.files_of(link) / "*.parquet"
            database.execute(
                f"CREATE TABLE {link} AS SELECT epoch_us(ts) AS ts, k, p, v FROM read_parquet('{files}') ORDER BY ts"
            )
        for end in (ends[0], *ends):  # the first is to warm up
            until = FIRST + end * SECOND
            inside = " AND ".join(f"{s}.ts >= {until - OVERLAP * SECOND} AND {s}.ts < {until}" for s in LINKS)
            begun = time.perf_counter()
            answer = database.sql(
                "SELECT a.p, count(*) AS n, sum(b.v)::BIGINT AS total "
                f"FROM a, b WHERE a.k = b.k AND {inside} GROUP BY a.p"
            ).to_arrow_table()
            found[end] = (time.perf_counter() - begun, _by_protocol(answer))
    return found


def _of_evaluations(answers: DataFrame, ends: list[int]) -> dict[int, Mapping[str, Array]]:
    at = (F.unix_micros("window_end") - FIRST) / SECOND
    rows = answers.select(at.cast("long").alias("at"), *COLUMNS).where(F.col("at").isin(ends)).toArrow()
    when = rows["at"].to_numpy()
    return {end: _by_protocol(rows.filter(pa.array(when == end))) for end in ends}


def _by_protocol(answer: pa.Table) -> Mapping[str, Array]:
    ordered = answer.sort_by("p")
    return {name: ordered[name].to_numpy() for name in COLUMNS}

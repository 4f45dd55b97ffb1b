"""GROUP BY over a join at overlap 60: the engine keeps it up, DuckDB recomputes it at each evaluation.

DuckDB has all rows of both links in memory, in the order of time, before it is asked, and is asked for some
evaluations of windows that are full; each takes until its answer is there, as Arrow. The engine is charged
for everything that its epochs do: reading files, keeping state, writing all answers, committing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
from _harness import Timing
from _joins_engine import run_engine
from _joins_links import FIRST, LINKS, SECOND
from _ways import WrongAnswer
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pathlib import Path

    from _joins_links import Links
    from pyspark.sql import DataFrame, SparkSession

    Array = np.ndarray[Any, Any]

OVERLAP = 60
"""Windows are so many seconds long, and evaluated every second."""
COLUMNS = ("p", "n", "total")


@dataclass(frozen=True)
class Evaluated:
    """What evaluations took; those that DuckDB was asked for were equal."""

    windrow: float
    """Seconds an evaluation."""
    duckdb: Timing
    pairs: int
    """How many pairs an evaluation is over, on average."""

    @property
    def gain(self) -> float:
        """How many times as long DuckDB took."""
        return self.duckdb.median / self.windrow


def run_evaluations(spark: SparkSession, links: Links, asked: int, scratch: Path) -> Evaluated:
    """Let both answer, DuckDB so many times; raises WrongAnswer unless these evaluations are equal."""
    window = f"[RANGE {OVERLAP} SECONDS SLIDE 1 SECOND]"
    statement = (
        f"SELECT a.p, COUNT(*) AS n, SUM(b.v) AS total FROM a {window}, b {window} "
        "WHERE a.k = b.k GROUP BY a.p"
    )
    _, epochs, answers = run_engine(spark, links, statement, scratch)
    seconds = links.size.seconds(links.size.rows)
    ends = np.linspace(seconds // 2, seconds - 1, asked).astype(int).tolist()
    took, theirs = _recomputed(links, ends)
    ours = _at(answers, ends)
    for end in ends:
        if any(not np.array_equal(ours[end][name], theirs[end][name]) for name in COLUMNS):
            raise WrongAnswer(f"the evaluation after {end} s is not the one that DuckDB recomputes")
    evaluations = links.size.seconds(sum(epoch.rows for epoch in epochs.later) // len(LINKS))
    pairs = round(float(np.mean([theirs[end]["n"].sum() for end in ends])))
    return Evaluated(epochs.seconds / evaluations, took, pairs)


def _recomputed(links: Links, ends: Sequence[int]) -> tuple[Timing, dict[int, Mapping[str, Array]]]:
    """How long DuckDB takes for the evaluations after so many seconds, and their answers."""
    found, took = {}, []
    with duckdb.connect() as database:
        for link in LINKS:
            rows = f"read_parquet('{links.files_of(link)}/*.parquet')"
            database.execute(
                f"CREATE TABLE {link} AS SELECT epoch_us(ts) AS ts, k, p, v FROM {rows} ORDER BY ts"
            )
        for end in (ends[0], *ends):  # the first is to warm up
            until = FIRST + end * SECOND
            inside = " AND ".join(
                f"{link}.ts >= {until - OVERLAP * SECOND} AND {link}.ts < {until}" for link in LINKS
            )
            begun = time.perf_counter()
            answer = database.sql(
                "SELECT a.p, count(*) AS n, sum(b.v)::BIGINT AS total "
                f"FROM a, b WHERE a.k = b.k AND {inside} GROUP BY a.p"
            ).to_arrow_table()
            took.append(time.perf_counter() - begun)
            found[end] = _in_order(answer)
    return Timing(tuple(took[1:])), found


def _at(answers: DataFrame, ends: Sequence[int]) -> dict[int, Mapping[str, Array]]:
    """The answers of the evaluations after so many seconds."""
    at = ((F.unix_micros("window_end") - FIRST) / SECOND).cast("long").alias("at")
    rows = answers.select(at, *COLUMNS).where(F.col("at").isin(list(ends))).toArrow()
    when = rows["at"].to_numpy()
    return {end: _in_order(rows.filter(pa.array(when == end))) for end in ends}


def _in_order(answer: pa.Table) -> Mapping[str, Array]:
    ordered = answer.sort_by("p")
    return {name: ordered[name].to_numpy() for name in COLUMNS}

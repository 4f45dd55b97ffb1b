"""Why rows are dead: the commonest reasons among many dead letters, each with one of the rows.

A reason quotes the value that was wrong, so that of a million dead rows each may have one of its own; they
are counted without what they quote. Cost: one job over the dead letters.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from windrow.columns import EPOCH, REASON, REFUSED_FILE, REFUSED_RAW
from windrow.runtime.spark.blame import ENGINE_ERRORS, failure
from windrow.runtime.spark.refused_tables import read_dead

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from windrow.runtime.epochs.report import EpochReport
    from windrow.runtime.home.home import Home

MOST_REASONS = 3
MOST_CHARACTERS = 200
"""Of a dead row, in a message."""
QUOTED = (
    r"(?<= is ).*?(?=, not [A-Za-z])",
    r"-?\d+-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?",
    r"(?<=in the year )-?\d+",
)
"""What a reason quotes of its row: a value that is not of its type, an event time and the clock, a year."""
TO_CHECK = (
    "check how it is declared: the order and the types of its columns, and for text its header, "
    "its separator (sep) and its timestampFormat"
)


COME_AGAIN = (
    "everything is committed. To have these rows after all, correct them in files of other names: how a "
    "stream is declared can no longer be changed in a home that has read it"
)


@dataclass(frozen=True)
class DeadReason:
    """A reason for which rows are dead, and one of these rows."""

    rows: int
    reason: str
    """As it is of that row."""
    raw: str
    file: str | None

    def __str__(self) -> str:
        line = " ".join(self.raw.split())
        line = line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]}…"
        return f"{self.rows:,} × {self.reason}\n    {line}{f' ({self.file})' if self.file else ''}"


def dead_reasons(dead: DataFrame) -> list[DeadReason]:
    """The commonest reasons of dead letters, which are a frame as `dead_rows` makes it."""
    kind = F.col(REASON)
    for quoted in QUOTED:
        kind = F.regexp_replace(kind, quoted, "…")
    counted = (
        dead.groupBy(kind.alias("kind"))
        .agg(
            F.count(F.lit(1)).alias("rows"),
            F.min(F.struct(REFUSED_FILE, REFUSED_RAW, REASON)).alias("example"),
        )
        .orderBy(F.desc("rows"), "kind")
        .limit(MOST_REASONS)
        .select("rows", "example.*")
    )
    try:
        found = counted.collect()
    except ENGINE_ERRORS as error:
        raise failure(error) from error
    return [DeadReason(row["rows"], row[REASON], row[REFUSED_RAW], row[REFUSED_FILE]) for row in found]


def lines_of_reasons(reasons: Sequence[DeadReason], dead: int) -> str:
    """Reasons of so many dead letters, a line each and a line for its row, indented."""
    others = dead - sum(reason.rows for reason in reasons)
    lines = [*map(str, reasons), *([f"{others:,} × other reasons"] if others > 0 else [])]
    return "\n".join(f"  {line}" for line in lines)


@dataclass(frozen=True)
class DeadOfRun:
    """The dead letters that a run had from one stream."""

    stream: str
    rows: int
    """How many rows it had from there in all."""
    dead: int
    reasons: tuple[DeadReason, ...]

    @property
    def most(self) -> bool:
        """Whether more than half of the rows are dead."""
        return 2 * self.dead > self.rows

    def __str__(self) -> str:
        count = f"{self.dead:,} of {self.rows:,} rows of this run"
        return (
            f"dead letters of stream '{self.stream}': {count}; eng.dead('{self.stream}') has them\n"
            f"{lines_of_reasons(self.reasons, self.dead)}"
        )


class RowsOfRun:
    """The rows that a run has had from each stream, and the dead ones among them."""

    def __init__(self, before: int) -> None:
        self._before = before
        """The last epoch before the run."""
        self._rows: Counter[str] = Counter()
        self._dead: Counter[str] = Counter()

    def add(self, report: EpochReport) -> None:
        """Count an epoch in."""
        self._rows[report.stream] += report.rows
        self._dead[report.stream] += report.dead

    def dead(self, spark: SparkSession, home: Home) -> Iterator[DeadOfRun]:
        """The streams with dead letters that the run has kept, and why they are dead."""
        for stream, dead in (+self._dead).items():
            kept = read_dead(spark, home, stream).where(F.col(EPOCH) > self._before)
            reasons = tuple(dead_reasons(kept))
            if reasons:  # none if a frame was read again: its dead letters are there since the first time
                yield DeadOfRun(stream, self._rows[stream], dead, reasons)

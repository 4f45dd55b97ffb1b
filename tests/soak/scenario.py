"""The story that is played with and without kills: fixed files, fixed batches, a fixed clock.

1. A phase puts its files into the directories of two streams, one file a batch.
2. The engine runs over them; nothing is sealed before the last phase.
3. The clock moves on, and a heartbeat closes windows of the stream that has fallen silent.

Interrupted anywhere and played again, a story goes on where the home says it was: the batches, their
clocks and the heartbeats are those of a story that was never interrupted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import windrow
from tests.soak.inputs import BEGINNING, put_files
from windrow.errors import QueryFailed
from windrow.runtime.home import compaction, home

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Phase:
    """Files that come, the clock while they are read, and the clock of the heartbeat after them."""

    readings: int
    orders: int
    clock: int
    heartbeat: int


@dataclass(frozen=True)
class Story:
    """What is played."""

    phases: tuple[Phase, ...]
    queries: dict[str, str]
    retain: dict[str, str] = field(default_factory=dict)
    since: dict[str, int] = field(default_factory=dict)
    """The phase in which a query comes, if not in the first."""
    until: dict[str, int] = field(default_factory=dict)
    """The phase in which it is dropped."""
    watched: str = "totals"
    """The query with a sink."""
    nodes: int | None = None
    """How many Spark tasks hold trees."""

    def files_before(self, phase: int) -> dict[str, int]:
        """How many files each stream has had when a phase begins."""
        past = self.phases[:phase]
        return {"readings": sum(p.readings for p in past), "orders": sum(p.orders for p in past)}


TOTALS = (
    "SELECT sensor, SUM(value) AS total, AVG(value) AS mean, MAX(value) AS most, COUNT(*) AS n "
    "FROM readings [RANGE 30 SECONDS SLIDE 7 SECONDS] GROUP BY sensor"
)
RATIO = "SELECT SUM(100 / parts) AS ratio FROM readings [RANGE 20 SECONDS SLIDE 10 SECONDS]"
SALES = (
    "SELECT shop, SUM(amount) AS total, MAX(amount) AS most, COUNT(*) AS n "
    "FROM orders [RANGE 2 MINUTES SLIDE 10 SECONDS] GROUP BY shop"
)
VALUES = (
    "SELECT sensor, COUNT(DISTINCT value) AS different, MEDIAN(value) AS half, FREQUENT_ITEMS(value, 2) AS often, "
    "COLLECT_LIST(value) AS list, APPROX_COUNT_DISTINCT(value) AS about, LAST(value) AS last "
    "FROM readings [RANGE 25 SECONDS SLIDE 5 SECONDS] GROUP BY sensor"
)
LAST = "SELECT sensor, SUM(value) AS total, COUNT(*) AS n FROM readings [ROWS 50 SLIDE 15] WHERE value > 2 GROUP BY sensor"
EACH = (
    "SELECT sensor, SUM(value) AS total, MIN(value) AS least FROM readings [PARTITION BY sensor ROWS 9 SLIDE 4] "
    "GROUP BY sensor"
)
ALERTS = "SELECT ts, sensor, value * 2 AS twice FROM readings WHERE value > 8"
SEEN = "SELECT * FROM orders"
RECENT = "SELECT shop, COUNT(*) AS n FROM orders [RANGE 15 SECONDS SLIDE 5 SECONDS] GROUP BY shop"
SOLD = "FROM readings [RANGE 8 SECONDS] AS r JOIN orders [RANGE 20 SECONDS] AS o ON r.parts = o.amount % 5"
PAIRS = f"SELECT r.sensor, r.value, o.shop, o.amount {SOLD} AND r.value < o.amount"
BUSY = f"SELECT o.shop, COUNT(*) AS n, SUM(r.value) AS total, MAX(r.sensor) AS last {SOLD} GROUP BY o.shop"
SHOPS = "SELECT DISTINCT shop FROM orders [RANGE 25 SECONDS]"
NEWS = "SELECT ISTREAM sensor, parts FROM readings [RANGE 3 SECONDS]"
MINUTES = (
    "SELECT r.sensor, COUNT(DISTINCT o.shop) AS shops FROM readings [RANGE 10 SECONDS SLIDE 5 SECONDS] AS r "
    "JOIN orders [RANGE 30 SECONDS SLIDE 5 SECONDS] AS o ON r.parts = o.amount % 5 GROUP BY r.sensor"
)

STORY = Story(
    phases=(
        Phase(readings=2, orders=1, clock=65, heartbeat=70),
        Phase(readings=2, orders=0, clock=105, heartbeat=130),
        Phase(readings=1, orders=2, clock=185, heartbeat=300),
        Phase(readings=0, orders=1, clock=310, heartbeat=500),
        Phase(readings=0, orders=0, clock=600, heartbeat=600),
    ),
    queries={
        "totals": TOTALS,
        "names": "SELECT MIN(sensor) AS first, MAX(sensor) AS last, COUNT(*) AS n "
        "FROM readings [RANGE 20 SECONDS SLIDE 10 SECONDS]",
        "high": "SELECT sensor, COUNT(*) AS n, AVG(value) AS mean FROM readings [RANGE 3 MINUTES SLIDE 20 SECONDS] "
        "WHERE value > 5 GROUP BY sensor",
        "crowded": "SELECT sensor, COUNT(*) AS n FROM readings [RANGE 15 SECONDS SLIDE 5 SECONDS] "
        "GROUP BY sensor HAVING COUNT(*) > 5",
        "ratio": RATIO,
        "values": VALUES,
        "last": LAST,
        "each": EACH,
        "fleeting": "SELECT SUM(value) AS total FROM readings [RANGE 10 SECONDS SLIDE 10 SECONDS]",
        "sales": SALES,
        "recent": RECENT,
        "alerts": ALERTS,
        "seen": SEEN,
        "pairs": PAIRS,
        "busy": BUSY,
        "shops": SHOPS,
        "news": NEWS,
        "minutes": MINUTES,
        "late pairs": PAIRS,
        "newcomer": "SELECT shop, AVG(amount) AS mean FROM orders [RANGE 30 SECONDS SLIDE 10 SECONDS] GROUP BY shop",
    },
    retain={"recent": "60 seconds", "seen": "60 seconds"},
    since={"newcomer": 2, "late pairs": 1},
    until={"fleeting": 3, "minutes": 3},
)

SHORT = Story(
    phases=(
        Phase(readings=2, orders=2, clock=65, heartbeat=70),
        Phase(readings=2, orders=2, clock=105, heartbeat=200),
        Phase(readings=0, orders=0, clock=600, heartbeat=600),
    ),
    queries={
        "totals": TOTALS,
        "ratio": RATIO,
        "sales": SALES,
        "alerts": ALERTS,
        "busy": BUSY,
        "shops": SHOPS,
    },
)
"""As long as it must be to have a first, a middle and a last epoch of each kind."""
SHORT_IN_TASKS = replace(SHORT, nodes=2)


def compact_often() -> None:
    """Let a story of a few dozen epochs see every kind of housekeeping."""
    compaction.FAN = 4
    home.GRACE_SECONDS = 0
    home.GRACE_FILES = 4
    home.LEAST_GRACE_SECONDS = 0


def play(
    story: Story,
    directory: Path,
    spark: SparkSession,
    say: Callable[[str], None] = lambda line: None,
    again: Callable[[], bool] = lambda: False,
) -> None:
    """Play a story to its end, from where the home in `directory` is.

    `again` is asked, when something fails, whether the same engine is to go on.
    """

    def do(action: Callable[[], None]) -> None:
        while True:
            try:
                return action()
            except Exception:
                if not again():
                    raise

    now = 0.0
    for stream in ("readings", "orders"):
        (directory / stream).mkdir(parents=True, exist_ok=True)
    with windrow.Engine(directory / "home", spark, clock=lambda: now, nodes=story.nodes) as engine:
        declare(engine, directory)
        begin, is_read = _place(story, engine, directory)
        registered: set[str] = set()
        for number, phase in list(enumerate(story.phases))[begin:]:
            say(f"phase {number}")
            now = BEGINNING.timestamp() + phase.clock
            put_files(directory, story.files_before(number), story.files_before(number + 1), phase.clock)
            for name, last in story.until.items():
                if number >= last and name in engine.queries:
                    engine.drop(name)
            wanted = _queries_in(story, number)
            for name in sorted(wanted - registered):
                _register(story, engine, name, directory)
            registered |= wanted
            if not (number == begin and is_read):
                do(partial(_run, engine, seal=number == len(story.phases) - 1))
            now = BEGINNING.timestamp() + phase.heartbeat
            do(engine.heartbeat)
        say("reading")
        say(f"readable {json.dumps(_as_spark_reads_it(engine))}")
    say("finished")


def declare(engine: windrow.Engine, directory: Path) -> None:
    """The two streams."""
    one_by_one = {"maxFilesPerTrigger": "1"}
    engine.stream(
        "readings", directory / "readings", "ts", "10 seconds", skew="1 hour",
        schema="ts TIMESTAMP, sensor STRING, value DOUBLE, parts INT", options=one_by_one,
    )  # fmt: skip
    engine.stream(
        "orders", directory / "orders", "ts", "5 seconds", idle_timeout="60 seconds", format="csv",
        schema="ts TIMESTAMP, shop STRING, amount INT", options=one_by_one,
    )  # fmt: skip


def _place(story: Story, engine: windrow.Engine, directory: Path) -> tuple[int, bool]:
    """The phase to go on with, and whether all its batches are committed.

    A phase begins with its files, so the last one with files there is it: everything before them is done,
    the heartbeat too. Its own heartbeat may be missing, and is given again, which changes nothing.
    """
    there = {stream: len([*(directory / stream).iterdir()]) for stream in ("readings", "orders")}
    begun = [
        number
        for number in range(len(story.phases))
        if any(there[stream] > count for stream, count in story.files_before(number).items())
    ]
    phase = max(begun, default=0)
    had = {stream: engine.progress(stream).batch + 1 for stream in ("readings", "orders")}
    return phase, had == story.files_before(phase + 1)


def _queries_in(story: Story, phase: int) -> set[str]:
    return {
        name
        for name in story.queries
        if story.since.get(name, 0) <= phase < story.until.get(name, len(story.phases))
    }


def _register(story: Story, engine: windrow.Engine, name: str, directory: Path) -> None:
    sink = _sink(directory / "delivered.jsonl") if name == story.watched else None
    engine.query(name, story.queries[name], sink, retain=story.retain.get(name))


def _sink(path: Path) -> Callable[[int, pa.Table], None]:
    """Appends what it gets, in one write: a kill leaves a line whole or out."""

    def append(epoch: int, answers: pa.Table) -> None:
        line = json.dumps([epoch, [list(row.values()) for row in answers.to_pylist()]], default=str)
        with path.open("ab", buffering=0) as file:
            file.write(line.encode() + b"\n")

    return append


def _run(engine: windrow.Engine, *, seal: bool) -> None:
    try:
        engine.run(seal=seal)
    except QueryFailed as error:
        if not str(error).startswith("ratio: "):
            raise


def _as_spark_reads_it(engine: windrow.Engine) -> dict[str, int]:
    """How many rows everything has that a user can ask for."""
    counts = {f"query {name}": engine.results(name).count() for name in engine.queries}
    for stream in ("readings", "orders"):
        counts[f"late {stream}"] = len(engine.late(stream).toArrow())
        counts[f"dead {stream}"] = len(engine.dead(stream).toArrow())
    return counts

"""A home with a history, made without Spark: what an engine would have committed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from tests.harness.on_disk import add_query
from windrow.runtime.home.home import Home
from windrow.runtime.home.records import Advance, DataFile, Epoch, Progress

if TYPE_CHECKING:
    from pathlib import Path

CLOCK = 1_700_000_000.0
WATERMARK = 1_699_999_880_000_000
"""Two minutes before the clock."""
ODD = 'the "odd" \\ one\n[bold]'
SCHEMA = pa.schema([("window_end", pa.timestamp("us")), ("delay", pa.float64())])
DELAYS = "SELECT AVG(delay) AS delay FROM flights [RANGE 6 HOURS SLIDE 5 MINUTES]"
REASON = "Division by zero. Use [try_divide] instead."


def make_home(path: Path) -> None:
    """Streams `flights` (1,200 rows) and one with an odd name (silent); queries `delays` and `broken`."""
    home = Home(path)
    try:
        for stream in ("flights", ODD):
            home.define(stream, "stream", {})
        delays = add_query(home.catalog, "delays", DELAYS, "flights", SCHEMA, retain=86_400_000_000 * 30)
        broken = add_query(home.catalog, "broken", "SELECT 1 / 0 AS delay FROM flights", "flights", SCHEMA)
        progress = Progress(0, WATERMARK, WATERMARK, clock=CLOCK - 10, rows=1_200, late=3, dead=1)
        with home.catalog.transaction() as database:
            database.execute("INSERT INTO operators VALUES (1, 0, NULL, '[0, 0, 0]', NULL, 7, 560, 1)")
            database.execute("INSERT INTO ports VALUES (1, 0, 'flights', 'monotonic')")
            database.execute("INSERT INTO members VALUES (1, ?, NULL, 0, 1 << 62)", (delays.id,))
        epoch = Epoch(
            number=0,
            clock=CLOCK - 10,
            seconds=0.5,
            streams={"flights": Advance(progress, 0, 1_200, 3, 1, 42)},
            queries=[
                replace(delays, answers=42, latest_end=WATERMARK),
                replace(broken, quarantined=REASON, quarantined_epoch=0),
            ],
        )
        with home.running():
            file = home.new_path("results", 0, "parquet")
            file.write_bytes(b"x" * 1_000)
            epoch.files = [DataFile(home.name_of(file), "results", delays.schema_id, 0, 0, 42)]
            home.commit(epoch)
    finally:
        home.close()


def take_back_to_format_6(execute):
    """Let the tables of a catalog be those of format 6, in which a query had one stream."""
    execute("ALTER TABLE queries ADD COLUMN stream TEXT NOT NULL DEFAULT '' COLLATE NOCASE")
    execute("UPDATE queries SET stream = (SELECT stream FROM query_streams WHERE query = id AND place = 0)")
    execute("DROP TABLE query_streams")
    execute("UPDATE about SET format = 6")


def take_back_to_format_5(execute):
    """Make the tables of a catalog those of format 5, which knew trees of one stream in place of a plan."""
    take_back_to_format_6(execute)
    execute(
        "CREATE TABLE trees (id INTEGER PRIMARY KEY AUTOINCREMENT, stream TEXT NOT NULL COLLATE NOCASE, "
        "shared INTEGER NOT NULL, node INTEGER, entries INTEGER NOT NULL DEFAULT 0, "
        "bytes INTEGER NOT NULL DEFAULT 0)"
    )
    execute(
        "INSERT INTO trees SELECT o.id, p.stream, o.shared, o.node, o.entries, o.bytes FROM operators o "
        "JOIN ports p ON p.operator = o.id"
    )
    execute("ALTER TABLE members RENAME COLUMN operator TO tree")
    for table in ("bound", "inputs", "operators", "ports"):
        execute(f"DROP TABLE {table}")
    execute("UPDATE about SET format = 5")


def take_back_to_format_4(execute):
    """Make the tables of a catalog those of format 4, which did not know of owners and of the epochs' clock."""
    take_back_to_format_5(execute)
    for column in ("token", "owner", "clock"):
        execute(f"ALTER TABLE about DROP COLUMN {column}")
    execute("ALTER TABLE progress DROP COLUMN offsets")
    execute("UPDATE about SET format = 4")

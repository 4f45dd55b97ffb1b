"""What is drawn on a terminal, without one."""

from __future__ import annotations

import re
from datetime import datetime
from io import StringIO

import pyarrow as pa
from rich.console import Console

from windrow.api.engine import EpochReport
from windrow.cli.demo.board import Board
from windrow.cli.progress import RunProgress
from windrow.cli.terminal import answers_table

NOON = datetime(2013, 7, 1, 12)
WATERMARK = 1_372_680_000_000_000


def drawn(picture, width: int = 80) -> str:
    console = Console(width=width, record=True, file=StringIO())
    console.print(picture)
    return console.export_text()


def answers(**columns) -> pa.Table:
    rows = len(next(iter(columns.values())))
    return pa.table({"window_start": [NOON] * rows, "window_end": [NOON] * rows, **columns})


def test_a_table_of_answers():
    text = drawn(answers_table(answers(room=["study", None], mean=[20.25, 1 / 3])))
    assert re.search(r"2013-07-01 12:00 +study +20.25", text)
    assert re.search(r"NULL +0.3333", text)


def test_progress_counts_epochs_and_shows_late_rows_only_if_there_are_any():
    progress = RunProgress(["delays"])
    latest = {"delays": answers(mean=[1.0])}
    progress(EpochReport(0, "flights", 0, 10, 0, 0, WATERMARK, 0.1, False, {"delays": 4}, latest))
    assert "late" not in drawn(progress.render())
    progress(EpochReport(1, "flights", 1, 1_000, 2, 1, WATERMARK, 0.1, False, {"delays": 1_000}, latest))
    text = drawn(progress.render(), width=100)
    assert "1,010 rows" in text
    assert "watermark 2013-07-01 12:00:00" in text
    assert "2 late, 1 dead" in text
    assert "1,004   2013-07-01 12:00:00" in text
    assert "2 late, 1 dead" in progress.summary()


def test_the_board_of_the_demo_fits_a_small_terminal():
    board = Board(flights=100)
    empty = drawn(board.render())
    delays = answers(
        origin=["EWR", "JFK", "LGA"], mean=[12.0, 31.5, -1.0], worst=[120, 300, 9], spread=[3.0] * 3
    )
    latest = {f"delays_{window}": delays for window in ("6h", "24h", "7d", "30d")}
    latest |= {
        "carriers": answers(
            airline=["ExpressJet Airlines Inc.", "AirTran Airways Corporation"], mean=[9.0, 10.0]
        ),
        "late_routes": answers(origin=["EWR"], dest=["RIC"], mean=[44.0]),
        "cancelled": answers(origin=["EWR"], percent=[12.5]),
        "distance": answers(miles=[1_000_000]),
        "made_up": answers(minutes=[4.2]),
    }
    board(EpochReport(0, "flights", 0, 50, 0, 0, WATERMARK, 0.1, False, {"delays_6h": 3}, latest))
    board.departures(0, answers(departures=[80, 99, 98]))
    full = drawn(board.render())
    assert "01 Jul 2013" in full
    assert re.search(r"JFK( +31\.5 +300){4} +3", full)
    assert full.index("AirTran Airways") < full.index("ExpressJet")
    assert "EWR → RIC" in full
    assert "Mon 01 Jul 11:00  99" in full
    assert "…" not in full  # nothing is cut off
    assert len(full.splitlines()) <= 24
    assert len(empty.splitlines()) <= len(full.splitlines())

"""The demo on a few weeks, as somebody starts it; the answers of the other weeks are no harder."""

from __future__ import annotations

import subprocess
from datetime import datetime
from pathlib import Path

import pandas as pd
from click.testing import CliRunner

from tests.examples import LONG
from windrow.cli.demo import comparison, flights
from windrow.cli.demo.command import QUERIES
from windrow.cli.main import main

SCRIPT = Path(__file__).parents[2] / "script" / "demo"


def test_the_demo_gives_the_answers_of_spark(tmp_path):
    kept = tmp_path / "kept"
    weeks = [] if LONG else ["--weeks", "5"]  # in two batches
    done = subprocess.run(
        [SCRIPT, *weeks, "--keep", kept], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert "flights, 11 queries" in done.stdout
    assert ("answers equal: " if LONG else "answers equal: 30,857 rows") in done.stdout
    assert (kept / "rolling-delays.png").read_bytes().startswith(b"\x89PNG")
    assert (kept / QUERIES.name).exists()
    again = CliRunner().invoke(main, ["demo", "--keep", str(kept)])
    assert again.exit_code == 1
    assert "not empty" in again.stderr


def test_event_time_is_the_scheduled_departure_and_cancelled_flights_stay():
    rows, weather, airlines = flights.load()
    assert len(rows) == 336_776
    assert weather["ts"].is_monotonic_increasing
    assert set(weather["origin"]) == set(rows["origin"])
    assert rows["ts"].is_monotonic_increasing
    assert rows["ts"].iloc[0] == datetime(2013, 1, 1, 5, 15)
    assert rows["dep_delay"].isna().sum() == rows["dep_time"].isna().sum() == 8_255
    assert set(rows["carrier"]) == set(airlines["carrier"])


def test_a_difference_would_be_noticed():
    end = datetime(2013, 1, 1)
    answers = pd.DataFrame(
        {"window_start": end, "window_end": end, "origin": ["EWR", "JFK"], "flights": [1, 2],
         "mean": [0.1, None], "best": [1, None], "worst": [2, None]}
    )  # fmt: skip
    assert comparison.differences(answers[::-1], answers) == []
    assert comparison.differences(answers.replace(0.1, 0.1 + 1e-15), answers) == []
    assert "in mean" in comparison.differences(answers.replace(0.1, 0.1 + 1e-7), answers)[0]
    assert "in worst" in comparison.differences(answers.assign(worst=[2, 3]), answers)[0]
    assert "1 rows instead of 2" in comparison.differences(answers[:1], answers)[0]

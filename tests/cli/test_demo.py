"""The demo on two weeks, a batch each; the answers of the other weeks are no harder."""

from __future__ import annotations

from datetime import datetime

import pandas as pd

from windrow.cli.demo import command, comparison, flights
from windrow.cli.demo.command import QUERIES


def test_the_demo_gives_the_answers_of_spark(windrow, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "WEEKS_A_BATCH", 1)
    result = windrow("demo", "--weeks", "2", "--keep", str(tmp_path / "kept"))
    assert result.exit_code == 0, result.output
    assert "flights, 10 queries" in result.stdout
    assert "answers equal: 12," in result.stdout
    assert (tmp_path / "kept" / "rolling-delays.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "kept" / QUERIES.name).exists()
    again = windrow("demo", "--keep", str(tmp_path / "kept"))
    assert again.exit_code == 1
    assert "not empty" in again.stderr


def test_event_time_is_the_scheduled_departure_and_cancelled_flights_stay():
    rows, airlines = flights.load()
    assert len(rows) == 336_776
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

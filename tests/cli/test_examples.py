from __future__ import annotations

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_sensors(windrow, monkeypatch):
    monkeypatch.chdir(EXAMPLES / "sensors")
    result = windrow("run", "sensors.cql")
    assert result.exit_code == 0, result.output
    assert "2024-05-01 08:05:00\t2024-05-01 08:15:00\tkitchen\t2\t23.75\t24.5\n" in result.stdout
    assert "hot: 2 new answers" in result.stderr


def test_delays(spark, capsys):
    runpy.run_path(str(EXAMPLES / "delays.py"))
    printed = capsys.readouterr().out
    assert "over [RANGE 6 hours SLIDE 1 hour]" in printed
    assert "|2013-01-0" in printed


def test_mean_speed(spark, capsys):
    runpy.run_path(str(EXAMPLES / "mean_speed.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "MeanSpeed keeps its laws" in printed
    assert "lift MEAN_SPEED(distance, air_time) by carrier, in Python" in printed
    assert "|2013-01-0" in printed

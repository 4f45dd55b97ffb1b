"""Seeing it: `windrow status`, `windrow query`, and what `windrow run` tells while it runs."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from io import StringIO
from urllib.request import urlopen

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from tests.homes import DELAYS, ODD, REASON, make_home
from windrow.api.engine import EpochReport
from windrow.api.homes import QueryStatus, Status, StreamStatus, home_status
from windrow.cli import status as status_command
from windrow.cli.main import main
from windrow.cli.progress import RunProgress
from windrow.runtime.home.home import Home

STREAM = """
    CREATE STREAM readings (ts TIMESTAMP, sensor STRING, value INT)
      FROM CSV 'readings' OPTIONS (header 'true') TIMESTAMP ts;
"""
GOOD = "SELECT sensor, MAX(value) AS top FROM readings [RANGE 2 MINUTES SLIDE 1 MINUTE] GROUP BY sensor;"
BAD = "SELECT SUM(CAST(sensor AS INT)) AS nonsense FROM readings [RANGE 1 HOUR SLIDE 1 HOUR];"
NOON = datetime(2013, 7, 1, 12, tzinfo=UTC)
WATERMARK = 1_372_680_000_000_000


@pytest.fixture
def home(tmp_path, monkeypatch) -> str:
    """A home called `home` in the current directory."""
    monkeypatch.chdir(tmp_path)
    make_home(tmp_path / "home")
    return "home"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A directory with a stream of two rows, as the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "readings").mkdir()
    rows = "ts,sensor,value\n2024-01-01T00:00:10Z,a,1\n2024-01-01T00:01:10Z,a,5\n"
    (tmp_path / "readings" / "1.csv").write_text(rows)
    return tmp_path


def typed(*arguments: str) -> Result:
    """A command that needs no Spark."""
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


def drawn(picture, width: int = 80) -> str:
    console = Console(width=width, record=True, file=StringIO())
    console.print(picture)
    return console.export_text()


# windrow status


def test_status_is_two_tables_the_reasons_and_the_disk(home):
    result = typed("status", home)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(
        "no engine is running, epoch 0\n"
    )  # no joint watermark: a stream has none yet
    assert re.search(
        r"flights +1,200 +0 +2023-11-14 22:11:20 +\d+ (days|years) +3 +1 +0\.50 s", result.stdout
    )
    assert re.search(r"delays +flights +active +42 +2023-11-14 22:11:20 +7 +560 bytes", result.stdout)
    assert re.search(r"broken +flights +quarantined +0 +– ", result.stdout)
    assert f"broken: failed in epoch 0: {REASON}" in result.stdout
    assert "disk: results 1.0 kB (1 file)" in result.stdout
    assert "[bold]" in result.stdout  # a name is no markup


def test_status_for_programs(home):
    found = json.loads(typed("status", home, "--json").stdout)
    assert [stream["name"] for stream in found["streams"]] == ["flights", ODD]
    assert [query["condition"] for query in found["queries"]] == ["active", "quarantined"]


@pytest.mark.parametrize(
    ("options", "again"), [([], "no engine is running, epoch 0"), (["--json"], '{"epoch": 0, ')]
)
def test_watch_goes_on_until_an_interrupt(home, monkeypatch, options, again):
    show, shown = status_command.show, []

    def interrupted(*arguments, **options):
        show(*arguments, **options)
        shown.append(arguments)
        if len(shown) == 3:
            signal.raise_signal(signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(status_command, "show", interrupted)
    monkeypatch.setattr(status_command, "EVERY_SECONDS", 0.0)
    result = typed("status", home, "--watch", *options)
    assert result.exit_code == 0, result.output
    assert sum(line.startswith(again) for line in result.stdout.splitlines()) == 3
    assert signal.getsignal(signal.SIGINT) is handler


def test_watch_redraws_itself_on_a_terminal(home):
    terminal, its_end = pty.openpty()
    program = "from windrow.cli.main import main; main()"
    arguments = [sys.executable, "-c", program, "status", home, "--watch"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    watching = subprocess.Popen(arguments, stdout=its_end, stderr=its_end, env=environment)
    os.close(its_end)
    seen = b""
    while seen.count(b"disk: ") < 2:
        seen += os.read(terminal, 10_000)
    watching.send_signal(signal.SIGINT)
    try:
        while more := os.read(terminal, 10_000):
            seen += more
    except OSError:  # Linux's way to say that the other end is closed
        pass
    os.close(terminal)
    assert watching.wait() == 0
    assert b"\x1b[1A\x1b[2K" in seen  # up a line, and wipe it
    assert b"\x1b[31mquarantined\x1b[0m" in seen
    assert b"Traceback" not in seen


def test_status_of_a_home_that_has_not_run(tmp_path):
    Home(tmp_path / "new").close()
    result = typed("status", str(tmp_path / "new"))
    assert result.exit_code == 0, result.output
    assert result.stdout == "no engine is running, no epoch yet\n\ndisk: nothing yet\n"
    assert typed("query", "list", str(tmp_path / "new")).stdout == "no queries\n"


@pytest.mark.parametrize("command", [["status"], ["status", "--watch"], ["query", "list"], ["query", "drop"]])
def test_a_directory_that_is_no_home(tmp_path, command):
    name = ["delays"] if "drop" in command else []
    for where in (tmp_path, tmp_path / "nowhere"):
        result = typed(*command, str(where), *name)
        assert result.exit_code == 1
        assert re.search(
            f"error: .*home.*{re.escape(str(where))}|error: {re.escape(str(where))} is not a home",
            result.stderr,
        )
        assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


# windrow query


def test_query_list_has_the_sql_and_the_reason(home):
    result = typed("query", "list", home)
    assert result.exit_code == 0, result.output
    assert (
        f"delays on flights, active: 42 answers, until 2023-11-14 22:11:20, kept for 30 days\n    {DELAYS}\n"
        in result.stdout
    )
    assert f"broken on flights, quarantined: 0 answers\n    failed in epoch 0: {REASON}\n" in result.stdout


def test_query_drop(home):
    result = typed("query", "drop", home, "brokn")
    assert result.exit_code == 1
    assert "there is no query 'brokn'; did you mean broken?" in result.stderr
    result = typed("query", "drop", home, "broken")
    assert (result.exit_code, result.stdout) == (0, "dropped broken\n")
    assert [query.name for query in home_status(home).queries] == ["delays"]


@pytest.mark.parametrize(
    "command", [["status"], ["query"], ["query", "list"], ["query", "add"], ["query", "drop"]]
)
def test_every_command_explains_itself_with_an_example(command):
    result = typed(*command, "--help")
    assert result.exit_code == 0
    assert f"  windrow {' '.join(command)} " in result.output


# windrow run


def test_the_others_are_printed_before_the_error(windrow, place):
    result = windrow("run", "-", "--home", "kept", "--seal", text=STREAM + BAD + GOOD)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0].split("\t") == ["window_start", "window_end", "sensor", "top"]
    assert len(result.stdout.splitlines()) == 4
    error = result.stderr.index(
        "error: query_1 (since epoch 0) failed and is quarantined; the others are answered"
    )
    assert result.stderr.index("query 'query_1' failed and is quarantined") < error
    assert result.stderr.index("query_2: 3 answers") < error
    assert "windrow query drop kept query_1 forgets it" in result.stderr
    assert result.stderr.count("NumberFormat") + result.stderr.count("cannot be cast") <= 1  # said once
    assert "query_1: 0 answers" not in result.stderr
    assert "Traceback" not in result.output


def test_a_home_whose_queries_all_failed_is_not_run_forever(windrow, place):
    assert windrow("run", "-", "--home", "kept", "--no-seal", text=STREAM + BAD).exit_code == 1
    result = windrow("run", "-", "--home", "kept", "--forever", text=STREAM + BAD)
    assert result.exit_code == 1
    assert "no query is left to run" in result.stderr


def test_metrics_are_served_while_it_runs(windrow, place, monkeypatch):
    scraped = []
    count_in = RunProgress.__call__

    def scraping(self, report):
        count_in(self, report)
        with urlopen(re.search(r"http://\S+/metrics", said.getvalue()).group()) as answer:
            scraped.append(answer.read().decode())

    said = StringIO()
    monkeypatch.setattr(RunProgress, "__call__", scraping)
    monkeypatch.setattr("windrow.cli.run.messages_console", lambda: Console(file=said, width=1_000))
    result = windrow("run", "-", "--metrics", "0", text=STREAM + GOOD)
    assert result.exit_code == 0, result.output
    assert 'windrow_stream_rows_total{stream="readings"} 2.0' in scraped[0]
    assert 'windrow_stream_sealed{stream="readings"} 1.0' in scraped[-1]


def test_a_port_that_is_taken(windrow, place):
    from windrow.runtime.watch.metrics import MetricsServer

    with MetricsServer(lambda: None, 0) as other:
        result = windrow("run", "-", "--metrics", str(other.port), text=STREAM + GOOD)
    assert result.exit_code == 1
    assert "address already in use" in result.stderr
    assert result.stdout == ""


def test_the_log_is_json_lines_and_warnings_are_still_shown(windrow, place):
    result = windrow("run", "-", "--log", "run.log", text=STREAM + BAD + GOOD)
    assert result.exit_code == 1
    lines = [json.loads(line) for line in (place / "run.log").read_text().splitlines()]
    (failed,) = [line for line in lines if line["level"] == "ERROR"]
    assert "query 'query_1' failed" in failed["message"]
    assert failed["message"] in result.stderr


def test_a_log_that_cannot_be_written(windrow, place):
    result = windrow("run", "-", "--log", "nowhere/run.log", text=STREAM + GOOD)
    assert result.exit_code == 1
    assert "cannot log to nowhere/run.log" in result.stderr


# the picture of a run, without a terminal


def report(epoch: int, **more) -> EpochReport:
    return EpochReport(
        epoch,
        "flights",
        **{"batch": epoch, "rows": 0, "late": 0, "dead": 0, "watermark": WATERMARK, "seconds": 0.25, **more},
    )


def test_the_picture_has_lag_state_idleness_and_reasons():
    status = Status(
        epoch=1, running=True, clock=NOON, watermark=NOON,
        streams=(StreamStatus("flights", 10, 2, 1, 1, 0.0, NOON, timedelta(minutes=3), True, False, 0.25, NOON),),
        queries=(QueryStatus("delays", "flights", DELAYS, 4, NOON, True, 1_234, 56_000, False, None, None, None),),
        bytes={}, files={},
    )  # fmt: skip
    progress = RunProgress(["delays"], status=lambda: status)
    progress(report(0, rows=10, late=2, dead=1, answers={"delays": 4}))
    assert "idle" not in drawn(progress.render())
    progress(
        report(1, batch=None, idle=True, quarantined={"[bold]": "Division\nby zero, " + "and so on " * 20})
    )
    text = drawn(progress.render())
    assert "2 late, 1 dead" in text
    assert "last epoch 0.25 s, lag 3 min, idle" in text
    assert re.search(r"delays +4 +– +1,234 +56\.0 kB", text)
    assert re.search(r"\[bold\] is quarantined: Division by zero, and so on .*…\n", text)
    assert all(len(line) <= 80 for line in text.splitlines())


def test_where_nobody_looks_silence_is_told_once(capsys):
    progress = RunProgress(["delays"])
    progress(report(0, rows=10))
    progress(report(1, batch=None, idle=True))
    progress(report(2, batch=None, idle=True))
    progress(report(3, batch=None, idle=True, answers={"delays": 2}))
    progress(report(4, rows=1))
    assert capsys.readouterr().err.splitlines() == [
        "epoch 0: flights +10 rows, watermark 2013-07-01 12:00:00, +0 answers, in 0.25 s",
        "flights is idle: time goes on with the clock",
        "epoch 3: flights +0 rows, watermark 2013-07-01 12:00:00, +2 answers, in 0.25 s",
        "flights has rows again",
        "epoch 4: flights +1 row, watermark 2013-07-01 12:00:00, +0 answers, in 0.25 s",
    ]

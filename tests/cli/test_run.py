from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from windrow.api.engine import Engine
from windrow.cli.progress import RunProgress
from windrow.cli.run import OPTIMIZERS, PLACEMENTS
from windrow.planner import sharing

STREAM = """
    CREATE STREAM readings (ts TIMESTAMP, sensor STRING, value INT)
      FROM CSV 'readings' OPTIONS (header 'true', maxFilesPerTrigger '1') TIMESTAMP ts;
"""
BARE = "SELECT sensor, COUNT(*) AS n, MAX(value) AS top FROM readings [RANGE 2 MINUTES SLIDE 1 MINUTE] GROUP BY sensor;"
NAMED = "CREATE QUERY total AS SELECT SUM(value) AS total FROM readings [RANGE 1 HOUR SLIDE 1 HOUR];"


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """A directory with a stream of three rows in two files, as the current one."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "readings"
    folder.mkdir()
    first, second = folder / "1.csv", folder / "2.csv"
    first.write_text("ts,sensor,value\n2024-01-01T00:00:10Z,a,1\n2024-01-01T00:01:10Z,a,5\n")
    second.write_text("ts,sensor,value\n2024-01-01T00:01:20Z,b,7\n")
    os.utime(first, (1_700_000_000, 1_700_000_000))
    os.utime(second, (1_700_000_001, 1_700_000_001))
    return tmp_path


def write(place: Path, *statements: str) -> str:
    (place / "q.cql").write_text("\n".join(statements))
    return "q.cql"


def lines(output: str) -> list[list[str]]:
    return [line.split("\t") for line in output.splitlines()]


def test_rows_that_a_select_without_a_window_wants_are_printed(windrow, place):
    sql = "SELECT sensor, map(sensor, value * 2) AS twice FROM readings WHERE value > 1;"
    result = windrow("run", write(place, STREAM, sql))
    assert result.exit_code == 0, result.output
    assert lines(result.stdout) == [
        ["_ts", "sensor", "twice"],
        ["2024-01-01 00:01:10", "a", "[('a', 10)]"],
        ["2024-01-01 00:01:20", "b", "[('b', 14)]"],
    ]


def test_a_bare_select_is_printed(windrow, place):
    result = windrow("run", write(place, STREAM, BARE))
    assert result.exit_code == 0, result.output
    assert lines(result.stdout) == [
        ["window_start", "window_end", "sensor", "n", "top"],
        ["2023-12-31 23:59:00", "2024-01-01 00:01:00", "a", "1", "1"],
        ["2024-01-01 00:00:00", "2024-01-01 00:02:00", "a", "2", "5"],
        ["2024-01-01 00:00:00", "2024-01-01 00:02:00", "b", "1", "7"],
        ["2024-01-01 00:01:00", "2024-01-01 00:03:00", "a", "1", "5"],
        ["2024-01-01 00:01:00", "2024-01-01 00:03:00", "b", "1", "7"],
    ]


def test_progress_is_a_line_an_epoch_where_nobody_looks(windrow, place):
    result = windrow("run", write(place, STREAM, BARE))
    assert "readings +2 rows, watermark 2024-01-01 00:01:10, +1 answer" in result.stderr
    assert "3 rows in" in result.stderr
    assert "late" not in result.stderr
    assert "dead" not in result.stderr


def test_rows_limits_what_is_printed_to_the_latest(windrow, place):
    result = windrow("run", write(place, STREAM, BARE), "--rows", "1")
    assert len(lines(result.stdout)) == 2
    assert lines(result.stdout)[1][-3:] == ["b", "1", "7"]
    assert "stays open" not in result.stderr  # a home that goes away leaves nothing for later
    assert "the last 1 of 5 answers" in result.stderr
    every = windrow("run", "q.cql", "--rows", "0")
    assert len(lines(every.stdout)) == 6


@pytest.mark.parametrize(
    ("option", "value", "trees"),
    [
        ("--optimizer", "no_share", 2),
        ("--optimizer", "Max_Share", 1),
        ("--optimizer", "w_tl", 1),
        ("--nodes", "2", 2),
    ],
)
def test_an_optimizer_can_be_named_and_nodes_counted(windrow, spark, place, option, value, trees):
    other = BARE.replace("2 MINUTES", "3 MINUTES")
    arguments = (option, value, "--home", "home", "--no-seal")
    result = windrow("run", write(place, STREAM, BARE, other), *arguments)
    assert result.exit_code == 0, result.output
    with Engine("home", spark) as engine:
        assert len(engine.explain().streams[0].trees) == trees


def test_an_optimizer_that_there_is_not(windrow, place):
    assert (tuple(sharing.OPTIMIZERS), tuple(sharing.PLACEMENTS)) == (OPTIMIZERS, PLACEMENTS)
    result = windrow("run", write(place, STREAM, BARE), "--optimizer", "weaveshare")
    assert result.exit_code == 2
    assert "'weaveshare' is not one of 'max_share', 'tri_weave'" in result.stderr


def test_statements_from_standard_input(windrow, place):
    result = windrow("run", "-", text=STREAM + BARE)
    assert result.exit_code == 0, result.output
    assert len(lines(result.stdout)) == 6


def test_late_rows_are_counted(windrow, place):
    (place / "readings" / "3.csv").write_text("ts,sensor,value\n2024-01-01T00:00:00Z,a,9\n")
    result = windrow("run", write(place, STREAM, BARE))
    assert "readings +1 row (1 late)" in result.stderr
    assert "1 late" in result.stderr.split("4 rows in")[1]


def test_dead_rows_say_why_and_are_an_error_if_they_are_most(windrow, place):
    """Of the first batch, nothing is taken in, and the file of statements may be mended."""
    folder, file = place / "readings", write(place, STREAM, NAMED)
    for second, path in enumerate(sorted(folder.iterdir())):
        path.write_text(path.read_text().replace("2024-01-01T", "01.01.2024 "))
        os.utime(path, (1_700_000_000 + second,) * 2)
    result = windrow("run", file, "--home", "kept")
    assert result.exit_code == 1
    told = "2 × ts is '01.01.2024 00:00:10Z', not TIMESTAMP\n    01.01.2024 00:00:10Z,a,1 ("
    assert result.stderr.count(told) == 1
    assert "rows in" not in result.stderr  # no summary of nothing
    mended = write(
        place, STREAM.replace("maxFiles", "timestampFormat 'dd.MM.yyyy HH:mm:ssX', maxFiles"), NAMED
    )
    result = windrow("run", mended, "--home", "kept")
    assert result.exit_code == 0, result.output
    assert "dead" not in result.stderr
    (folder / "3.csv").write_text("ts,sensor,value\n01.01.2024 01:00:00Z,a,9\nnever,a,1\nnever again,a,1\n")
    result = windrow("run", mended, "--home", "kept")
    assert result.exit_code == 1
    assert "total: 1 new answer" in result.stderr
    assert "error: dead letters of stream 'readings': 2 of 3 rows of this run" in result.stderr
    assert "2 × ts is 'never again', not TIMESTAMP\n    never again,a,1 (" in result.stderr


def test_named_queries_stay_in_the_home(windrow, place, spark):
    file = write(place, STREAM, NAMED)
    result = windrow("run", file, "--home", "kept", "--seal")
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert "total: 1 new answer, until 2024-01-01 01:00:00" in result.stderr
    assert "windrow.Engine('kept')" in result.stderr
    with Engine("kept") as eng:
        eng.execute((place / file).read_text())
        assert [row.total for row in eng.results("total").collect()] == [13]


def test_a_run_after_a_run_goes_on_and_says_what_waits(windrow, place):
    file = write(place, STREAM, NAMED)
    result = windrow("run", file, "--home", "kept")
    assert result.exit_code == 0, result.output
    assert "total: 0 new answers" in result.stderr
    assert (
        "stream 'readings' stays open at the watermark 2024-01-01 00:01:20: total waits with the window that "
        "ends 2024-01-01 01:00:00; a row of 2024-01-01 01:00:00 or later lets the first go on; "
    ) in result.stderr
    (place / "readings" / "3.csv").write_text("ts,sensor,value\n2024-01-01T01:00:00Z,a,9\n")
    result = windrow("run", file, "--home", "kept")
    assert "total: 1 new answer, until 2024-01-01 01:00:00" in result.stderr
    assert " late)" not in result.stderr
    sealed = windrow("run", file, "--home", "kept", "--seal")
    assert "total: 1 new answer, until 2024-01-01 02:00:00" in sealed.stderr
    assert "stays open" not in sealed.stderr


def test_a_temporary_home_is_announced(windrow, place):
    result = windrow("run", write(place, STREAM, NAMED))
    assert "total: 1 new answer" in result.stderr
    assert "--home DIR" in result.stderr


def test_forever_ends_with_an_interrupt_and_goes_on_later(windrow, place, monkeypatch):
    epochs = []
    count_in = RunProgress.__call__

    def interrupted(self, report):
        count_in(self, report)
        epochs.append(report.rows)
        if sum(epochs) == 3:
            signal.raise_signal(signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    file = write(place, STREAM, BARE)
    with monkeypatch.context() as patch:
        patch.setattr(RunProgress, "__call__", interrupted)
        result = windrow("run", file, "--home", "kept", "--forever", "--trigger", "10 ms")
    assert result.exit_code == 0, result.output
    assert epochs == [2, 1]
    assert len(lines(result.stdout)) == 2  # the windows that the watermark has passed
    assert signal.getsignal(signal.SIGINT) is handler
    rest = windrow("run", file, "--home", "kept", "--seal")
    assert rest.exit_code == 0, rest.output
    assert len(lines(rest.stdout)) == 6


def test_a_failing_query_ends_a_run_that_would_go_on_forever(windrow, place):
    failing = "SELECT SUM(CAST(sensor AS INT)) AS nonsense FROM readings [RANGE 1 HOUR SLIDE 1 HOUR];"
    result = windrow("run", write(place, STREAM, failing), "--forever")
    assert result.exit_code == 1
    assert "error: " in result.stderr
    assert "query_1" in result.stderr
    assert "Traceback" not in result.output


def test_a_query_that_failed_is_an_error_of_every_run_until_somebody_sees_to_it(windrow, place, monkeypatch):
    failing = (
        "CREATE QUERY bad AS SELECT SUM(CAST(sensor AS INT)) AS n FROM readings [RANGE 1 HOUR SLIDE 1 HOUR];"
    )
    file = write(place, STREAM, NAMED, failing)
    told = "error: bad (since epoch 0) failed and is quarantined; the others are answered\n"
    for _ in range(2):
        result = windrow("run", file, "--home", "kept")
        assert result.exit_code == 1
        assert told in result.stderr
    assert "windrow query resume kept bad" in result.stderr
    (place / "readings" / "3.csv").write_text("ts,sensor,value\n2024-01-01T01:00:00Z,a,9\n")
    monkeypatch.setattr(RunProgress, "__call__", lambda self, report: signal.raise_signal(signal.SIGINT))
    result = windrow("run", file, "--home", "kept", "--forever", "--trigger", "10 ms")
    assert result.exit_code == 1
    assert told in result.stderr

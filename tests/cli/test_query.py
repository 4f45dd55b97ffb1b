"""`windrow query` against an engine that runs in a process of its own, from several others at once."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from windrow.api.homes import home_status
from windrow.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

STREAM = "CREATE STREAM readings (ts TIMESTAMP, v INT) FROM CSV '{}' TIMESTAMP ts;\n"
COUNT = "SELECT COUNT(*) AS n FROM readings [RANGE 10 SECONDS SLIDE 10 SECONDS]"


def minute(place: Path, number: int) -> None:
    """A file with a row every second of a minute."""
    lines = [f"2024-01-01 00:{number:02d}:{second:02d},{second}\n" for second in range(60)]
    (place / f"{number}.new").write_text("".join(lines))
    (place / f"{number}.new").rename(place / "in" / f"{number}.csv")


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from windrow.cli.main import main; main()", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def done(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def typed(*arguments: str):
    return CliRunner().invoke(main, ["query", *arguments], catch_exceptions=False)


def wait_until(happened) -> None:
    until = time.monotonic() + 120
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.05)


def rows(home: Path) -> int:
    return sum(stream.rows for stream in home_status(home).streams)


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """`windrow run --forever` on a home; the minute 0 has been read. A long trigger: requests do not wait."""
    place = tmp_path_factory.mktemp("running")
    (place / "in").mkdir()
    minute(place, 0)
    file = place / "all.cql"
    file.write_text(STREAM.format(place / "in") + f"CREATE QUERY first AS {COUNT};")
    home = place / "home"
    engine = start("run", str(file), "--home", str(home), "--forever", "--trigger", "3 seconds")
    try:
        wait_until(lambda: engine.poll() is not None or (home.exists() and _rows_or_none(home)))
        assert engine.poll() is None, engine.communicate()
        yield place, home
    finally:
        engine.send_signal(signal.SIGTERM)
        code, _, err = done(engine)
    assert code == 0, err
    assert "Traceback" not in err


def _rows_or_none(home: Path) -> int:
    try:
        return rows(home)
    except Exception:  # it is just being made
        return 0


def test_two_clients_at_once(running):
    """Both want a name, which one of them gets; each drops what the other has added."""
    place, home = running
    racing = [start("query", "add", str(home), "mine", f"{COUNT[:-1]} OFFSET {n} SECONDS]") for n in (1, 2)]
    told = sorted(done(client) for client in racing)
    assert told[0][:2] == (0, "added mine\n")
    assert told[1][0] == 1
    assert re.search("error: (somebody has asked for|there is) a query 'mine' already", told[1][2])
    both = [start("query", "add", str(home), name, COUNT) for name in ("left", "right")]
    assert [done(client)[:2] for client in both] == [(0, "added left\n"), (0, "added right\n")]
    both = [start("query", "drop", str(home), name) for name in ("left", "right")]
    assert [done(client)[:2] for client in both] == [(0, "dropped left\n"), (0, "dropped right\n")]
    wait_until(lambda: all(query.started for query in home_status(home).queries))
    assert [(q.name, str(q.complete_after)) for q in home_status(home).queries] == [
        ("first", "None"),
        ("mine", "2024-01-01 00:00:59+00:00"),
    ]
    listed = typed("list", str(home)).stdout
    assert (
        "mine on readings, active: 0 answers, complete for windows that begin after 2024-01-01 00:00:59\n"
        in listed
    )
    minute(place, 1)
    wait_until(lambda: rows(home) == 120)
    first, mine = home_status(home).queries
    assert (first.answers, mine.answers) == (11, 5)
    assert typed("drop", str(home), "mine").exit_code == 0


def test_a_file_of_queries_is_added_whole_or_not_at_all(running, tmp_path):
    _, home = running
    file = tmp_path / "more.cql"
    file.write_text(
        f"CREATE QUERY one AS {COUNT};\nCREATE QUERY two RETAIN 30 DAYS AS\n  {COUNT.replace('*', 'w')};"
    )
    result = typed("add", str(home), "-f", str(file))
    assert result.exit_code == 1
    assert result.stderr == (
        "error: unknown column 'w' (line 3, column 16)\n\n"
        f"      {COUNT.replace('*', 'w')};\n                   ^\nthe columns are ts, v\n"
    )
    assert [query.name for query in home_status(home).queries] == ["first"]
    file.write_text(file.read_text().replace("(w)", "(v)"))
    assert typed("add", str(home), "-f", str(file)).stdout == "added one\nadded two\n"
    assert "two on readings, " in (listed := typed("list", str(home)).stdout)
    assert "kept for 30 days" in listed
    assert (
        typed("drop", str(home), "one", "tow").stderr == "error: there is no query 'tow'; did you mean two?\n"
    )
    assert typed("drop", str(home), "one", "two").stdout == "dropped one\ndropped two\n"
    assert [query.name for query in home_status(home).queries] == ["first"]


def test_a_request_that_is_left_there_is_done_too(running):
    _, home = running
    assert typed("add", str(home), "later", COUNT, "--no-wait").stdout == "asked later\n"
    wait_until(lambda: len(home_status(home).queries) == 2)
    assert typed("drop", str(home), "later", "--no-wait").stdout == "asked to drop later\n"
    wait_until(lambda: len(home_status(home).queries) == 1)
    assert (
        typed("add", str(home), "odd", COUNT.replace("COUNT(*)", "SUM(ARRAY(v))"), "--no-wait").exit_code == 0
    )
    wait_until(lambda: [r.condition for r in home_status(home).requests] == ["refused"])
    listed = typed("list", str(home)).stdout
    assert re.search(r"odd, refused\n    .+\(line 1, column 8\) *\n.*\n.*SELECT SUM.*\n +\^+ *\n", listed)
    assert typed("drop", str(home), "odd").stdout == "dropped odd\n"
    assert home_status(home).requests == ()


def test_a_query_that_failed_is_resumed(running):
    place, home = running
    minutes = rows(home) // 60
    odd = COUNT.replace("COUNT(*)", f"SUM(1 / IF(minute(ts) = {minutes}, 0, 1))")
    assert typed("add", str(home), "odd", odd).stdout == "added odd\n"
    assert "query 'odd' is not quarantined" in typed("resume", str(home), "odd").stderr
    minute(place, minutes)
    wait_until(lambda: [query.condition for query in home_status(home).queries] == ["active", "quarantined"])
    assert typed("resume", str(home), "odd", "nobody").exit_code == 1  # all or none
    assert typed("resume", str(home), "odd").stdout == "resumed odd\n"
    minute(place, minutes + 1)
    wait_until(lambda: [query.answers for query in home_status(home).queries][1:] == [5])
    first, resumed = home_status(home).queries
    assert (first.condition, resumed.condition) == ("active", "active")
    assert str(resumed.complete_after) == f"2024-01-01 00:{minutes:02d}:59+00:00"
    assert typed("drop", str(home), "odd").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["q", "SELECT v FROM"], 1, "error: "),
        (["q", "CREATE STREAM s FROM PARQUET 'x' TIMESTAMP ts"], 1, "a query is one SELECT"),
        (["first", COUNT], 1, "there is a query 'first' already"),
        (["q", COUNT, "--retain", "soon"], 1, "error: "),
        (["q"], 2, "give a NAME and a SELECT, or a file with -f"),
        (["q", COUNT, "-f", os.devnull], 2, "with -f, names and RETAIN stand in the file"),
    ],
)
def test_what_is_wrong_is_said(running, arguments, code, message):
    _, home = running
    result = typed("add", str(home), *arguments)
    assert result.exit_code == code
    assert message in result.stderr
    assert [query.name for query in home_status(home).queries] == ["first"]


def test_a_home_that_is_not_there(tmp_path):
    result = typed("add", str(tmp_path / "nowhere"), "q", COUNT)
    assert result.exit_code == 1
    assert "error: there is no home at" in result.stderr
